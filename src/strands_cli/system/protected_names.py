"""Names of files that a workflow may not reach on its own: credentials, and files that programs run or obey unprompted.

The file tools, which need no core, have the same names; a test compares them.
"""

from __future__ import annotations

import fnmatch
import re
import unicodedata
from collections.abc import Iterable
from functools import cache

# Credentials: neither read nor written.
SECRET = (
    *(".git", "git~[0-9]", ".env*", ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker"),
    *("*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.ppk", "*.kdbx"),
    *("id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*"),
    *(".netrc", "_netrc", ".pgpass", ".npmrc", ".pypirc", ".git-credentials", ".htpasswd"),
)
# Files that some program runs or obeys without being asked: read, but never written.
OBEYED = (
    *(".github", ".gitlab", ".gitlab-ci.y*ml", ".circleci", ".buildkite", ".woodpecker*", ".drone.y*ml"),
    *(".travis.y*ml", "azure-pipelines.y*ml", "bitbucket-pipelines.y*ml", "appveyor.y*ml", ".appveyor.y*ml"),
    *(
        "jenkinsfile*",
        ".ci",
        ".gitmodules",
        ".gitconfig",
        ".gitattributes",
        ".husky",
        "*lefthook.y*ml",
        ".pre-commit-config.y*ml",
    ),
    *(".vscode", ".idea", ".devcontainer*", ".mcp.json", "authorized_keys"),
    *("*.pth", "sitecustomize.py", "usercustomize.py", "conftest.py", "pyvenv.cfg", "site-packages", "*.dist-info"),
    *("__pycache__", "*.pyc"),
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


def secret_in(parts: Iterable[str]) -> str | None:
    """Return the first part of a path with the name of a possible file of credentials, or None."""
    return next((part for part in parts if _pattern(SECRET).fullmatch(_folded(part))), None)


def unwritable_in(parts: Iterable[str]) -> str | None:
    """Return the first part of a path that no workflow writes, or None."""
    return next((part for part in parts if _pattern((*SECRET, *OBEYED)).fullmatch(_folded(part))), None)


@cache
def _pattern(names: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(map(fnmatch.translate, names)))


def _folded(name: str) -> str:
    """Return the form of a name under which file systems may take it for another."""
    visible = "".join(char for char in name if unicodedata.category(char) != "Cf")
    return unicodedata.normalize("NFKC", visible).casefold().partition(":")[0].rstrip(". ")
