"""`StandingBudget`: a limit of a policy file on what the runs of a store spend in a day, a week or a month."""

from __future__ import annotations

import datetime
from fnmatch import fnmatchcase
from typing import NamedTuple

from strands_cli.policy.rule import Level
from strands_cli.quick_dataclass import dataclass

PERIODS = ("day", "week", "month")
# What a budget can be for: each workflow, each provider whose key is used, each user.
SCOPES = ("workflow", "key", "user")
LIMITS = ("max_cost_usd", "max_tokens", "max_model_calls")


class Payer(NamedTuple):
    """Who pays: a workflow with a model (`provider/model_id`), for a user of the machine."""

    workflow: str
    model: str
    user: str

    def of(self, scope: str) -> str:
        """Return the name that a scope of a budget means; the key is that of the model's provider."""
        return str(self.model.partition("/")[0] if scope == "key" else getattr(self, scope))


@dataclass(frozen=True, slots=True)
class StandingBudget:
    """One limit over time. Days are those of UTC; a week begins on Monday.

    Attributes:
        period: One of `PERIODS`.
        name: One of `LIMITS`.
        limit: How much may be spent in the period.
        each: The scopes in which it holds for each name by itself; without one it holds for all together.
        only: The glob of the names that count in a scope; a glob with `/` in the scope `key` means a model.
        level: That of its file.
        origin: Its file and line.
    """

    period: str
    name: str
    limit: float
    each: tuple[str, ...]
    only: tuple[tuple[str, str], ...]
    level: Level
    origin: str

    def begins(self, day: datetime.date) -> datetime.date:
        """Return the first day of the period with a day in it."""
        if self.period == "week":
            return day - datetime.timedelta(days=day.weekday())
        return day.replace(day=1) if self.period == "month" else day

    def ends(self, day: datetime.date) -> datetime.date:
        """Return the first day of the next period."""
        return self.begins(self.begins(day) + datetime.timedelta(days={"day": 1, "week": 7}.get(self.period, 31)))

    def counts(self, payer: Payer) -> bool:
        """Return whether the expenses of a payer count in it."""
        return all(
            fnmatchcase(payer.model if scope == "key" and "/" in glob else payer.of(scope), glob)
            for scope, glob in self.only
        )

    def counts_model(self, workflow: str, user: str, model: str) -> bool:
        """Return whether the calls of a model count in it that a workflow makes for a user."""
        return self.counts(Payer(workflow, model, user))

    @property
    def place(self) -> tuple[str, int]:
        """Its file, and its line there."""
        file, _, line = self.origin.rpartition(":")
        return file, int(line)

    def group(self, payer: Payer) -> tuple[str, ...]:
        """Return the names for which it holds by itself."""
        return tuple(payer.of(scope) for scope in self.each)

    @property
    def words(self) -> str:
        """The limit in words."""
        amount = f"${self.limit:g}" if self.name == "max_cost_usd" else f"{self.limit:,g}"
        what = {"max_tokens": " tokens", "max_model_calls": " model calls"}.get(self.name, "")
        scopes = [f"{scope} {glob}" for scope, glob in self.only] + [f"each {scope}" for scope in self.each]
        return f"{amount}{what} a {self.period}" + (f" ({', '.join(scopes)})" if scopes else "")

    def amount(self, value: float) -> str:
        """Return an amount of what it limits."""
        return f"${value:.4f}" if self.name == "max_cost_usd" else f"{value:,g}"
