from strands_cli.workflow.user_files.policy_file import check_ownership as check_ownership
from strands_cli.workflow.user_files.policy_file import read_policy as read_policy
from strands_cli.workflow.user_files.user_config import ConfigReader as ConfigReader
from strands_cli.workflow.user_files.user_config import open_config as open_config
