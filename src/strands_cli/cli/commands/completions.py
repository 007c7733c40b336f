"""What a shell completes beside commands and options: workflow files, tools, providers, runs, codes, distributions."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import typer

Names = Callable[[str, Mapping[str, Any]], Iterable[str]]

# A shell script evaluates what is offered, and names come from files and from installed distributions.
_SAFE = re.compile(r"[\w.:/@#+=*-]+")
_DEPTH, _MOST = 4, 200


def completer(names: Names) -> Callable[[typer.Context, str], list[str]]:
    """Return what Typer calls for completions: it offers the safe names that begin with what was typed.

    Args:
        names: Takes the word so far and the options typed before it, and yields names.
    """

    def complete(ctx: typer.Context, incomplete: str) -> list[str]:
        offered: list[str] = []
        # Whatever cannot be read here, an error would spoil the line that a person types.
        with contextlib.suppress(Exception):
            for name in names(incomplete, ctx.params):
                if name.startswith(incomplete) and _SAFE.fullmatch(name) and len(offered) < _MOST:
                    offered.append(name)
        return offered

    return complete


def _workflow_files(incomplete: str, _typed: Mapping[str, Any]) -> Iterator[str]:
    """Yield the YAML files below the folder that was typed, without recordings and policies."""
    typed, _, _ = incomplete.rpartition("/")
    top = Path(typed or ("/" if incomplete.startswith("/") else "."))
    for path in _yaml_below(top, _DEPTH):
        if not path.name.endswith((".recording.yaml", "strands-policy.yaml")):
            yield str(path) if not incomplete.startswith("./") else f"./{path}"


def _yaml_below(folder: Path, depth: int) -> Iterator[Path]:
    """Yield files of a folder, those directly in it first; hidden folders and links to folders are left out."""
    entries = sorted(folder.iterdir())
    yield from (entry for entry in entries if entry.suffix in (".yaml", ".yml") and entry.is_file())
    for entry in entries:
        if depth and entry.is_dir() and not entry.name.startswith(".") and not entry.is_symlink():
            yield from _yaml_below(entry, depth - 1)


@completer
def tools(incomplete: str, _typed: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names of installed tools, with `native:` where that was typed."""
    from strands_cli.catalog import discover_catalog

    prefix = "" if not incomplete.startswith("native:") else "native:"
    yield from (prefix + ref.removeprefix("native:") for ref in discover_catalog().allowed_refs)


@completer
def providers(_incomplete: str, _typed: Mapping[str, Any]) -> Iterator[str]:
    """Yield the model providers."""
    from strands_cli.provider_table import PROVIDERS

    yield from PROVIDERS


@completer
def runs(_incomplete: str, typed: Mapping[str, Any]) -> Iterator[str]:
    """Yield the ids of stored runs, the newest first."""
    from strands_cli.config import load_settings
    from strands_cli.engine.stored_runs import list_runs

    yield from (run.id for run in list_runs(load_settings(runs_dir=typed.get("runs_dir")).runs_dir)[0])


@completer
def distributions(_incomplete: str, _typed: Mapping[str, Any]) -> Iterator[str]:
    """Yield the distributions that provide tools."""
    from strands_cli.catalog import discover_catalog

    yield from dict.fromkeys(record.distribution for record in discover_catalog().tools)


@completer
def topics(incomplete: str, typed: Mapping[str, Any]) -> Iterator[str]:
    """Yield what `explain` takes: workflow files, codes, pages, and `policy`."""
    from strands_cli.cli.commands.explain_pages import PAGES
    from strands_cli.codes import declared_codes

    yield from ("policy", *PAGES, *declared_codes(), *_workflow_files(incomplete, typed))


workflow_files = completer(_workflow_files)
# By the name of the option's field.
OF_OPTIONS = {"provider": providers, "allow": tools}
