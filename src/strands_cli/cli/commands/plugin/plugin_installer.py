"""`PluginInstaller`: what the commands that install share: pip or uv, the questions, and the word of policy."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from strands_cli.cli.commands.plugin.hook_consent import answers_yes, switch_on_hooks
from strands_cli.cli.output.messages import say
from strands_cli.errors import Denied, Interrupted, UsageError, has_errors, suggest
from strands_cli.plugins.install.requirement import parse_install_target

if TYPE_CHECKING:
    from strands_cli.catalog.catalog import Catalog
    from strands_cli.catalog.tool_record import ToolRecord
    from strands_cli.hooks.manager import Hooks
    from strands_cli.plugins.install.installer import Installer
    from strands_cli.plugins.install.unpacked_plugin import UnpackedPlugin
    from strands_cli.policy.decision import Decision
    from strands_cli.policy.policy import Policy
    from strands_cli.publishers import Publisher


class PluginInstaller:
    """Installs one distribution into this environment for a person.

    Args:
        what: NAME, NAME==1.2, a wheel, an archive, or a project folder.
        yes: Whether no question is asked.

    Attributes:
        target: The distribution by its name, with `extras` and `specifier`, or by its `path`.

    Raises:
        UsageError: `what` is none of these.
    """

    def __init__(self, what: str, *, yes: bool = False) -> None:
        self.target = parse_install_target(what)
        self._yes = yes

    @cached_property
    def program(self) -> Installer:
        """The program that installs here, `kind` is `pip` or `uv`.

        Raises:
            NotEquipped: This is the system's Python, or there is neither pip nor uv.
        """
        from strands_cli.plugins.install.installer import find_installer

        return find_installer()

    @cached_property
    def _catalog(self) -> Catalog:
        from strands_cli.catalog.catalog import discover_catalog

        return discover_catalog()

    @cached_property
    def _policy(self) -> Policy:
        from strands_cli.config import load_settings
        from strands_cli.user_files.policy_files import load_policy

        return load_policy(load_settings(), Path.cwd())

    @cached_property
    def _hooks(self) -> Hooks:
        from strands_cli.hooks.hook_plugins import open_hooks

        hooks = open_hooks(self._policy.hooks)
        if has_errors(hooks.findings):
            raise Denied("nothing is installed while a hook plugin is missing or broken", findings=hooks.findings)
        return hooks

    def version_of(self, name: str) -> str | None:
        """Return the version of a distribution that was installed before; None if it was not."""
        return self._catalog.version_of(name)

    def require_installed(self, name: str) -> None:
        """Check that a distribution is installed.

        Raises:
            UsageError: It is not; with the closest name.
        """
        if self.version_of(name) is None:
            known = sorted({record.distribution for record in self._catalog.tools})
            raise UsageError(f"'{name}' is not installed", fix=suggest(name, known, f"strands plugin install {name}"))

    def is_intact(self, name: str) -> bool:
        """Return whether no file of an installed distribution is changed, missing or added."""
        from strands_cli.plugins.installed.verify import verify_distribution

        return verify_distribution(name, self._catalog).ok

    def kept_publisher(self, name: str) -> Publisher | None:
        """Return who published an installed distribution, as was verified on this machine; None is unknown."""
        from strands_cli.catalog.publisher_records import publisher_of

        return publisher_of(name, self._catalog.seen)

    def require_allowed(self, name: str | None) -> None:
        """Check that no rule denies a distribution with all its tools; None only checks the policy itself.

        Raises:
            Denied: One does, a policy file is wrong, or a hook plugin is missing or broken.
        """
        from strands_cli.catalog.distributions.entry_points import normalise
        from strands_cli.plugins.install.allowed import require_allowed

        _ = self._hooks
        if name is not None:
            require_allowed(normalise(name), self._policy.rules)

    def decide(
        self, record: ToolRecord, plugin: UnpackedPlugin, sources: Iterable[str], publisher: str | None
    ) -> Decision:
        """Return the decision of policy on a tool of a distribution that is not installed.

        Args:
            sources: The words of rules for where it comes from: `index`, `archive`, `adopted`.
            publisher: Its verified publisher, in the words of a rule; None is unknown.
        """
        from strands_cli.plugins.install.allowed import decision_on

        return decision_on(record, plugin, self._policy.rules, self._hooks, sources, publisher)

    def require_one_allowed(self, name: str, decisions: Iterable[Decision]) -> None:
        """Check that policy does not deny each tool of a distribution.

        Raises:
            Denied: It does.
        """
        from strands_cli.plugins.install.allowed import require_one_allowed

        require_one_allowed(name, decisions)

    def may_build(self, reason: str) -> bool:
        """Return whether a wheel may be built, which runs code that has not been shown."""
        from strands_cli.cli.terminal.terminal_human import is_interactive

        if not self._yes and is_interactive():
            say(reason)
            return answers_yes("build it, which runs its author's code?")
        return self._yes

    def confirm(self, question: str) -> None:
        """Ask for confirmation, unless no question is asked.

        Raises:
            UsageError: There is no terminal to ask on.
            Interrupted: The answer is not yes.
        """
        from strands_cli.cli.terminal.terminal_human import is_interactive

        if self._yes:
            return
        if not is_interactive():
            raise UsageError(
                "there is no terminal to ask on, so nothing was changed", fix="review what is shown, then pass --yes"
            )
        if not answers_yes(question):
            raise Interrupted("nothing was changed")

    def offer_hooks(self, known: dict[str, Any], enable: bool | None) -> None:
        """Switch on the hooks of what was installed, if the person says so, and note it in `known`.

        Args:
            known: Has `distribution`, `changed` and `hooks`, and gets `hooks_on`.
            enable: The person's answer, where it was given with the command.
        """
        switch_on_hooks(known, enable, yes=self._yes)

    def say_next_steps(self, known: dict[str, Any]) -> None:
        """Tell what is left to do after an installation that has changed something."""
        from strands_cli.plugins.install.installer import owned_by_a_program

        name = known["distribution"]
        if not known["changed"]:
            return
        if Path("strands.lock").exists():
            say(f"there is a lock: review the change (strands lock --diff), then: strands lock --update {name}")
        if known["hooks_on"] is False:
            say(f"its hooks are off; they are switched on by: strands plugin enable {name}")
        if program := owned_by_a_program():
            say(f"warning: {program} made this environment for strands-cli alone; its next upgrade leaves {name} out")
