"""Whether this machine has what a tool requires; imports neither the tool nor what it asks for."""

# Strings and os.path: a listing handles thousands of names, and Path costs it several times more.
# ruff: noqa: PTH112, PTH118
from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from typing import Any

from strands_cli.catalog.distributions import Scan, normalise
from strands_cli.catalog.locate import find_package, module_file

_SYSTEMS = {"linux": "linux", "darwin": "macos", "win32": "windows", "cygwin": "windows"}
_SIMPLE_CLAUSE = re.compile(r"\s*(>=|<=|==|!=|<|>)\s*(\d+(?:\.\d+)*)\s*")
_RELEASE = re.compile(r"\d+(?:\.\d+)*")
_SIMPLE_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*((?:[<>=!]=?[^;@\[]*)?)")


def unmet(requires: Mapping[str, Any], seen: Scan) -> list[str]:
    """Return what is missing, each as a phrase after "needs"; nothing missing is an empty list."""
    missing = [_python(requires["python"])] if "python" in requires else []
    if systems := requires.get("os"):
        missing.append(_system(systems))
    missing += [_variable(name) for name in requires.get("env", ())]
    missing += [_distribution(text, seen) for text in requires.get("distributions", ())]
    missing += [_module(name, seen) for name in requires.get("modules", ())]
    return [phrase for phrase in missing if phrase]


def satisfies(version: str, specifier: str) -> bool:
    """Return whether a version satisfies a PEP 440 specifier.

    Plain releases are compared by hand, because `packaging` costs a cold start 20 ms.

    Raises:
        ValueError: When either is malformed.
    """
    clauses = [_SIMPLE_CLAUSE.fullmatch(clause) for clause in specifier.split(",")]
    if _RELEASE.fullmatch(version) and all(clauses):
        return all(_compare(version, clause[1], clause[2]) for clause in clauses if clause)
    from packaging.specifiers import SpecifierSet
    from packaging.version import Version

    return SpecifierSet(specifier).contains(Version(version), prereleases=True)


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


def _python(specifier: str) -> str | None:
    running = ".".join(str(part) for part in sys.version_info[:3])
    if sys.version_info.releaselevel != "final":
        import platform  # only pre-releases of Python have more to their version

        running = platform.python_version().rstrip("+")
    return _judge(running, specifier, f"Python {specifier} (this is {running})")


def _judge(version: str, specifier: str, phrase: str) -> str | None:
    try:
        return None if satisfies(version, specifier) else phrase
    except ValueError:
        return f"{phrase}; that cannot be compared"


def _system(systems: list[str]) -> str | None:
    running = _SYSTEMS.get(sys.platform, sys.platform)
    wanted = {_SYSTEMS.get(name.lower(), name.lower()) for name in systems}
    return None if running in wanted else f"the operating system {' or '.join(sorted(wanted))} (this is {running})"


def _variable(name: str) -> str | None:
    return None if os.environ.get(name) else f"the environment variable {name}"


def _distribution(text: str, seen: Scan) -> str | None:
    simple = _SIMPLE_REQUIREMENT.fullmatch(text)
    if simple is None:
        return _full_requirement(text, seen)
    return _installed(simple[1], simple[2].strip(), text, seen)


def _installed(name: str, specifier: str, text: str, seen: Scan) -> str | None:
    if normalise(name) not in seen.records:
        return f"the distribution {text!r}: pip install '{text}'"
    version = seen.version(normalise(name))
    if not specifier or version is None:
        return None
    return _judge(version, specifier, f"the distribution {text!r} ({version} is installed)")


def _full_requirement(text: str, seen: Scan) -> str | None:
    from packaging.requirements import InvalidRequirement, Requirement  # markers, extras and URLs are rare

    try:
        requirement = Requirement(text)
    except InvalidRequirement:
        return f"the distribution {text!r}, which is not a PEP 508 requirement"
    if requirement.marker is not None and not requirement.marker.evaluate():
        return None
    return _installed(requirement.name, str(requirement.specifier), text, seen)


def _module(name: str, seen: Scan) -> str | None:
    if not all(part.isidentifier() for part in name.split(".")):
        return f"the module {name!r}, which cannot be one"
    top = name.partition(".")[0]
    if top in sys.builtin_module_names:
        return None
    package = find_package(top, seen.listings)
    if package and (name == top or module_file(package, name) or _namespace(package.directory, name)):
        return None
    return f"the module {name!r}"


def _namespace(directory: str | None, name: str) -> bool:
    return directory is not None and os.path.isdir(os.path.join(directory, *name.split(".")[1:]))
