"""Find a time zone by its IANA name, or say which names come close."""

from __future__ import annotations

import re
import zoneinfo

from strands_tool_kit import ToolError

_NAME = re.compile(r"[A-Za-z0-9_+-]+(?:/[A-Za-z0-9_+-]+){0,3}")
_OFFSET = re.compile(r"(?:UTC|GMT)?\s*([+-])\s*(\d{1,2})(?::?00)?", re.IGNORECASE)

# Abbreviations are not unique (IST names three zones), so they are only ever suggestions.
_ABBREVIATIONS = {
    "AEDT": ("Australia/Sydney",),
    "AEST": ("Australia/Sydney", "Australia/Brisbane"),
    "AST": ("America/Halifax", "Asia/Riyadh"),
    "BST": ("Europe/London", "Asia/Dhaka"),
    "CDT": ("America/Chicago", "America/Havana"),
    "CEST": ("Europe/Berlin", "Europe/Paris"),
    "CST": ("America/Chicago", "Asia/Shanghai"),
    "EDT": ("America/New_York",),
    "IST": ("Asia/Kolkata", "Europe/Dublin", "Asia/Jerusalem"),
    "JST": ("Asia/Tokyo",),
    "KST": ("Asia/Seoul",),
    "MDT": ("America/Denver",),
    "NZST": ("Pacific/Auckland",),
    "PDT": ("America/Los_Angeles",),
    "PST": ("America/Los_Angeles", "Asia/Manila"),
    "SGT": ("Asia/Singapore",),
    "Z": ("UTC",),
}


def find_zone(name: str) -> zoneinfo.ZoneInfo:
    """Return the zone of an IANA name such as `Europe/Berlin`.

    Raises:
        ToolError: `invalid_input` with up to five names in `details["close"]`.
    """
    # The pattern keeps dots and leading slashes out: zoneinfo maps a name onto a file path.
    if _NAME.fullmatch(name):
        try:
            return zoneinfo.ZoneInfo(name)
        except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
            pass  # A directory ("America"), another file, or nothing: all are unknown names.
    close = close_names(name)
    hint = f"did you mean {' or '.join(close)}?" if close else "use an IANA name such as Europe/Berlin or UTC"
    raise ToolError("invalid_input", f"unknown time zone '{name[:64]}'; {hint}", reason="unknown-zone", close=close)


def close_names(name: str) -> list[str]:
    """Return up to five IANA names a person may have meant, the likeliest first.

    Understands other case, a city alone, a space for the underscore, common abbreviations and whole-hour offsets.
    """
    import difflib  # only a mistake pays for it

    timezones = zoneinfo.available_timezones()
    name_wanted = re.sub(r"\s+", "_", name[:64].strip()).casefold()
    offset = _OFFSET.fullmatch(name[:64].strip())
    guesses: list[str] = list(_ABBREVIATIONS.get(name_wanted.upper(), ()))
    if offset:
        # POSIX signs: Etc/GMT-2 lies two hours east of Greenwich.
        guesses.append(f"Etc/GMT{'-' if offset[1] == '+' else '+'}{int(offset[2])}")
    by_folded = {zone.casefold(): zone for zone in sorted(timezones)}
    by_city: dict[str, list[str]] = {}
    for folded, zone in by_folded.items():
        by_city.setdefault(folded.rpartition("/")[2], []).append(zone)
    guesses += [by_folded[name_wanted]] if name_wanted in by_folded else []
    guesses += by_city.get(name_wanted.rpartition("/")[2], [])
    guesses += [by_folded[match] for match in difflib.get_close_matches(name_wanted, by_folded, n=3, cutoff=0.75)]
    for match in difflib.get_close_matches(name_wanted.rpartition("/")[2], by_city, n=2, cutoff=0.8):
        guesses += by_city[match]
    return [zone for zone in dict.fromkeys(guesses) if zone in timezones][:5]
