from strands_cli.ui.children.child_commands import Child as Child
from strands_cli.ui.children.child_commands import Children as Children
