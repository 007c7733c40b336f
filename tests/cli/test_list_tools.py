from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, Protocol

import pytest

from strands_cli.cli.commands.plugin_commands import COMMANDS_OF_CORE as COMMANDS
from strands_cli.cli.commands.tool_list import FLAGS
from strands_cli.cli.program import run_program
from tests.cli.strands import Folder
from tests.distributions import (
    booby_trapped,
    broken_manifest,
    exits_on_import,
    make_distribution,
    sound,
    twin,
    without_manifest,
)


@dataclass(frozen=True)
class Answer:
    returncode: int
    stdout: str
    stderr: str


class Strands(Protocol):
    def __call__(self, site: Path, *arguments: str) -> Answer: ...


@pytest.fixture
def strands(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Strands:
    """Runs one command line with these directories on the path, as `PYTHONPATH` would put them there."""

    def run(site: Path, *arguments: str) -> Answer:
        with monkeypatch.context() as patch:
            patch.setenv("PYTHONPATH", str(site))
            patch.setattr(sys, "path", [*str(site).split(os.pathsep), *sys.path])
            code = run_program(list(arguments))
        return Answer(code, *capsys.readouterr())

    return run


def listed(strands: Strands, site: Path, *arguments: str) -> dict[str, dict[str, Any]]:
    done = strands(site, "list-tools", "--json", *arguments)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return {tool["name"]: tool for tool in json.loads(done.stdout)["tools"]}


def test_the_json_is_one_document_of_the_documented_shape(strands: Strands, tmp_path: Path) -> None:
    sound(tmp_path, "foo", "1.2", family="words")
    broken_manifest(tmp_path, "bad")
    done = strands(tmp_path, "list-tools", "--json")
    document = json.loads(done.stdout)
    assert set(document) == {"format", "tools", "findings"}
    foo = next(tool for tool in document["tools"] if tool["name"] == "foo")
    assert (foo["status"], foo["description"], foo["distribution"], foo["version"], foo["family"]) == (
        "available",
        "Does foo.",
        "strands-tool-foo",
        "1.2",
        "words",
    )
    assert foo["source"]["entry"] == "strands_tool_foo.foo"
    assert foo["source"]["path"] == str(tmp_path)
    finding = next(finding for finding in document["findings"] if "strands_tool_bad" in finding["file"])
    assert (finding["code"], finding["line"]) == ("bad-manifest", 1)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_table_has_one_line_for_each_tool_and_findings_on_stderr(strands: Strands, tmp_path: Path) -> None:
    sound(tmp_path, "foo", "1.2", description="Does foo. And much more.\nOn many lines.")
    broken_manifest(tmp_path, "bad")
    without_manifest(tmp_path, "db", "class Db:\n    @tool\n    def query(self): 'Asks.'\n", "Db")
    done = strands(tmp_path, "list-tools")
    lines = done.stdout.splitlines()
    (foo,) = [line for line in lines if line.startswith("foo ")]
    assert foo.split() == ["foo", "available", "strands-tool-foo", "1.2", "Does", "foo."]
    (bad,) = [index for index, line in enumerate(lines) if line.startswith("bad ")]
    assert lines[bad + 1].startswith("    broken: ")
    assert "    db.query  Asks." in lines
    assert "error[bad-manifest]" in done.stderr
    assert done.returncode == 0


def test_tools_list_is_the_same_command(strands: Strands, tmp_path: Path) -> None:
    sound(tmp_path, "foo")
    assert strands(tmp_path, "tools", "list", "--json").stdout == strands(tmp_path, "list-tools", "--json").stdout


@pytest.mark.parametrize(("option", "value"), [("--family", "words"), ("--category", "text")])
def test_family_and_category_choose(strands: Strands, tmp_path: Path, option: str, value: str) -> None:
    sound(tmp_path, "foo", family="words", category="text")
    sound(tmp_path, "bar", family="numbers", category="maths")
    assert set(listed(strands, tmp_path, option, value)) == {"foo"}
    nothing = strands(tmp_path, "list-tools", option, value[:-1])
    assert (nothing.returncode, nothing.stdout) == (0, "")
    assert f"'{value}'" in nothing.stderr


def test_check_exits_3_where_anything_is_wrong_and_0_elsewhere(strands: Strands, tmp_path: Path) -> None:
    sound(tmp_path / "a", "foo")
    assert strands(tmp_path / "a", "list-tools", "--check").returncode == 0
    broken_manifest(tmp_path / "a", "bad")
    for more in ([], ["--json"]):
        done = strands(tmp_path / "a", "list-tools", "--check", *more)
        assert done.returncode == 3
        assert "foo" in done.stdout


def test_source_says_where_a_tool_comes_from(strands: Strands, tmp_path: Path) -> None:
    site, other = tmp_path / "site", tmp_path / "other"
    record = sound(site, "foo")
    (record / "direct_url.json").write_text(
        json.dumps({"url": "https://h.example/r.git", "vcs_info": {"vcs": "git", "commit_id": "abc123"}})
    )
    copy = sound(other, "foo", "0.9")
    path = Path(f"{site}{os.pathsep}{other}")
    source = listed(strands, path, "--source")["foo"]["source"]
    assert (source["install"], source["commit"], source["place"]) == ("vcs", "abc123", "PYTHONPATH")
    assert (source["file"], source["line"]) == (str(site / "strands_tool_foo" / "foo.py"), 4)
    assert source["shadowed"] == [str(copy)]
    text = strands(path, "list-tools", "--source").stdout
    assert f": {site / 'strands_tool_foo' / 'foo.py'}:4\n" in text
    assert re.search(rf": vcs .*https://h\.example/r\.git .*abc123 .*{re.escape(str(site))} \(PYTHONPATH\)", text)
    assert f": {copy}\n" in text


def test_every_broken_kind_at_once_hides_no_sound_tool(strands: Strands, tmp_path: Path) -> None:
    sound(tmp_path, "good")
    broken_manifest(tmp_path, "bad")
    exits_on_import(tmp_path, "quits")
    booby_trapped(tmp_path, "trap", tmp_path / "sentinel")
    twin(tmp_path, "good", "other-tools")
    make_distribution(tmp_path, "malformed", entry_points="[strands_cli.tools]\nno equals sign\n")
    make_distribution(tmp_path, "absent", entry_points={"absent": "no_such_package"})
    done = strands(tmp_path, "list-tools", "--json")
    statuses = {tool["name"]: tool["status"] for tool in json.loads(done.stdout)["tools"]}
    expected = {"good": "conflict", "bad": "broken", "quits": "available", "trap": "available", "absent": "broken"}
    assert {name: statuses[name] for name in expected} == expected
    assert not (tmp_path / "sentinel").exists()


def test_a_hostile_current_directory_is_not_seen(tmp_path: Path) -> None:
    sound(tmp_path / "site", "good")
    sound(tmp_path / "here", "evil")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    command = [sys.executable, "-m", "strands_cli", "list-tools"]
    done = subprocess.run(command, cwd=tmp_path / "here", env=environment, capture_output=True, text=True, check=True)
    assert "good" in done.stdout
    assert "evil" not in done.stdout


def test_text_from_plugins_cannot_move_the_cursor_or_forge_rows(strands: Strands, tmp_path: Path) -> None:
    sound(tmp_path, "foo", description="\x1b[2JDoes\u202e it\tnow\x85evil        available  trusted 1.0")
    sound(tmp_path, "bar", requires={"env": ["X\nevil        available  trusted 1.0"]})
    for arguments in (["list-tools"], ["tools", "show", "foo"]):
        done = strands(tmp_path, *arguments)
        assert not {"\x1b", "\u202e", "\x85"} & set(done.stdout + done.stderr)
    assert not [line for line in strands(tmp_path, "list-tools").stdout.splitlines() if line.startswith("evil")]


def test_a_deprecated_tool_says_what_replaces_it(strands: Strands, tmp_path: Path) -> None:
    sound(tmp_path, "foo", deprecated={"since": "1.0", "replacement": "bar"})
    assert re.search(r"\(deprecated, .*\bbar\)", strands(tmp_path, "list-tools").stdout)


def test_show_prints_schemas_annotations_and_examples(strands: Strands, tmp_path: Path) -> None:
    sound(tmp_path, "foo", annotations={"readOnlyHint": True}, examples=[{"input": {"text": "hello"}}])
    done = strands(tmp_path, "tools", "show", "foo")
    assert done.returncode == 0
    for part in ("foo  (module, available)", '"required"', '"readOnlyHint": true', '"hello"', "strands-tool-foo 1.0"):
        assert part in done.stdout
    document = json.loads(strands(tmp_path, "tools", "show", "native:foo", "--json").stdout)
    assert document["input_schema"]["required"] == ["text"]
    assert document["source"]["install"] == "wheel"


def test_show_takes_a_member_and_a_qualified_name(strands: Strands, tmp_path: Path) -> None:
    without_manifest(tmp_path, "db", "class Db:\n    @tool\n    def query(self): 'Asks.'\n", "Db")
    sound(tmp_path, "foo")
    twin(tmp_path, "foo", "other-tools")
    assert "db.query  (function, available)" in strands(tmp_path, "tools", "show", "db.query").stdout
    assert " other-tools 1.0" in strands(tmp_path, "tools", "show", "native:other-tools/foo").stdout
    both = strands(tmp_path, "tools", "show", "foo").stdout
    assert " other-tools 1.0" in both
    assert " strands-tool-foo 1.0" in both
    assert len(json.loads(strands(tmp_path, "tools", "show", "foo", "--json").stdout)["conflict"]) == 2


def test_show_explains_a_tool_that_cannot_be_used(strands: Strands, tmp_path: Path) -> None:
    broken_manifest(tmp_path, "bad")
    sound(tmp_path, "poor", requires={"modules": ["no_such_module_here"]})
    assert "broken: " in strands(tmp_path, "tools", "show", "bad").stdout
    assert "'no_such_module_here'" in strands(tmp_path, "tools", "show", "poor").stdout


def test_show_of_an_unknown_name_suggests_one(strands: Strands, tmp_path: Path) -> None:
    sound(tmp_path, "shout_text")
    done = strands(tmp_path, "tools", "show", "shout_txt")
    assert (done.returncode, done.stdout) == (3, "")
    assert "error[unknown-tool]" in done.stderr
    assert "'shout_text'" in done.stderr


def untimed(text: str) -> str:
    """Return what was reported without how long it took."""
    return re.sub(r"[\d.]+ ms", "- ms", text)


def test_the_options_read_without_a_parser_are_the_flags_of_the_command() -> None:
    parameters = COMMANDS["tools"].commands["list"].params
    assert {word: p.name for p in parameters if getattr(p, "is_flag", False) for word in p.opts} == FLAGS


@pytest.mark.parametrize("words", [(), *combinations(FLAGS, 1), *combinations(FLAGS, 2), tuple(FLAGS)])
def test_a_listing_without_a_parser_is_the_one_with_it(
    strands: Strands, folder: Folder, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    sound(folder.site, "foo", "1.2")
    broken_manifest(folder.site, "bad")
    plain = folder.strands("list-tools", *words)
    monkeypatch.chdir(folder.work)
    for name, value in folder.environment().items():
        monkeypatch.setenv(name, value)
    parsed = strands(folder.site, "list-tools", *words)
    assert (plain.code, plain.out, untimed(plain.err)) == (parsed.returncode, parsed.stdout, untimed(parsed.stderr))
    assert plain.code == (3 if "--check" in words else 0)


COLD = """
import sys
from strands_cli.cli.program import run_program
code = run_program(sys.argv[1:])
heavy = {"strands", "rich", "jsonschema", "asyncio", "jinja2", "yaml", "boto3", "mcp", "packaging"}
loaded = heavy & set(sys.modules) | {name for name in sys.modules if name.startswith("strands_tool")}
print(code, sorted(loaded), file=sys.stderr)
"""


@pytest.mark.parametrize(
    "arguments", [["list-tools"], ["list-tools", "--json"], ["list-tools", "--source"], ["tools", "show", "trap"]]
)
def test_no_listing_imports_a_plugin_the_sdk_or_anything_heavy(tmp_path: Path, arguments: list[str]) -> None:
    booby_trapped(tmp_path, "trap", tmp_path / "sentinel")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-c", COLD, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == "0 []"
    assert not (tmp_path / "sentinel").exists()
