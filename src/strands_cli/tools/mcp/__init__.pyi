from strands_cli.tools.mcp.toolset import Serving as Serving
from strands_cli.tools.mcp.toolset import definitions_of as definitions_of
from strands_cli.tools.mcp.toolset import load_server_tools as load_server_tools
