"""Settings of this machine and user: the directory of runs, the policy files, the allowed custom Python."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from strands_cli.errors import UsageError
from strands_cli.quick_dataclass import dataclass
from strands_cli.store_place import has_wrong_reference, is_address

POLICY_FILE = "policy.yaml"
CONFIG_FILE = "config.yaml"
PROJECT_POLICY = "strands-policy.yaml"
# The tools that a person adopted: beside the policy, or in the folder of a workflow.
ADOPTED_FILE = "strands-adopted.json"
REFERENCES = "write {env:NAME}, {file:PATH}, {keyring:NAME} or {command:PROGRAM}; in a password, { is %7B and } is %7D"


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings from the environment; every field has a safe default.

    `runs_dir` has one directory for each run, unless `store` is the address of another store. `is_chosen` tells whether
    an option or a variable names one of them; if none does, the user's config file may name an address. `custom_tools`
    are the patterns of `STRANDS_CUSTOM_TOOL_ALLOWLIST`.
    `managed_policy` and `user_policy` are the paths of the operator's and the user's policy files, `user_config` is the
    path of the user's further settings.
    """

    runs_dir: Path
    custom_tools: tuple[str, ...] = ()
    managed_policy: Path | None = None
    user_policy: Path | None = None
    user_config: Path | None = None
    store: str = field(default="", repr=False)
    is_chosen: bool = True


def read_settings(
    environ: Mapping[str, str] | None = None, *, runs_dir: Path | None = None, store: str | None = None
) -> Settings:
    """Return the settings; options (`runs_dir`, `store`) take precedence over variables, and these over the default.

    Raises:
        UsageError: Both options are given, or both variables are set, or the store is not an address.
    """
    environ = os.environ if environ is None else environ
    chosen, store = _chosen_store(environ, runs_dir, store)
    allowlist = environ.get("STRANDS_CUSTOM_TOOL_ALLOWLIST", "")
    folder = user_config_dir(environ)
    return Settings(
        runs_dir=(chosen or user_data_dir(environ) / "runs").absolute(),
        store=store,
        is_chosen=bool(chosen or store),
        custom_tools=tuple(pattern.strip() for pattern in allowlist.split(",") if pattern.strip()),
        managed_policy=managed_policy_path(),
        user_policy=folder / POLICY_FILE if folder else None,
        user_config=user_config_file(environ),
    )


def settings_without_store() -> Settings:
    """Return the settings of this environment as if no address of a store was in it; policy needs none."""
    return read_settings({name: value for name, value in os.environ.items() if name != "STRANDS_STORE"})


def _chosen_store(environ: Mapping[str, str], runs_dir: Path | None, store: str | None) -> tuple[Path | None, str]:
    """Return the directory or the address that options or variables name; at most one of them is set."""
    names = ("--runs-dir", "--store")
    if runs_dir is None and store is None:
        # An empty variable counts as none; an empty option comes from a variable of a shell that was meant to be set.
        directory, store = environ.get("STRANDS_RUNS_DIR") or None, environ.get("STRANDS_STORE") or None
        runs_dir, names = Path(directory) if directory else None, ("STRANDS_RUNS_DIR", "STRANDS_STORE")
    if runs_dir is not None and store is not None:
        raise UsageError(f"{names[0]} and {names[1]} name two places for the runs", fix="leave one of them out")
    if store is not None:
        _require_address(store, names)
    return runs_dir, store or ""


def _require_address(store: str, names: tuple[str, str]) -> None:
    if not is_address(store):
        fix = f"write postgresql://USER@HOST/DATABASE, or name a directory with {names[0]}"
        raise UsageError(f"{names[1]} is not the address of a store: {store!r}", fix=fix)
    if has_wrong_reference(store):
        # The text in the braces may be a password.
        raise UsageError(f"the braces in {names[1]} do not refer to a secret", fix=REFERENCES)


def user_data_dir(environ: Mapping[str, str]) -> Path:
    """Return this platform's directory for a user's application data (XDG, Library, LOCALAPPDATA).

    Raises:
        UsageError: The process has no home directory, as in some containers.
    """
    if sys.platform == "win32":
        return Path(environ.get("LOCALAPPDATA") or _home_directory() / "AppData" / "Local") / "strands-cli"
    if sys.platform == "darwin":
        return _home_directory() / "Library" / "Application Support" / "strands-cli"
    named = Path(environ.get("XDG_DATA_HOME", ""))
    # https://specifications.freedesktop.org/basedir-spec/latest/: a relative path is invalid and to be ignored.
    return (named if named.is_absolute() else _home_directory() / ".local" / "share") / "strands-cli"


def user_cache_dir(environ: Mapping[str, str]) -> Path | None:
    """Return this platform's directory for a user's copies (XDG, Caches, LOCALAPPDATA), or None without a home."""
    try:
        if sys.platform == "win32":
            return user_data_dir(environ) / "cache"
        if sys.platform == "darwin":
            return _home_directory() / "Library" / "Caches" / "strands-cli"
        named = Path(environ.get("XDG_CACHE_HOME", ""))
        return (named if named.is_absolute() else _home_directory() / ".cache") / "strands-cli"
    except UsageError:
        return None


def managed_policy_path() -> Path:
    """Return the path of the operator's policy; no environment variable changes it."""
    if sys.platform == "win32":
        return _program_data() / "strands" / POLICY_FILE
    if sys.platform == "darwin":
        return Path("/Library/Application Support/strands-cli") / POLICY_FILE
    return Path("/etc/strands") / POLICY_FILE


def user_config_dir(environ: Mapping[str, str]) -> Path | None:
    """Return the folder of the user's policy and settings (XDG, Library, APPDATA), or None without a home directory."""
    try:
        if sys.platform == "win32":
            base = Path(environ.get("APPDATA") or _home_directory() / "AppData" / "Roaming")
        elif sys.platform == "darwin":
            base = _home_directory() / "Library" / "Application Support"
        else:
            named = Path(environ.get("XDG_CONFIG_HOME", ""))
            base = named if named.is_absolute() else _home_directory() / ".config"
    except UsageError:
        return None
    return base / "strands-cli"


def user_config_file(environ: Mapping[str, str]) -> Path | None:
    """Return the path of the user's config file, or None without a home directory."""
    folder = user_config_dir(environ)
    return folder / CONFIG_FILE if folder else None


def _program_data() -> Path:
    # Not the environment variable ProgramData, which every user can set.
    try:
        import winreg

        key = r"SOFTWARE\Microsoft\Windows\CurrentVersion\Explorer\Shell Folders"
        with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, key) as folders:  # type: ignore[attr-defined]
            return Path(winreg.QueryValueEx(folders, "Common AppData")[0])  # type: ignore[attr-defined]
    except (ImportError, OSError):
        return Path(r"C:\ProgramData")


def _home_directory() -> Path:
    try:
        return Path.home()
    except RuntimeError as error:
        raise UsageError(
            f"there is no directory for the journals of runs: {error}", fix="set STRANDS_RUNS_DIR, or pass --runs-dir"
        ) from error


def use_private_bytecode() -> None:
    """Have Python take byte code from a folder of this user only, so that no `__pycache__` beside locked files runs.

    It is in force until the process ends, since a tool may import more when it is called.
    """
    import atexit
    import shutil
    import tempfile

    try:
        folder = user_data_dir(os.environ) / "bytecode"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        stat = folder.stat()
        if sys.platform != "win32" and (stat.st_uid != os.geteuid() or stat.st_mode & 0o022):
            raise OSError("others can write to it")
    except (OSError, UsageError):
        folder = Path(tempfile.mkdtemp(prefix="strands-bytecode-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
    sys.pycache_prefix = str(folder)


def account_name() -> str:
    """Return the name of the account that this process works for, as the system has it; empty where it has none."""
    try:
        import pwd

        return pwd.getpwuid(os.getuid()).pw_name
    except (ImportError, KeyError):  # Windows, or a container with another number
        return os.environ.get("USERNAME", "")
