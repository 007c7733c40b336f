"""The project of a workflow: the folder below which its files may be, and are a person's own."""

from __future__ import annotations

import os
from pathlib import Path


def project_root(folder: Path) -> Path:
    """Return the folder below which a workflow may name files.

    It is the repository of the workflow's folder, else the working directory where the folder is below it, else the
    folder itself. One that contains the home directory is none: a workflow must not reach everything of a person.
    """
    own, here = folder.resolve(), Path.cwd().resolve()
    repository = next((above for above in (own, *own.parents) if os.path.exists(above / ".git")), None)  # noqa: PTH110 - Path.exists raises
    root = repository or (here if own.is_relative_to(here) else own)
    home = Path(os.path.expanduser("~")).resolve()  # noqa: PTH111 - Path.home() raises where there is none
    return own if home.is_relative_to(root) else root
