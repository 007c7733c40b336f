"""Check versions against PEP 440 specifiers, without `packaging` if both are simple."""

from __future__ import annotations

import re

_SIMPLE_CLAUSE = re.compile(r"\s*(>=|<=|==|!=|<|>)\s*(\d+(?:\.\d+)*)\s*")
_RELEASE = re.compile(r"\d+(?:\.\d+)*")


def satisfies(version: str, specifier: str) -> bool:
    """Return whether a version satisfies a PEP 440 specifier.

    Simple releases are compared here, because importing `packaging` takes 20 ms.

    Raises:
        ValueError: Either is malformed.
    """
    clauses = [_SIMPLE_CLAUSE.fullmatch(clause) for clause in specifier.split(",")]
    if _RELEASE.fullmatch(version) and all(clauses):
        return all(_compare(version, clause[1], clause[2]) for clause in clauses if clause)
    from packaging.specifiers import SpecifierSet
    from packaging.version import Version

    return SpecifierSet(specifier).contains(Version(version), prereleases=True)


def is_within(version: str, specifier: str) -> bool:
    """Return whether a version satisfies a specifier; one that cannot be read satisfies none."""
    try:
        return satisfies(version, specifier)
    except ValueError:
        return False


def is_specifier(text: str) -> bool:
    """Return whether a text is a non-empty PEP 440 specifier."""
    if all(_SIMPLE_CLAUSE.fullmatch(clause) for clause in text.split(",")):
        return True
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    try:
        return bool(str(SpecifierSet(text)))
    except InvalidSpecifier:
        return False


def _compare(version: str, operator: str, bound: str) -> bool:
    left, right = _padded(version, bound)
    return {
        ">=": left >= right,
        "<=": left <= right,
        "==": left == right,
        "!=": left != right,
        "<": left < right,
        ">": left > right,
    }[operator]


def _padded(version: str, bound: str) -> tuple[list[int], list[int]]:
    left, right = ([int(part) for part in text.split(".")] for text in (version, bound))
    width = max(len(left), len(right))
    return left + [0] * (width - len(left)), right + [0] * (width - len(right))
