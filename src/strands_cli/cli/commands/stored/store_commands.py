"""Commands on the store of runs itself: store init, check, migrate."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING

from strands_cli.cli.commands.command_options import JSON, RUNS_DIR, STORE
from strands_cli.cli.output.results import print_json, print_result
from strands_cli.errors import RunRecordError
from strands_cli.texts.phrases import counted

if TYPE_CHECKING:
    from pathlib import Path

    from strands_cli.engine.store_port import StoreOpener
    from strands_cli.store_place import StorePlace

    Step = Callable[[StorePlace, str], list[str]]


def init_store(runs_dir: RUNS_DIR = None, store: STORE = None, as_json: JSON = False) -> None:
    """Make what a store needs in its database; existing data stays.

    Example: strands runs store init --store postgresql://strands@db.example.com/agents
    """
    _print(runs_dir, store, "done", lambda opener: opener.init, as_json=as_json)


def check_store(runs_dir: RUNS_DIR = None, store: STORE = None, as_json: JSON = False) -> None:
    """Check a store, and show what it is; exit 17 if it cannot be used.

    Example: strands runs store check --store postgresql://strands@db.example.com/agents
    """
    _print(runs_dir, store, "facts", lambda opener: opener.check, as_json=as_json)


def migrate_store(runs_dir: RUNS_DIR = None, store: STORE = None, as_json: JSON = False) -> None:
    """Bring a store of an older version to the present format; its runs stay.

    Example: strands runs store migrate --store postgresql://strands@db.example.com/agents
    """
    _print(runs_dir, store, "done", lambda opener: opener.migrate, as_json=as_json)


def _print(
    runs_dir: Path | None, store: str | None, name: str, step_of: Callable[[StoreOpener], Step], *, as_json: bool
) -> None:
    """Do one step with the store that the options name, and print its result."""
    from strands_cli.engine.stored_runs.opened_store import opener_of
    from strands_cli.planning.run_request import chosen_place

    store_place = chosen_place(runs_dir, store)
    if store_place.directory is not None:
        lines = _directory_facts(store_place) if name == "facts" else [f"{store_place}: a directory needs nothing"]
    else:
        opener, address = opener_of(store_place)
        lines = [*step_of(opener)(store_place, address), *_lines_of_owners(store_place, looks=name == "facts")]
    if as_json:
        print_json({"store": str(store_place), name: lines})
    else:
        print_result("\n".join(lines))


def _lines_of_owners(place: StorePlace, *, looks: bool) -> list[str]:
    """Do the same for the tables of the owners of runs that are installed, such as workers."""
    from strands_cli.engine.stored_runs.opened_store import open_store
    from strands_cli.engine.stored_runs.run_owners import installed_owners

    owners = list(installed_owners())
    if not owners:
        return []
    lines: list[str] = []
    with closing(open_store(place)) as store:
        for name, owner in owners:
            try:
                lines += owner.check(store) if looks else owner.prepare(store)
            except RunRecordError as error:
                if not looks:
                    raise
                lines.append(f"{name}: none ({error.fix})")
    return lines


def _directory_facts(place: StorePlace) -> list[str]:
    from strands_cli.engine.stored_runs.opened_store import open_store

    with closing(open_store(place)) as opened:
        runs, problems = opened.runs()
    unread = [f"{counted(len(problems), 'journal')} that cannot be read: strands runs list"] if problems else []
    return [f"directory: {place}, {counted(len(runs), 'run')}", *unread]
