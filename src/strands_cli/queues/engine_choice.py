"""The engine that is installed for the queues of a store, and the queues of a place."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from strands_cli.errors import NotEquipped, UsageError

if TYPE_CHECKING:
    from strands_cli.queues.queue_port import Engine, RunQueue
    from strands_cli.store_place import StorePlace

GROUP = "strands_cli.engines"
# What brings an engine, for those who have not installed it.
KNOWN = "strands-engine-dbos"


def engine_of(place: StorePlace) -> tuple[Engine, str]:
    """Return the engine for the queues of a store, and the whole address, which must not be shown.

    Raises:
        UsageError: The runs are in a directory, which one machine has.
        NotEquipped: No engine is installed, or it fails to load.
    """
    from strands_cli.engine.stored_runs import opener_of

    if place.directory is not None:
        raise UsageError(
            f"the runs are in the directory {place}, and queues are in a database",
            fix="name a store: --store postgresql://USER@HOST/DATABASE, or STRANDS_STORE",
        )
    engine = installed_engine()
    if engine is None:
        raise NotEquipped("no engine for queues is installed", fix=f"pip install {KNOWN}")
    return engine, opener_of(place)[1]


def installed_engine() -> Engine | None:
    """Return the engine that is installed; None without one.

    Raises:
        NotEquipped: It fails to load.
    """
    from strands_cli.catalog.distributions import declared_points
    from strands_cli.hooks import import_named

    for distribution, point in declared_points(GROUP):
        try:
            return cast("Engine", import_named(point.value))
        except Exception as error:  # a plugin may raise anything when it is imported
            raise NotEquipped(
                f"the engine of {distribution} fails to load: {type(error).__name__}: {error}",
                fix=f"pip install --upgrade {distribution}",
            ) from error
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
