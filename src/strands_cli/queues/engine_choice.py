"""The engine that is installed for the queues of a store, and the queues of a place."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from strands_cli.errors import NotEquipped, UsageError

if TYPE_CHECKING:
    from strands_cli.queues.queue_port import Engine, RunQueue
    from strands_cli.store_place import StorePlace


def engine_of(place: StorePlace) -> tuple[Engine, str]:
    """Return the engine for the queues of a store, and the whole address, which must not be shown.

    Raises:
        UsageError: The runs are in a directory, which one machine has, or no store has addresses of this form.
        NotEquipped: No engine is installed, it has no queues for such a store, or it fails to load.
    """
    from strands_cli.default_parts import ENGINES, OURS
    from strands_cli.engine.stored_runs.opened_store import opener_of, require_opener
    from strands_cli.parts.named_parts import parts_of

    if place.directory is not None:
        raise UsageError(
            f"the runs are in the directory {place}, and queues are in a database",
            fix="name a store: --store postgresql://USER@HOST/DATABASE, or STRANDS_STORE",
        )
    engine = installed_engine(place.scheme)
    if engine is None and place.scheme not in OURS[ENGINES]:
        require_opener(place)
    if engine is None and (parts_of(ENGINES) or place.scheme not in OURS[ENGINES]):
        raise NotEquipped(
            f"no engine that is installed has queues for {place}",
            fix="name another store: --store postgresql://USER@HOST/DATABASE, or STRANDS_STORE",
        )
    if engine is None:
        raise NotEquipped("no engine for queues is installed", fix=f"pip install {OURS[ENGINES][place.scheme]}")
    return engine, opener_of(place)[1]


def installed_engine(scheme: str) -> Engine | None:
    """Return the engine that is installed for queues in stores of a scheme; None without one.

    An engine declares the schemes as names of its entry points: it is never given the address of another kind of store,
    which it would take for that of a database of its own.

    Raises:
        Denied: Two distributions claim it, policy denies its distribution, or it is not as it was locked.
        NotEquipped: It fails to load.
    """
    from strands_cli.default_parts import ENGINES
    from strands_cli.parts.named_parts import imported_with_methods, part_named
    from strands_cli.queues.queue_port import Engine

    part = part_named(ENGINES, scheme)
    if part is None:
        return None
    return cast("Engine", imported_with_methods(part, Engine))


def queue_at(place: StorePlace) -> RunQueue:
    """Return the queues of a store.

    Raises:
        UsageError: The runs are in a directory.
        NotEquipped: No engine is installed.
        RunRecordError: The store cannot be reached, or has no queues yet.
    """
    engine, address = engine_of(place)
    return engine.open(place, address)
