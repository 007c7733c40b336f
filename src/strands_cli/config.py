"""Settings of this machine and person: where runs are kept, which custom Python is allowed."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


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
        return any(
            dotted == pattern.replace(":", ".") or (pattern.endswith(".*") and dotted.startswith(pattern[:-1]))
            for pattern in self.custom_tools
        )


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
    """Return where this platform keeps a person's application data (XDG, Library, LOCALAPPDATA)."""
    if sys.platform == "win32":
        return Path(environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "strands-cli"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "strands-cli"
    return Path(environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "strands-cli"
