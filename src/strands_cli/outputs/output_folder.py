"""The output directory of a run: the default one is never a link."""

from __future__ import annotations

from pathlib import Path

from strands_cli.errors import ArtifactError

# Where artifacts go without --out.
DEFAULT_OUT = Path("artifacts")


def require_own_folder(out_dir: Path, beside: Path) -> Path:
    """Return the output directory as an absolute path.

    The person chooses it by --out. The default is a name in a folder that may have come from others, so neither it nor
    a folder below it may be a link: artifacts would follow it to wherever it leads.

    Raises:
        ArtifactError: No directory was chosen, and the default is a link.
    """
    path = beside / out_dir
    leads_on = path.is_symlink() or not path.resolve().is_relative_to(beside.resolve())
    if is_default(out_dir) and leads_on:
        raise ArtifactError(
            f"the output directory {out_dir} is a link, and artifacts follow a link only where --out names it",
            fix="remove the link, or pass --out with the directory that it leads to",
        )
    return path


def is_default(out_dir: Path) -> bool:
    """Return whether an output directory is the default one, or below it, as that of a run in a larger one is."""
    return out_dir.parts[:1] == DEFAULT_OUT.parts
