"""The engine that is installed for the queues of a store, and the queues of a place."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from strands_cli.errors import NotEquipped, UsageError

if TYPE_CHECKING:
    from strands_cli.queues.queue_port import Engine, RunQueue
    from strands_cli.store_place import StorePlace

GROUP = "strands_cli.engines"
# What brings an engine, for those who have not installed it.
KNOWN = "strands-cli-workers"


def engine_of(place: StorePlace) -> tuple[Engine, str]:
    """Return the engine for the queues of a store, and the whole address, which must not be shown.

    Raises:
        UsageError: The runs are in a directory, which one machine has.
        NotEquipped: No engine is installed, it has no queues for such a store, or it fails to load.
    """
    from strands_cli.engine.stored_runs import opener_of

    if place.directory is not None:
        raise UsageError(
            f"the runs are in the directory {place}, and queues are in a database",
            fix="name a store: --store postgresql://USER@HOST/DATABASE, or STRANDS_STORE",
        )
    engine = installed_engine(place.scheme)
    if engine is None and installed_engine() is not None:
        raise NotEquipped(
            f"no engine that is installed has queues for {place}",
            fix="name another store: --store postgresql://USER@HOST/DATABASE, or STRANDS_STORE",
        )
    if engine is None:
        raise NotEquipped("no engine for queues is installed", fix=f"pip install {KNOWN}")
    return engine, opener_of(place)[1]


def installed_engine(scheme: str = "") -> Engine | None:
    """Return the engine that is installed; None without one.

    Args:
        scheme: That of the store whose queues it must have; empty for any. An engine is never given the address of
            another kind of store, which it would take for that of a database of its own.

    Raises:
        NotEquipped: It fails to load.
    """
    from strands_cli.catalog.distributions import declared_points
    from strands_cli.hooks import import_named

    for distribution, point in declared_points(GROUP):
        try:
            engine = cast("Engine", import_named(point.value))
        except Exception as error:  # a plugin may raise anything when it is imported
            raise NotEquipped(
                f"the engine of {distribution} fails to load: {type(error).__name__}: {error}",
                fix=f"pip install --upgrade {distribution}",
            ) from error
        if not scheme or scheme in engine.schemes:
            return engine
    return None


def queue_at(place: StorePlace) -> RunQueue:
    """Return the queues of a store.

    Raises:
        UsageError: The runs are in a directory.
        NotEquipped: No engine is installed.
        RunRecordError: The store cannot be reached, or has no queues yet.
    """
    engine, address = engine_of(place)
    return engine.open(place, address)
