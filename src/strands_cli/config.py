"""Settings of this machine and person: where runs are kept, which custom Python is allowed."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from strands_cli.errors import UsageError


@dataclass(frozen=True, slots=True)
class Settings:
    """What the environment says; every field has a safe default.

    `runs_dir` holds one directory a run. `custom_tools` are the patterns of `STRANDS_CUSTOM_TOOL_ALLOWLIST`.
    """

    runs_dir: Path
    custom_tools: tuple[str, ...] = ()

    def allows_custom(self, reference: str) -> bool:
        """Return whether the allowlist names `pkg.module:attr` itself or a package that holds it (`pkg.*`)."""
        dotted = reference.replace(":", ".")
        patterns = [pattern.replace(":", ".") for pattern in self.custom_tools]
        # The dot before the star stays in the comparison: `pkg.*` must not allow `pkgs.evil`.
        return any(dotted == p or (p.endswith(".*") and dotted.startswith(p[:-1])) for p in patterns)


def load_settings(environ: Mapping[str, str] | None = None, *, runs_dir: Path | None = None) -> Settings:
    """Read the settings; an explicit `runs_dir` wins over `STRANDS_RUNS_DIR`, that over the user data directory."""
    environ = os.environ if environ is None else environ
    chosen = runs_dir or (Path(environ["STRANDS_RUNS_DIR"]) if environ.get("STRANDS_RUNS_DIR") else None)
    allowlist = environ.get("STRANDS_CUSTOM_TOOL_ALLOWLIST", "")
    return Settings(
        runs_dir=(chosen or user_data_dir(environ) / "runs").absolute(),
        custom_tools=tuple(word.strip() for word in allowlist.split(",") if word.strip()),
    )


def user_data_dir(environ: Mapping[str, str]) -> Path:
    """Return where this platform keeps a person's application data (XDG, Library, LOCALAPPDATA).

    Raises:
        UsageError: this process has no home directory, as in some containers.
    """
    if sys.platform == "win32":
        return Path(environ.get("LOCALAPPDATA") or _home() / "AppData" / "Local") / "strands-cli"
    if sys.platform == "darwin":
        return _home() / "Library" / "Application Support" / "strands-cli"
    named = Path(environ.get("XDG_DATA_HOME", ""))
    # https://specifications.freedesktop.org/basedir-spec/latest/: a relative path is invalid and to be ignored.
    return (named if named.is_absolute() else _home() / ".local" / "share") / "strands-cli"


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError as error:
        raise UsageError(
            f"there is no place for records of runs: {error}", fix="set STRANDS_RUNS_DIR, or pass --runs-dir"
        ) from error
