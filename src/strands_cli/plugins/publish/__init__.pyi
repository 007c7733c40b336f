from strands_cli.plugins.publish.ci_file import CiFile as CiFile
from strands_cli.plugins.publish.ci_file import make_ci_file as make_ci_file
from strands_cli.plugins.publish.project_source import ProjectSource as ProjectSource
from strands_cli.plugins.publish.project_source import read_source as read_source
from strands_cli.plugins.publish.publish_check import PublishCheck as PublishCheck
from strands_cli.plugins.publish.publish_check import check_publishable as check_publishable
from strands_cli.plugins.publish.topic import Topic as Topic
