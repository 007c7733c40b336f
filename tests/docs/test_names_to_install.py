"""Every name that a text gives a person to install is in packages/names.toml, or is visibly an example."""

from __future__ import annotations

import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name

from strands_cli.catalog.tool_record import first_party
from strands_cli.default_parts import OURS as OWNERS

ROOT = Path(__file__).parents[2]
NAMES = tomllib.loads((ROOT / "packages" / "names.toml").read_text(encoding="utf-8"))
OURS, OTHERS = set(NAMES["ours"]), set(NAMES["others"])

# Decisions and the changelog report what was; tests, benchmarks and lists of locked versions are read by programs.
NO_TEXT = re.compile(
    r"^(docs/decisions/|changelog\.d/|constraints|packages/names\.toml|bench/|.*\.(lock|png|svg|gif|whl|tape|ico)$)"
    r"|(^|/)tests?/"
)
INSTALL = re.compile(
    r"(?:\bpip3? (?:install|download|wheel)|\bpipx (?:install|run|inject)|\buvx|\buv (?:add|tool (?:install|run)"
    r"|pip install)|\bplugin (?:install|upgrade))[ \t]+([^\n|;&#]+)"
)
# Options that take a value.
VALUED = re.compile(
    r"-[rcwde]|--(index|index-url|python|wheel-dir|find-links|tool|target|timeout|policy|constraint|requirement)"
)
WORD = re.compile(r"[A-Za-z][A-Za-z0-9]*([._-]+[A-Za-z0-9]+)*")
OF_STRANDS = re.compile(
    r"(?<![\w./{-])strands-(?:tool|cli|flow|hooks?|store|engine|provider|pattern|command|agents|ui|batch|workers)"
    r"-[a-z0-9]+(?:-[a-z0-9]+)*(?![\w./-]*[\w/])"
)
EXAMPLE = re.compile(r"\b(yours?|theirs?)\b")
# Words of a sentence that goes on after `pip install`, and placeholders of usage lines.
PROSE = re.compile(
    r"a|again|and|as|does|for|gives|if|in|into|is|it|of|or|pass|runs|the|them|to|what|with|download|else|file|[A-Z]{2,}"
)


def texts() -> Iterator[Path]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, encoding="utf-8", check=True)
    for line in listed.stdout.splitlines():
        if not NO_TEXT.search(line) and (ROOT / line).is_file():
            yield ROOT / line


def installed_by(line: str) -> Iterator[str]:
    """Return the names that the commands in a line install."""
    for command in INSTALL.finditer(line):
        after_option = False
        for raw in command[1].split():
            word = re.split(r"[\[=<>~!@;]", raw.strip("'\"`,.:()*\\"))[0]
            if raw.startswith("-"):
                after_option = bool(VALUED.fullmatch(raw))
                continue
            if after_option:
                after_option = False
                continue
            if "/" in raw or "{" in raw or not WORD.fullmatch(word) or PROSE.fullmatch(word):
                break
            yield canonicalize_name(word)
            if raw.rstrip("'\"").endswith(("`", ",", ".", ")", ":", '"')):
                break


def is_of_the_list(name: str) -> bool:
    return name in {*OURS, *OTHERS, *NAMES["not_distributions"]} or bool(EXAMPLE.search(name))


def faults(line: str) -> list[str]:
    named = {match[0] for match in OF_STRANDS.finditer(line)}
    return sorted(name for name in {*installed_by(line), *named} if not is_of_the_list(name))


def test_ours_are_the_distributions_of_this_repository() -> None:
    projects = [ROOT / "pyproject.toml", *(ROOT / "packages").glob("*/pyproject.toml")]
    assert {tomllib.loads(path.read_text(encoding="utf-8"))["project"]["name"] for path in projects} == OURS


def test_every_name_that_a_text_gives_to_install_is_in_the_list() -> None:
    strange = []
    for path in texts():
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError:
            continue
        for number, line in enumerate(lines, 1):
            strange += [f"{path.relative_to(ROOT)}:{number}: {name}" for name in faults(line)]
    assert strange == [], "take a name of packages/names.toml, or one that is visibly an example (strands-tool-yours)"


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("pip install strands-store-postgres", ["strands-store-postgres"]),
        ("run `pip install 'some-name[x]>=1'` first", ["some-name"]),
        ("uv add --dev some_name strands-cli", ["some-name"]),
        ("strands plugin install strands-tool-shout --index site", ["strands-tool-shout"]),
        ("hooks: [strands-hooks-audit]", ["strands-hooks-audit"]),
        ("python -m pip install --upgrade one-name two-names", ["one-name", "two-names"]),
        ("pip install strands-tool-yours", []),
        ("pip install -e ./strands-tool-yours", []),
        ("pip install it, and go on", []),
    ],
)
def test_the_check_notices(line: str, named: list[str]) -> None:
    assert faults(line) == named


def test_names_that_the_program_puts_together_are_in_the_list() -> None:
    parts = {owner for owners in OWNERS.values() for owner in owners.values()}
    assert {*first_party().values(), *parts} <= OURS
