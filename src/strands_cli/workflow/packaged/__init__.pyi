from strands_cli.workflow.packaged.packaged_listing import Listed as Listed
from strands_cli.workflow.packaged.packaged_listing import list_packaged as list_packaged
from strands_cli.workflow.packaged.packaged_source import PACKAGE as PACKAGE
from strands_cli.workflow.packaged.packaged_source import located as located
from strands_cli.workflow.packaged.packaged_source import packaged_file as packaged_file
from strands_cli.workflow.packaged.project_folder import project_root as project_root
