"""The store of `workers start --dev`: started where the user's data is, made ready, and shared by all such workers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from strands_cli.api import NotEquipped, Runs, StorePlace, user_data_dir

if TYPE_CHECKING:
    from pathlib import Path

FOLDER = "dev-server"


@contextmanager
def dev_store() -> Iterator[StorePlace]:
    """Have a store to try workers with while the block runs; its content stays for the next time.

    Raises:
        NotEquipped: The store or its server is not installed.
        RunRecordError: The server cannot be started.
    """
    try:
        from strands_cli_postgres.dev_server import dev_server
    except ModuleNotFoundError as error:
        message = "no plugin for the store of `workers start --dev` is installed"
        raise NotEquipped(message, fix="pip install 'strands-cli[dev-server]'") from error
    folder = user_data_dir(os.environ) / FOLDER
    with dev_server(folder) as address:
        store_place = StorePlace(address=address)
        _make_ready(folder, store_place)
        yield store_place


def _make_ready(folder: Path, place: StorePlace) -> None:
    """Make the tables of journals and queues; of workers that begin at once, one does it."""
    from filelock import FileLock

    from strands_cli_postgres import store
    from strands_cli_workers.owner import WORKERS

    with FileLock(folder / "init.lock"):
        store.init(place, place.address)
        store.migrate(place, place.address)
        with Runs(place) as runs:
            WORKERS.prepare(runs.store)
