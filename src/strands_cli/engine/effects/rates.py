"""A rate such as `60/m`: how often something may begin in a second, a minute, an hour or a day."""

from __future__ import annotations

import re

from strands_cli.errors import UsageError
from strands_cli.quick_dataclass import dataclass

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_RATE = re.compile(r"([1-9][0-9]{0,8})/([smhd])")
# What people write for a rate: `60`, `60/min`, `60 per minute`, `60rpm`.
_NEARLY = re.compile(
    r"\s*0*(?P<count>[1-9][0-9]{0,8})\s*(?:/|per\b|rp(?=[smhd]))?\s*(?P<unit>[a-z]*)\s*", re.IGNORECASE
)


def written_rate(count: int, seconds: float) -> str:
    """Return how often something may begin as an option has it: `60/m`; other periods in words."""
    unit = next((unit for unit, period in _SECONDS.items() if period == seconds), None)
    return f"{count}/{unit}" if unit else f"{count} in {seconds:,.0f} s"


@dataclass(frozen=True, slots=True)
class Rate:
    """At most `count` in any `period_s` seconds."""

    count: int
    period_s: int

    def __str__(self) -> str:
        """Return the rate as it is written."""
        return written_rate(self.count, self.period_s)

    @classmethod
    def parse(cls, text: str, option: str = "--rate") -> Rate:
        """Return the rate that a text names.

        Args:
            option: What takes the text, for the message.

        Raises:
            UsageError: The text is not a rate.
        """
        if found := _RATE.fullmatch(text):
            return cls(int(found[1]), _SECONDS[found[2]])
        near = _NEARLY.fullmatch(text)
        unit = near["unit"][:1].lower() if near else ""
        fix = "write a number and s, m, h or d, for example 60/m"
        if near and unit in ("", *_SECONDS):
            fix = f"did you mean {near['count']}/{unit or 'm'}?"
        raise UsageError(f"{option}: {text!r} is not a rate", fix=fix)
