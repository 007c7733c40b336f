from strands_cli.agents.agent_runner import SdkAgentRunner as SdkAgentRunner
from strands_cli.agents.assembly import Workers as Workers
from strands_cli.agents.assembly import assemble as assemble
from strands_cli.agents.assembly import toolbox_caller as toolbox_caller
from strands_cli.agents.mcp_definitions import ask_servers as ask_servers
from strands_cli.agents.mcp_definitions import lock_servers as lock_servers
from strands_cli.agents.mcp_definitions import servers_without_tools as servers_without_tools
