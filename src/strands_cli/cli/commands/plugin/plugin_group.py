"""The commands under `plugin` that the core has."""

from __future__ import annotations

from strands_cli.cli.commands.help_group import group
from strands_cli.cli.commands.plugin.plugin_install import install, uninstall, upgrade
from strands_cli.cli.commands.plugin.plugin_list import list_installed
from strands_cli.cli.commands.plugin.plugin_switch import disable, enable
from strands_cli.cli.commands.plugin.plugin_verify import verify
from strands_cli.cli.commands.plugin_commands import OpenGroup

plugin_app = group(
    "Find, install, switch and verify plugins; distributions for authors add commands.\n\nExample: strands plugin list",
    {
        "install": install,
        "upgrade": upgrade,
        "uninstall": uninstall,
        "list": list_installed,
        "verify": verify,
        "enable": enable,
        "disable": disable,
    },
    cls=OpenGroup,
)
