from strands_cli.tools.loading.import_guard import Tell as Tell
from strands_cli.tools.loading.python_objects import ObjectTools as ObjectTools
from strands_cli.tools.loading.python_objects import read_object_tools as read_object_tools
from strands_cli.tools.loading.tool_loading import Toolbox as Toolbox
from strands_cli.tools.loading.tool_loading import custom_folders as custom_folders
from strands_cli.tools.loading.tool_loading import key_of as key_of
from strands_cli.tools.loading.tool_loading import load_tools as load_tools
