"""The groups of the core's commands: those in each are rows of `default_parts.DEFAULTS`."""

from __future__ import annotations

from strands_cli.cli.commands.plugin_commands import OpenGroup, group

workflows_app = group(
    "List installed workflows, trust some, print the schema of the format; distributions add commands.\n\n"
    "Example: strands workflows list",
    {},
    cls=OpenGroup,
)
runs_app = group(
    "Look at stored runs, fetch their files, start from the middle of one, cancel and delete them.\n\n"
    "Example: strands runs list --status waiting",
    {},
    cls=OpenGroup,
)
store_app = group("Make, check and migrate the store of runs.\n\nExample: strands runs store check", {}, cls=OpenGroup)
tools_app = group(
    "List, show and run tools; import MCP servers.\n\n`strands list-tools` is `strands tools list`.\n\n"
    "Example: strands tools show calculator",
    {},
    cls=OpenGroup,
)
plugin_app = group(
    "Find, install, switch and verify plugins; distributions for authors add commands.\n\nExample: strands plugin list",
    {},
    cls=OpenGroup,
)
