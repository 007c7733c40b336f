"""The names of the files of a run's journal."""

from __future__ import annotations

DATABASE = "journal.sqlite"
OUTPUTS = "outputs"
