"""What the pages of one process share: the folder, the runs, those who watch, and the children."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from strands_cli.ui.children import Children
from strands_cli.ui.live import ChangeHub

if TYPE_CHECKING:
    from starlette.responses import Response

    View = Callable[["Ui", Any], Response]


@dataclass(frozen=True, slots=True)
class Ui:
    """What every page is made from.

    Attributes:
        folder: Where `strands ui` was started; its workflows are shown, and child processes work in it.
        runs_dir: The directory of the runs.
        hub: Those who watch.
        children: The child processes.
        one_at_a_time: A lock for each run: two answers to its questions come one after the other.
    """

    folder: Path
    runs_dir: Path
    hub: ChangeHub
    children: Children
    one_at_a_time: defaultdict[str, threading.Lock] = field(default_factory=lambda: defaultdict(threading.Lock))
