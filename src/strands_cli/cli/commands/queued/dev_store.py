"""The store of `worker --dev`: started where the user's data is, made ready, and shared by all such workers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, cast

from strands_cli.errors import NotEquipped
from strands_cli.store_place import StorePlace

if TYPE_CHECKING:
    from pathlib import Path

    from strands_cli.engine.ports.store_port import DevStoreOpener

FOLDER = "dev-server"
_INSTALL = "pip install 'strands-cli[dev-server]'"


@contextmanager
def dev_store() -> Iterator[StorePlace]:
    """Have a store to try workers with while the block runs; what it stores stays for the next time.

    Raises:
        NotEquipped: The store, its server or the engine for queues is not installed.
        RunRecordError: The server cannot be started.
    """
    from strands_cli.config import user_data_dir
    from strands_cli.engine.stored_runs.opened_store import opener_of
    from strands_cli.queues.engine_choice import installed_engine

    if installed_engine("postgresql") is None:
        raise NotEquipped("no engine for queues is installed", fix=_INSTALL)
    try:
        opener, _ = opener_of(StorePlace(address="postgresql://dev"))
    except NotEquipped as error:
        raise NotEquipped(error.message, fix=_INSTALL) from error
    folder = user_data_dir(os.environ) / FOLDER
    with cast("DevStoreOpener", opener).dev_server(folder) as address:
        place = StorePlace(address=address)
        _make_ready(folder, place)
        yield place


def _make_ready(folder: Path, place: StorePlace) -> None:
    """Make the tables of journals and queues; of workers that begin at once, one does it."""
    from filelock import FileLock

    from strands_cli.engine.stored_runs.opened_store import opener_of
    from strands_cli.queues.engine_choice import engine_of

    opener, address = opener_of(place)
    engine, _ = engine_of(place)
    with FileLock(folder / "init.lock"):
        opener.init(place, address)
        opener.migrate(place, address)
        engine.init(place, address)
