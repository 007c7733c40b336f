from strands_cli.cli.commands.tools.tool_list import flat_line as flat_line
from strands_cli.cli.commands.tools.tool_list import read_this_installation as read_this_installation
from strands_cli.cli.commands.tools.tools_run import read_arguments as read_arguments
