from strands_cli.tools.loading.import_guard import Tell as Tell
from strands_cli.tools.loading.python_objects import GivenTools as GivenTools
from strands_cli.tools.loading.python_objects import read_given as read_given
from strands_cli.tools.loading.tool_loading import Toolbox as Toolbox
from strands_cli.tools.loading.tool_loading import custom_folders as custom_folders
from strands_cli.tools.loading.tool_loading import key_of as key_of
from strands_cli.tools.loading.tool_loading import load_tools as load_tools
