"""Which paths are well formed, and which names are protected even inside the workspace."""

from __future__ import annotations

import fnmatch
import functools
import os
import re
import unicodedata

from strands_tool_kit import ToolError

_MAX_PATH = 4_096
# Where directories are made, each part costs a look at all parts before it; no sensible path is this deep.
_MAX_PARTS = 100

# Credentials: neither read nor written.
_SECRET = (
    *(".git", "git~[0-9]", ".env*", ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker"),
    *("*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.ppk", "*.kdbx"),
    *("id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*"),
    *(".netrc", "_netrc", ".pgpass", ".npmrc", ".pypirc", ".git-credentials", ".htpasswd"),
)
# Files that some program runs or obeys without being asked: read, but never written.
_OBEYED = (
    *(
        ".github",
        ".gitlab",
        ".gitlab-ci.y*ml",
        ".circleci",
        ".buildkite",
        ".woodpecker*",
        ".drone.y*ml",
        ".travis.y*ml",
    ),
    *("azure-pipelines.y*ml", "bitbucket-pipelines.y*ml", "appveyor.y*ml", ".appveyor.y*ml", "jenkinsfile*", ".ci"),
    *(
        ".gitmodules",
        ".gitconfig",
        ".gitattributes",
        ".husky",
        "*lefthook.y*ml",
        ".pre-commit-config.y*ml",
        ".vscode",
        ".idea",
    ),
    *("*.pth", "sitecustomize.py", "usercustomize.py", "conftest.py", "pyvenv.cfg", "site-packages", "*.dist-info"),
    # Compiled code is loaded in place of the source that people read.
    *("__pycache__", "*.pyc", ".devcontainer*", ".mcp.json", "authorized_keys"),
    *(".bashrc", ".bash_profile", ".bash_login", ".bash_aliases", ".profile", ".zshrc", ".zshenv", ".zprofile"),
    # Files that assistants for code read as instructions or settings.
    *(
        "agents.md",
        "claude.md",
        "claude.local.md",
        "gemini.md",
        ".claude",
        ".cursor",
        ".cursorrules",
        ".codex",
        ".gemini",
        ".windsurf*",
    ),
    *(".clinerules*", ".aider*", ".continue", ".roo*", ".kiro", ".amazonq", "copilot-instructions.md"),
    # Files that shells, editors and debuggers load when they start.
    *(".bash_logout", ".zlogin", ".zlogout", ".inputrc", ".xinitrc", ".xprofile", ".xsession*", ".pam_environment"),
    *(".exrc", ".vimrc", ".nvim*", ".dir-locals.el", "*.code-workspace", ".gdbinit", ".lldbinit", ".pdbrc", ".config"),
    *("strands.lock", "strands-policy.y*ml", ".strands"),
)
_WINDOWS_DEVICE = re.compile(r"(?:con|prn|aux|nul|conin\$|conout\$|com[0-9]|lpt[0-9])(?:\..*)?", re.IGNORECASE)


def _any_of(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(fnmatch.translate(pattern) for pattern in patterns))


_SECRET_PATTERN = _any_of(_SECRET)
_OBEYED_PATTERN = _any_of(_OBEYED)


def split(path: str) -> tuple[str, ...]:
    """Return the components of a relative path, without empty ones and `.`; `..` stays.

    Raises:
        ToolError: `invalid_input` if the text cannot be a path.
    """
    if len(path) > _MAX_PATH:
        raise _malformed(f"the path has {len(path)} characters; the limit is {_MAX_PATH}")
    if not path.isprintable() and _has_control(path):
        raise _malformed("the path contains a control character")
    if path == "~" or path.startswith("~/"):
        raise _malformed("'~' is not expanded; write a path relative to the workspace")
    parts = tuple([part for part in _portable(path).split("/") if part not in ("", ".")])
    if len(parts) > _MAX_PARTS:
        raise _malformed(f"the path has {len(parts)} parts; the limit is {_MAX_PARTS}")
    if os.name == "nt":
        _require_windows_names(parts)
    return parts


def _has_control(path: str) -> bool:
    return any(unicodedata.category(character) in ("Cc", "Cs") for character in path)


def _portable(path: str) -> str:
    return path.replace("\\", "/") if os.sep == "\\" else path


def _require_windows_names(parts: tuple[str, ...]) -> None:
    """Refuse names that Windows reads as devices, streams or as another name."""
    for part in parts:
        if ":" in part or _WINDOWS_DEVICE.fullmatch(part) or (part != ".." and part != part.rstrip(". ")):
            raise _malformed(f"'{part}' is not the name of an ordinary file on Windows")


def require_unprotected(names: tuple[str, ...], shown_path: str, *, writing: bool) -> None:
    """Raise when a component is the name of a secret or, for writing, of a file that programs obey.

    Args:
        names: The components with every link expanded.
        shown_path: The path as it is called in the message.
        writing: Whether the place is about to be written.

    Raises:
        ToolError: `sandbox_violation`.
    """
    for name in map(fold, names):
        if is_secret(name):
            raise protected(shown_path, f"'{name}' is protected: it may hold credentials")
        if writing and _OBEYED_PATTERN.fullmatch(name):
            raise protected(shown_path, f"'{name}' is protected: programs run or obey it without asking")


@functools.lru_cache(maxsize=1024)
def is_secret(folded: str) -> bool:
    """Return whether a name, folded, is one that may hold credentials."""
    return _SECRET_PATTERN.fullmatch(folded) is not None


def protected(shown_path: str, why: str) -> ToolError:
    """Make the refusal of a protected path."""
    return ToolError(
        "sandbox_violation", f"{shown_path}: {why}; ask the person to do it", reason="protected", path=shown_path
    )


@functools.lru_cache(maxsize=1024)
def fold(name: str) -> str:
    """Return the form of a name under which file systems may take it for another.

    Case and compatibility forms (APFS, NTFS), ignorable characters (HFS+), trailing dots, spaces and streams (NTFS).
    """
    visible = "".join(character for character in name if unicodedata.category(character) != "Cf")
    return unicodedata.normalize("NFKC", visible).casefold().partition(":")[0].rstrip(". ")


def printable(name: str) -> str:
    """Return a file name for the model: control, invisible and undecodable characters as escapes."""
    if name.isascii() and name.isprintable():
        return name
    return "".join(
        character.encode("unicode_escape").decode("ascii")
        if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp")
        else character
        for character in name
    )


def _malformed(message: str) -> ToolError:
    return ToolError("invalid_input", message, reason="path")
