# Made by scripts/make_reference.py from the fields of RunRequest.
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict

from strands_cli.catalog.catalog import Catalog

def choices(*, again: bool) -> Iterator[tuple[str, str, str]]: ...

class StoredRunChoices(TypedDict, total=False):
    tools: Sequence[Any]
    catalog: Catalog | None
    hooks: Sequence[str]
    context: Mapping[str, Any]
    out_dir: str | Path
    force: bool
    allow: Sequence[str]
    yes: bool
    deny: bool
    fail_on_denied: bool
    record: str | Path | None
    runs_dir: str | Path | None
    store: str | None
    policy: str | Path | None
    locked: bool

class RunChoices(StoredRunChoices, total=False):
    provider: str | None
    model: str | None
    host: str | None
    max_tokens: int | None
    max_cost: float | None
