"""The prices of models, from a table of the package and from the user's own, and the cost of one call."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import field
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from strands_cli.errors import Code, Finding, NotEquipped, Where
from strands_cli.events import CACHE_BESIDE_INPUT
from strands_cli.quick_dataclass import dataclass

if TYPE_CHECKING:
    from strands_cli.events import Usage

BAD_PRICES = Code(
    "bad-prices",
    "The file that STRANDS_PRICES names is not a table of prices.",
    "Correct it, or unset STRANDS_PRICES.",
    18,
)

VARIABLE = "STRANDS_PRICES"
TABLE = Path(__file__).with_name("prices.json")
_KINDS = ("input", "output", "cache_read", "cache_write")


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million tokens of each kind; a cache price of None is unknown.

    With `cache_beside_input` the provider's input tokens do not include those read from or written to its cache.
    """

    input: float
    output: float
    cache_read: float | None = None
    cache_write: float | None = None
    cache_beside_input: bool = False

    def cost(self, usage: Usage) -> float | None:
        """Return the cost of a call in US dollars; None without reported tokens or a needed cache price.

        An unknown price never counts as zero.
        """
        if (usage.is_unknown or usage.estimated_tokens) and self != FREE:
            return None
        read, written, uncached = usage.cache_read_tokens, usage.cache_write_tokens, usage.input_tokens
        if (read and self.cache_read is None) or (written and self.cache_write is None):
            return None
        if not self.cache_beside_input:
            uncached = max(0, uncached - read - written)
        parts = (
            uncached * self.input,
            usage.output_tokens * self.output,
            read * (self.cache_read or 0.0),
            written * (self.cache_write or 0.0),
        )
        return sum(parts) / 1_000_000

    def most(self, input_tokens: int, output_tokens: int) -> float:
        """Return the most that a call costs with so many tokens, whatever part of them a cache has."""
        return (input_tokens * max(self.input, self.cache_write or 0.0) + output_tokens * self.output) / 1_000_000


# A recording does not call a model.
FREE = Price(0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class PriceTable:
    """Prices by `provider/model_id`; a key may be a glob. `file` is their file, `date` the day of the prices."""

    models: Mapping[str, Price]
    file: str
    date: str = ""
    _price_by_model: dict[str, Price | None] = field(init=False, default_factory=dict, compare=False, repr=False)

    def price(self, provider: str, model_id: str | None) -> Price | None:
        """Return a model's price, or None if the table does not have it; the most specific key counts."""
        if provider == "replay":
            return FREE
        name = f"{provider}/{model_id}" if model_id else provider
        if name not in self._price_by_model:
            fitting = (key for key in self.models if key == name or fnmatchcase(name, key))
            best = max(fitting, key=lambda key: (key == name, len(key), key), default=None)
            self._price_by_model[name] = self.models[best] if best is not None else None
        return self._price_by_model[name]


def read_prices(environ: Mapping[str, str] | None = None) -> PriceTable:
    """Return the shipped prices, overridden by those of the file that `STRANDS_PRICES` names.

    Raises:
        NotEquipped: That file cannot be read or is not a table of prices.
    """
    environ = os.environ if environ is None else environ
    shipped = _shipped(TABLE)
    named = environ.get(VARIABLE)
    if not named:
        return shipped
    table = _read(Path(named))
    return PriceTable({**shipped.models, **table.models}, table.file, table.date)


@cache
def _shipped(path: Path) -> PriceTable:
    """Return an installed table, which no process sees change: to check and read it takes longer than a small plan."""
    return _read(path)


def _read(path: Path) -> PriceTable:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise _no_table(path, [f"it cannot be read: {error}"]) from error
    models = document.get("models") if isinstance(document, dict) else None
    if not isinstance(models, dict):
        raise _no_table(path, ["it has no object `models`"])
    problems = [problem for name, entry in models.items() for problem in _problems(name, entry)]
    if problems:
        raise _no_table(path, problems)
    prices = {name: _price(name, entry) for name, entry in models.items()}
    return PriceTable(prices, str(path), str(document.get("date", "")))


def _problems(name: str, entry: Any) -> list[str]:
    """Return the faults of one entry of a table."""
    if not isinstance(entry, dict):
        return [f"{name}: not an object"]
    wrong = [f"{name}: unknown key '{key}'; known: {', '.join(_KINDS)}" for key in entry if key not in _KINDS]
    wrong += [f"{name}: `{kind}` is missing" for kind in ("input", "output") if kind not in entry]
    return wrong + [
        f"{name}: `{kind}` is not a number of dollars: {entry[kind]!r}"
        for kind in _KINDS
        if kind in entry and not _is_amount(entry[kind])
    ]


def _is_amount(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < float("inf")


def _price(name: str, entry: Mapping[str, float]) -> Price:
    return Price(**entry, cache_beside_input=name.partition("/")[0] in CACHE_BESIDE_INPUT)


def _no_table(path: Path, problems: list[str]) -> NotEquipped:
    findings = [Finding(BAD_PRICES, problem, Where(str(path))) for problem in problems]
    return NotEquipped(
        f"{path} is not a table of prices: {problems[0]}",
        findings=findings,
        fix=f"correct it, or unset {VARIABLE}; the shipped table shows the form: {TABLE}",
    )
