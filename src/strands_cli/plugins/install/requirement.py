"""The distribution to install: by name, as a wheel, or as a folder or archive to build a wheel from."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from strands_cli.errors import UsageError

_FIX = "name a distribution (NAME or NAME==1.2), a wheel, or a project folder (./folder)"
_REQUIREMENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*\s*(\[[^\]]*\])?\s*([<>=!~(].*)?", re.DOTALL)
_ARCHIVES = (".whl", ".tar.gz", ".zip")


@dataclass(frozen=True, slots=True)
class InstallTarget:
    """A distribution by name, or by a file or folder of this machine (`path`), whose name is not known yet.

    `extras` is `[a,b]` or empty; `specifier` is a version specifier or empty.
    """

    name: str | None = None
    extras: str = ""
    specifier: str = ""
    path: Path | None = None

    @property
    def requirement(self) -> str:
        """The requirement as an argument for installers."""
        return str(self.path) if self.path is not None else f"{self.name}{self.extras}{self.specifier}"


def parse_install_target(text: str) -> InstallTarget:
    """Parse the argument of `plugin install`; options and addresses, which installers would accept, are refused.

    Raises:
        UsageError: The text has another form, or the file does not exist.
    """
    if text.startswith("-") or not text.isprintable():
        raise UsageError(f"{text!r} is not a distribution", fix=_FIX)
    if "://" in text or "@" in text.partition("[")[0]:
        raise UsageError(f"{text!r} is an address; plugins are installed from an index or from a file", fix=_FIX)
    if "/" in text or "\\" in text or text in (".", "..") or text.lower().endswith(_ARCHIVES):
        return InstallTarget(path=_existing(text))
    return _by_name(text)


def _existing(text: str) -> Path:
    path = Path(text).absolute()
    if path.is_dir():
        if not (path / "pyproject.toml").is_file() and not (path / "setup.py").is_file():
            raise UsageError(f"{path} is not a project: it has no pyproject.toml", fix=_FIX)
    elif not path.is_file():
        raise UsageError(f"there is no file {path}", fix=_FIX)
    elif not text.lower().endswith(_ARCHIVES):
        raise UsageError(f"{path} is neither a wheel nor a source archive", fix=_FIX)
    return path.resolve()


def _by_name(text: str) -> InstallTarget:
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        if not _REQUIREMENT.fullmatch(text):
            raise InvalidRequirement("only a name, extras and a version")
        parsed = Requirement(text)
    except InvalidRequirement as error:
        raise UsageError(f"{text!r} is not a distribution: {str(error).splitlines()[0]}", fix=_FIX) from None
    if parsed.url or parsed.marker:
        raise UsageError(f"{text!r} has more than a name and a version", fix=_FIX)
    extras = f"[{','.join(sorted(parsed.extras))}]" if parsed.extras else ""
    return InstallTarget(parsed.name, extras, str(parsed.specifier))
