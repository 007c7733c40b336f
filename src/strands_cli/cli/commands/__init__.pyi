from strands_cli.cli.commands.completion import COMPLETING as COMPLETING
from strands_cli.cli.commands.file_check import check_files as check_files
from strands_cli.cli.commands.plugin.found_plugins import parse_search as parse_search
from strands_cli.cli.commands.plugin.found_plugins import search_plugins as search_plugins
from strands_cli.cli.commands.plugin_commands import Commands as Commands
from strands_cli.cli.commands.tools.tool_list import FLAGS as FLAGS
from strands_cli.cli.commands.tools.tool_list import list_installed as list_installed
