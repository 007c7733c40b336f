"""The commands `plugin install` and `plugin upgrade`: they show the changes before they make them."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from strands_cli.api import (
    Code,
    Denied,
    ExitCode,
    Finding,
    InvalidInput,
    PluginInstaller,
    UsageError,
    json_on_failure,
    print_json,
    print_result,
    say,
)

if TYPE_CHECKING:
    from strands_cli_index.installing.download import DownloadedDistribution
    from strands_cli_index.installing.preview import Preview
    from strands_cli_index.publishers.attested import PublisherAttestation

PLUGIN_EMPTY = Code(
    "plugin-empty",
    "A distribution provides neither tools nor hooks nor workflows.",
    "Correct the name; install a library with pip.",
)

YES = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]
FORCE = Annotated[bool, typer.Option("--force", help="Accept a distribution without tools and hooks.")]
WHAT = Annotated[str, typer.Argument(metavar="NAME|FILE", help="NAME, NAME==1.2, a wheel, or a project folder.")]
INDEX = Annotated[
    list[str] | None,
    typer.Option("--index", metavar="URL|DIR", help="Look here, not in the configured indexes; 'pip': that of pip."),
]
ENABLE = Annotated[
    bool | None,
    typer.Option("--enable/--no-enable", help="Switch its hooks on, or not, without a question."),
]
JSON = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
OURS = "strands-cli"
_LISTS = (
    *("tools", "hooks", "parts", "packaged", "programs", "start_files", "entry_points", "elsewhere", "requires"),
    *("changes", "findings"),
)


def install(
    target: WHAT,
    index: INDEX = None,
    enable: ENABLE = None,
    yes: YES = False,
    force: FORCE = False,
    as_json: JSON = False,
) -> int:
    """Install a plugin into this environment, after showing its tools and the permissions they ask for.

    It is read without an import; exactly the files that were shown, by their hash, are installed.

    Example: strands plugin install ./strands_tool_yours-1.0-py3-none-any.whl
    """
    installation = Installation(target, index or [], yes=yes, force=force, is_upgrade=False)
    return installation.carry_out(enable, as_json=as_json)


def upgrade(
    target: WHAT,
    index: INDEX = None,
    enable: ENABLE = None,
    yes: YES = False,
    force: FORCE = False,
    as_json: JSON = False,
) -> int:
    """Upgrade an installed plugin, after showing how its tools and their permissions change.

    Example: strands plugin upgrade strands-tool-yours
    """
    installation = Installation(target, index or [], yes=yes, force=force, is_upgrade=True)
    return installation.carry_out(enable, as_json=as_json)


class Installation:
    """One installation: a person's request, and the results.

    Args:
        target_text: NAME, NAME==1.2, a wheel, an archive, or a project folder.
        indexes: Plugin indexes to look in.
        force: Whether a distribution without tools and hooks is accepted.

    Attributes:
        document: The results; they are the JSON of a failure, too.
    """

    def __init__(self, target_text: str, indexes: Sequence[str], *, yes: bool, force: bool, is_upgrade: bool) -> None:
        self._target_text, self._indexes, self._yes = target_text, indexes, yes
        self._force, self._is_upgrade = force, is_upgrade
        self.document: dict[str, Any] = {
            "distribution": target_text,
            "version": None,
            "installed": None,
            "changed": False,
        }
        self.document |= {"publisher": None, "index": None}
        self.document |= {name: [] for name in _LISTS} | {"hooks_on": None}

    def carry_out(self, enable: bool | None, *, as_json: bool) -> int:
        """Install, print the result, and return the exit code."""
        with json_on_failure(self.document if as_json else None):
            installer = PluginInstaller(self._target_text, yes=self._yes)
            line = self._install(installer)
            installer.offer_hooks(self.document, enable)
        if as_json:
            print_json(self.document)
        else:
            print_result(line)
        installer.say_next_steps(self.document)
        return ExitCode.OK

    def _install(self, installer: PluginInstaller) -> str:
        """Install the distribution, and return the action in words."""
        from strands_cli_index.installing.download import install_fetched, require_same
        from strands_cli_index.installing.from_index import fetch_target, release_for
        from strands_cli_index.publishers.publisher_check import keep_publisher

        target, version_of = installer.target, installer.version_of
        if target.name is not None:
            version = version_of(target.name)
            if self._is_upgrade:
                installer.require_installed(target.name)
            elif not target.specifier and version:
                self.document |= {"distribution": target.name, "version": version, "installed": version}
                return f"{target.name} {version} is installed already (strands plugin upgrade {target.name})"
        installer.require_allowed(target.name)
        program = installer.program
        release = release_for(installer, self._indexes)
        with tempfile.TemporaryDirectory(prefix="strands-") as folder:
            if release is not None:
                self.document["index"] = str(release.place)
                say(release.index_line)
            fetched = fetch_target(installer, release, Path(folder), installer.may_build)
            self.document |= {"distribution": fetched.name, "version": fetched.version}
            if target.name is None:
                installer.require_allowed(fetched.name)
            if self._is_upgrade:
                installer.require_installed(fetched.name)
            if fetched.is_indexed and fetched.version == version_of(fetched.name):
                self.document["installed"] = fetched.version
                return f"{fetched.name} {fetched.version} is installed already"
            attested = self._attested(fetched, installer)
            preview = self._previewed(fetched, attested, installer)
            installer.confirm(f"install {fetched.name} {fetched.version} with {program.kind}?")
            install_fetched(fetched, installer, Path(folder), lacks=bool(preview.requires))
            self.document["changed"] = True
            require_same(fetched, installer)
            if attested.publisher is not None:
                keep_publisher(fetched, attested)
        return f"installed {fetched.name} {fetched.version}"

    def _attested(self, fetched: DownloadedDistribution, installer: PluginInstaller) -> PublisherAttestation:
        """Return who published the distribution."""
        from strands_cli_index.publishers.publisher_check import check_fetched, wrong_publisher

        attested = check_fetched(fetched, installer)
        self.document["publisher"] = attested.as_dict()
        if attested.status == "wrong":
            finding = wrong_publisher(fetched.name, attested)
            raise Denied(f"'{fetched.name}' is not installed", findings=[finding])
        return attested

    def _previewed(
        self, fetched: DownloadedDistribution, attested: PublisherAttestation, installer: PluginInstaller
    ) -> Preview:
        """Show the preview, and refuse a forbidden installation."""
        from strands_cli_index.installing.preview import preview_of
        from strands_cli_index.publishers.publisher_check import publisher_words

        publisher = attested.publisher.word if attested.publisher is not None else None
        preview = preview_of(fetched, installer, installer.version_of, publisher)
        self.document |= preview.document()
        for line in preview.lines():
            say(line)
        say(f"  {publisher_words(attested)}")
        before = installer.kept_publisher(fetched.name)
        if before is not None and before != attested.publisher:
            say(f"  warning: the installed version was published by {before}")
        self._require_fit(preview, installer)
        return preview

    def _require_fit(self, preview: Preview, installer: PluginInstaller) -> None:
        name = preview.fetched.name
        if name == OURS:
            raise UsageError("strands-cli is not a plugin", fix="pip install --upgrade strands-cli")
        if preview.collisions:
            raise InvalidInput(f"'{name}' is not installed", findings=preview.collisions)
        preview.require_one_allowed(installer)
        if not (preview.declares or self._force):
            message = f"'{name}' provides neither tools nor hooks nor workflows"
            finding = Finding(PLUGIN_EMPTY, message, None, self._way_without_entry_points(preview))
            raise InvalidInput(message, findings=[finding])

    def _way_without_entry_points(self, preview: Preview) -> str:
        """Return how to use a distribution that declares nothing: adopt its tools, if it has any, else as a library."""
        fetched = preview.fetched
        if not preview.adoptable:
            return f"pip install {fetched.name}, or pass --force"
        if fetched.is_indexed:
            options = "".join(f" --index {shlex.quote(index)}" for index in self._indexes)
            return f"strands plugin adopt {fetched.name} --install{options}"
        return f"install it with --force, then: strands plugin adopt {fetched.name}"
