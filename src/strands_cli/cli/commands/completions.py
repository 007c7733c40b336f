"""Shell completions beside commands and options: files, tools, providers, runs and their keys, distributions."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import typer

if TYPE_CHECKING:
    from strands_cli.engine.store_port import RunStore

# A name, with its meaning, which some shells show beside it.
Offer = str | tuple[str, str]
Names = Callable[[str, Mapping[str, Any]], Iterable[Offer]]
Complete = Callable[[typer.Context, str], list[Offer]]

# A shell script evaluates the offered names, and they come from files and from installed distributions.
_SAFE = re.compile(r"[\w.:/@#+=*-]+")
_NOT_SHOWN = re.compile(r"[^\w ,./@+=-]+")
_DEPTH, _MOST, _WIDTH = 4, 200, 80
_YAML = (".yaml", ".yml")


def completer(names: Names) -> Complete:
    """Return a completion function for Typer: it offers the safe names that begin with the typed text.

    Args:
        names: Takes the word so far and the options typed before it, and yields names. After an option without its
            value no arguments are read; `words` has them.
    """

    def complete(ctx: typer.Context, incomplete: str) -> list[Offer]:
        offered: list[Offer] = []
        # Whatever cannot be read here, an error would spoil the line that a person types.
        with contextlib.suppress(Exception):
            for offer in names(incomplete, {**ctx.params, "words": ctx.args}):
                name, meaning = (offer, "") if isinstance(offer, str) else offer
                if name.startswith(incomplete) and _SAFE.fullmatch(name) and len(offered) < _MOST:
                    help_text = " ".join(_NOT_SHOWN.sub(" ", meaning).split())[:_WIDTH]
                    offered.append((name, help_text) if help_text else name)
        return offered

    return complete


def _files(suffixes: Sequence[str], incomplete: str) -> Iterator[str]:
    """Yield the files below the folder that was typed, without recordings and policies."""
    typed, _, _ = incomplete.rpartition("/")
    top = Path(typed or ("/" if incomplete.startswith("/") else "."))
    for path in _files_below(top, suffixes, _DEPTH):
        if not path.name.endswith((".recording.yaml", "strands-policy.yaml")):
            yield str(path) if not incomplete.startswith("./") else f"./{path}"


def _packaged(incomplete: str, *kinds: str) -> Iterator[str]:
    """Yield the names of packaged files of these kinds, where a name and no path begins."""
    if incomplete.startswith((".", "/", "~")):
        return
    from strands_cli.catalog.packaged_files import files_in, scan_packaged

    for folder in scan_packaged()[0]:
        if folder.kind in kinds:
            yield from (file.ref for file in files_in(folder)[0])


def _specs(incomplete: str, *kinds: str) -> Iterator[str]:
    with contextlib.suppress(OSError):  # the typed text need not begin with a folder
        yield from _files(_YAML, incomplete)
    yield from _packaged(incomplete, *kinds)


def _files_below(folder: Path, suffixes: Sequence[str], depth: int) -> Iterator[Path]:
    """Yield files of a folder, those directly in it first; hidden folders and links to folders are left out."""
    entries = sorted(folder.iterdir())
    yield from (entry for entry in entries if entry.suffix in suffixes and entry.is_file())
    for entry in entries:
        if depth and entry.is_dir() and not entry.name.startswith(".") and not entry.is_symlink():
            yield from _files_below(entry, suffixes, depth - 1)


def _tools(incomplete: str, _typed: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names of installed tools, with `native:` where that was typed."""
    from strands_cli.catalog.catalog import discover_catalog

    prefix = "" if not incomplete.startswith("native:") else "native:"
    yield from (prefix + ref.removeprefix("native:") for ref in discover_catalog().allowed_refs)


@completer
def allowed(incomplete: str, typed: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names of installed tools, and the other references in the workflow that was typed."""
    from strands_cli.yaml_files.document_reader import read_document

    yield from _tools(incomplete, typed)
    agents = read_document(Path(typed.get("spec") or typed["words"][0])).value["agents"]
    refs = (str(ref) for agent in agents.values() for ref in agent.get("tools", ()))
    yield from (ref for ref in refs if not ref.startswith("native:"))


@completer
def providers(_incomplete: str, _typed: Mapping[str, Any]) -> Iterator[str]:
    """Yield the model providers."""
    from strands_cli.parts.named_providers import provider_names

    yield from provider_names()


@completer
def exporters(_incomplete: str, _typed: Mapping[str, Any]) -> Iterator[str]:
    """Yield the installed exporters, each with the `=` that its file follows."""
    from strands_cli.default_parts import EXPORTERS
    from strands_cli.parts.named_parts import names_in

    yield from (f"{name}=" for name in names_in(EXPORTERS))


@completer
def patterns(_incomplete: str, _typed: Mapping[str, Any]) -> Iterator[str]:
    """Yield the patterns, also those of installed distributions."""
    from strands_cli.workflow.patterns.pattern_models import PATTERNS

    yield from PATTERNS.installed()


@completer
def variables(incomplete: str, typed: Mapping[str, Any]) -> Iterator[Offer]:
    """Yield the inputs of the workflow that was typed; after `NAME=` the values of a choice."""
    from strands_cli.workflow.packaged_listing import located
    from strands_cli.yaml_files.document_reader import read_document

    source, _ = located(str(typed.get("spec") or typed["words"][0]))
    inputs = read_document(source).value["inputs"]
    for kind in ("required", "optional"):
        for name, stated in (inputs.get(kind) or {}).items():
            spec = stated if isinstance(stated, dict) else {"type": stated}
            if "=" not in incomplete:
                about = spec.get("description") or ""
                yield f"{name}=", f"{spec.get('type', 'string')}, {kind} {about}"
            else:
                values = spec.get("enum") or (("true", "false") if spec.get("type") == "boolean" else ())
                yield from (f"{name}={value}" for value in values)


@completer
def runs(_incomplete: str, typed: Mapping[str, Any]) -> Iterator[Offer]:
    """Yield the ids of stored runs with workflow and status, the newest first, and `last`."""
    from strands_cli.engine.journal.journal_rows import without_parts

    with _store(typed) as store:
        listed_runs = without_parts(store.runs()[0])
    yield from ((run.id, f"{run.workflow} {run.status}") for run in listed_runs)
    yield from ["last"] if listed_runs else []


@completer
def wholes(_incomplete: str, typed: Mapping[str, Any]) -> Iterator[str]:
    """Yield the ids of stored runs that consist of others, the newest first, and `last`."""
    with _store(typed) as store:
        ids = [run.id for run in store.runs()[0] if run.command is not None]
    yield from (*ids, *(["last"] if ids else []))


@completer
def artifacts(_incomplete: str, typed: Mapping[str, Any]) -> Iterator[str]:
    """Yield the paths of the artifacts of the run that was typed."""
    from strands_cli.run_views.fetched_artifacts import artifacts_of

    with _store(typed) as store:
        run = store.find(typed["run"] or typed["words"][0])
        with contextlib.closing(store.open(run, hold=False)) as journal:
            yield from (file.path for file in artifacts_of(journal, with_texts=False).files)


@completer
def statuses(_incomplete: str, _typed: Mapping[str, Any]) -> Iterator[str]:
    """Yield the statuses of runs."""
    from strands_cli.events import RunStatus

    yield from get_args(RunStatus)


def _keys(choose: Callable[[Any], Iterable[Any]]) -> Complete:
    """Return the completion of keys of the typed run: those of the rows that `choose` takes from its journal."""

    def names(_incomplete: str, typed: Mapping[str, Any]) -> Iterator[str]:
        with _store(typed) as store:
            run = store.find(typed["run"] or typed["words"][0])
            with contextlib.closing(store.open(run, hold=False)) as journal:
                yield from (row.key for row in choose(journal))

    return completer(names)


def _questions(journal: Any) -> Iterable[Any]:
    from strands_cli.engine.waiting.questions import open_questions

    return open_questions(journal)


def _decisions(journal: Any) -> Iterable[Any]:
    from strands_cli.engine.waiting.questions import open_decisions

    return open_decisions(journal)


def _store(typed: Mapping[str, Any]) -> contextlib.AbstractContextManager[RunStore]:
    from strands_cli.engine.stored_runs.opened_store import open_store
    from strands_cli.planning.run_request import chosen_place

    return contextlib.closing(open_store(chosen_place(typed.get("runs_dir"), typed.get("store"))))


def _of_tools(field: str) -> Complete:
    """Return the completion of values of a field of the installed tools."""

    def names(_incomplete: str, _typed: Mapping[str, Any]) -> Iterator[str]:
        from strands_cli.catalog.catalog import discover_catalog

        yield from dict.fromkeys(str(getattr(record, field) or "") for record in discover_catalog().tools)

    return completer(names)


@completer
def topics(incomplete: str, _typed: Mapping[str, Any]) -> Iterator[str]:
    """Yield the arguments of `explain`: workflow files, codes, pages, and `policy`."""
    from strands_cli.cli.commands.explain_pages import PAGES
    from strands_cli.cli.output.codes import declared_codes

    yield from ("policy", "supported", *PAGES, *declared_codes(), *_files(_YAML, incomplete))


tools = completer(_tools)
workflow_files = completer(lambda incomplete, _: _specs(incomplete, "workflow"))
agent_files = completer(lambda incomplete, _: _specs(incomplete, "agent"))
packaged = completer(lambda incomplete, _: _packaged(incomplete, "workflow", "agent", "skill"))
server_files = completer(lambda incomplete, _: _files((*_YAML, ".json"), incomplete))
json_files = completer(lambda incomplete, _: _files((".json",), incomplete))
families, categories, distributions = map(_of_tools, ("family", "category", "distribution"))
# Of a stored run: its waiting questions, its interrupted calls, and its steps.
questions, decisions = _keys(_questions), _keys(_decisions)
steps = _keys(lambda journal: (row for kind in ("step", "human") for row in journal.rows(kind) if "/" not in row.key))
keys = _keys(lambda journal: journal.rows())
# By the name of the option's field.
OF_OPTIONS = {"provider": providers, "allow": allowed, "variables": variables}
