"""The wordings of findings are in one file, each once; other tests assert codes, places and fields."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from strands_cli import app
from strands_cli.catalog.catalog import discover_catalog
from strands_cli.config import Settings
from strands_cli.errors import Finding, StrandsCliError
from strands_cli.planning.run_request import RunRequest
from tests.golden import check_golden
from tests.golden.broken import CASES, FILES, TEXTS, Case, install
from tests.workflow.spoiled import SPOILED

# Each of these repeats the words of jsonschema, jinja2 or the interpreter, which differ between their versions.
OTHERS_WORDS = {
    *("schema that is none", "prompt template broken", "template broken", "condition broken", "gate pattern broken")
}
SOURCE = Path(app.__file__).parent.parent
NAMES = re.compile(r"`[^`]*`|'[^']*'|\d+")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with the files that the cases name, where nothing of this machine is read."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    install(tmp_path / "site")
    monkeypatch.chdir(tmp_path)
    for name in ("ANTHROPIC_API_KEY", "TOKEN", "AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ACCESS_KEY_ID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    return tmp_path


def planned(case: Case, folder: Path) -> Iterable[Finding]:
    try:
        catalog, settings = discover_catalog([str(folder / "site")]), Settings(folder / "runs")
        plan = app.plan("flow.yaml", RunRequest(**case.options), text=case.text, catalog=catalog, settings=settings)
    except StrandsCliError as error:
        return error.findings
    return plan.findings


def checked(text: str, folder: Path) -> Iterable[Finding]:
    try:
        return app.check("flow.yaml", text, catalog=discover_catalog([str(folder / "site")]))
    except StrandsCliError as error:
        return error.findings


def found(folder: Path) -> Iterator[tuple[str, Finding]]:
    """Yield each finding with the name of the workflow that has it."""
    spoiled = {name: text for name, (text, _, _) in SPOILED.items() if name not in OTHERS_WORDS}
    for name, text in {**TEXTS, **spoiled}.items():
        yield from ((name, finding) for finding in checked(text, folder))
    for name, case in CASES.items():
        yield from ((name, finding) for finding in planned(case, folder))


def test_each_wording_of_a_finding_is_pinned_once(folder: Path) -> None:
    shown: dict[tuple[str, str], str] = {}
    faulty = set()
    for name, finding in found(folder):
        faulty.add(name)
        wording = NAMES.sub("_", f"{finding.message}|{finding.fix}")
        text = f"{finding}".replace(str(folder), "FOLDER").replace(str(SOURCE), "SOURCE")
        shown.setdefault((finding.code, wording), f"# {name}\n{text}\n")
    assert faulty == {*TEXTS, *CASES, *SPOILED} - OTHERS_WORDS
    check_golden("findings.txt", "\n".join(shown.values()))
