from strands_cli.plugins.installed.listing import Plugin as Plugin
from strands_cli.plugins.installed.listing import list_plugins as list_plugins
from strands_cli.plugins.installed.usage import workflows_naming as workflows_naming
from strands_cli.plugins.installed.verify import verify_distribution as verify_distribution
