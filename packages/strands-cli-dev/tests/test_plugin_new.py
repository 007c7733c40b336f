"""`strands plugin new`: whatever it makes works as it is, and it never writes over anything."""

from __future__ import annotations

import json
import re
import shlex
import stat
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pytest
from packaging.requirements import Requirement

from strands_cli.cli.program import run_program
from strands_cli_dev.plugin_new.new_plugin import FORMS
from tests.cli.clean import CLONE, CleanEnvironment, make_environment
from tests.distributions import sound

# Each test imports a plugin in a process of its own.
pytestmark = pytest.mark.wheels


@dataclass(frozen=True)
class Answer:
    code: int
    out: str
    err: str


class New(Protocol):
    def __call__(self, name: str, *arguments: str) -> Answer: ...


@pytest.fixture
def new(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> New:
    def run(name: str, *arguments: str) -> Answer:
        code = run_program(["plugin", "new", name, "--directory", str(tmp_path), *arguments])
        return Answer(code, *capsys.readouterr())

    return run


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> CleanEnvironment:
    made = make_environment(tmp_path_factory.mktemp("clean"), ["pytest"])
    for name in ("strands-tool-kit", "strands-cli-dev"):
        made.install_in_place(CLONE / "packages" / name)
    return made


# Above 5 seconds: an author's whole first ten minutes, in processes of their own, once for each form.
@pytest.mark.wheels
@pytest.mark.parametrize("form", FORMS)
def test_what_is_made_installs_passes_its_own_tests_and_runs(
    form: str, new: New, clean: CleanEnvironment, tmp_path: Path
) -> None:
    made = new(f"word_{form}", "--form", form)
    assert made.code == 0, made.err
    project = tmp_path / f"strands-tool-word-{form.replace('_', '-')}"
    clean.install_in_place(project)
    passed = clean.run("python", "-m", "pytest", "-q", "-p", "no:cacheprovider", cwd=project).stdout
    assert " passed" in passed
    assert "failed" not in passed
    checked = clean.run("strands", "plugin", "check", project.name, "--import", "--json", cwd=tmp_path)
    assert json.loads(checked.stdout)["ok"], checked.stdout
    command = shlex.split(next(line for line in made.out.splitlines() if " tools run " in line))
    assert "hello" in clean.run(*command, cwd=tmp_path).stdout
    assert (
        "answered hello" in clean.run("strands", "run", project / "examples" / f"word_{form}.yaml", cwd=tmp_path).stdout
    )


@pytest.mark.parametrize("form", FORMS)
def test_what_is_made_has_nothing_to_find_fault_with(
    form: str, new: New, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert new("shout_it", "--form", form, "--author", 'Jo "Doe" Ünsal').code == 0
    project = tmp_path / "strands-tool-shout-it"
    assert run_program(["plugin", "check", str(project), "--strict", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["findings"] == []
    settings = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert settings["authors"] == [{"name": 'Jo "Doe" Ünsal'}]
    needed = {Requirement(line).name for line in settings["dependencies"]}
    assert needed == {"strands-tool-kit", *(() if form == "module" else ("strands-agents",))}
    texts = [path.read_text(encoding="utf-8") for path in project.rglob("*") if path.is_file()]
    assert not [text for text in texts if "{{ " in text or "{{" in text.replace("{{words}}", "")]


@pytest.mark.parametrize(
    ("typed", "made"),
    [
        ("foo", "strands-tool-foo"),
        ("strands-tool-foo", "strands-tool-foo"),
        ("Foo-Bar", "strands-tool-foo-bar"),
        ("strands_tool_foo_bar", "strands-tool-foo-bar"),
        ("mcp2", "strands-tool-mcp2"),
    ],
)
def test_a_name_is_brought_into_form(new: New, tmp_path: Path, typed: str, made: str) -> None:
    answer = new(typed)
    assert answer.code == 0, answer.err
    assert [path.name for path in tmp_path.iterdir()] == [made]
    assert ("foo_bar" in answer.err) == (typed in ("Foo-Bar", "strands_tool_foo_bar"))


@pytest.mark.parametrize(
    ("typed", "proposal"),
    [
        ("class", "my_class"),
        ("match", "my_match"),
        ("json", "my_json"),
        ("print", "my_print"),
        ("tool", "my_tool"),
        ("2fa", "tool_2fa"),
        ("größe", "groe"),
        ("a/b", "a_b"),
        ("../up", "up"),
        ("a__b", "a_b"),
        ("", "my_tool"),
        ("…", "my_tool"),
        ("x" * 65, "x" * 50),
    ],
)
def test_a_name_that_cannot_be_is_refused_with_one_that_can(
    new: New, tmp_path: Path, typed: str, proposal: str
) -> None:
    refused = new(typed)
    assert (refused.code, list(tmp_path.iterdir())) == (2, [])
    assert f"strands plugin new {proposal}\n" in refused.err
    assert new(proposal).code == 0


def test_what_exists_is_never_written_over(new: New, tmp_path: Path) -> None:
    (tmp_path / "strands-tool-foo").mkdir()
    refused = new("foo")
    assert refused.code == 2
    assert "strands-tool-foo" in refused.err
    assert list(tmp_path.rglob("*")) == [tmp_path / "strands-tool-foo"]


def test_a_dangling_link_counts_as_existing(new: New, tmp_path: Path) -> None:
    (tmp_path / "strands-tool-foo").symlink_to(tmp_path / "nowhere")
    assert new("foo").code == 2


@pytest.mark.parametrize("author", ["a\nb", "\x1b[31mred", "\u202eevil", " "])
def test_an_author_that_is_not_a_line_of_text_is_refused(new: New, tmp_path: Path, author: str) -> None:
    assert new("foo", "--author", author).code == 2
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written_to_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert run_program(["plugin", "new", "foo", "--directory", str(tmp_path / "file")]) == 2
    assert str(tmp_path / "file") in capsys.readouterr().err


def test_nothing_is_left_where_making_it_fails(new: New, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(project: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("strands_cli_dev.plugin_new.new_plugin.write_manifests", fail)
    assert new("foo").code == 130
    assert list(tmp_path.iterdir()) == []


def test_others_may_read_what_is_made(new: New, tmp_path: Path) -> None:
    assert new("foo").code == 0
    ordinary = tmp_path / "ordinary"
    ordinary.mkdir()
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (ordinary, tmp_path / "strands-tool-foo")]
    assert modes[0] == modes[1]


def test_a_name_that_an_installed_tool_has_is_made_with_a_warning(
    new: New, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sound(tmp_path / "site", "foo")
    monkeypatch.syspath_prepend(tmp_path / "site")
    made = new("foo", "--form", "module")
    # It is the very distribution that is installed: nothing to warn of.
    assert (made.code, "tool-conflict" in made.err) == (0, False)
    from tests.distributions import twin

    twin(tmp_path / "site", "bar", "somebody-elses")
    made = new("bar")
    assert made.code == 0
    assert re.search(r"^warning\[tool-conflict\]: .*'bar' .*'somebody-elses'", made.err, re.MULTILINE)


@pytest.mark.parametrize("form", FORMS)
def test_the_description_is_everywhere_and_the_sample_counts_nothing(form: str, new: New, tmp_path: Path) -> None:
    assert new("weather", "--form", form, "--description", "How warm it is in a town, in °C").code == 0
    project = tmp_path / "strands-tool-weather"
    texts = {path.name: path.read_text(encoding="utf-8") for path in project.rglob("*") if path.is_file()}
    said = "How warm it is in a town, in °C"
    assert [
        name for name in ("README.md", "pyproject.toml", "weather.py", "__init__.py") if said not in texts[name]
    ] == []
    [tool] = json.loads(texts["strands_tools.json"])["tools"]
    assert tool["description"].startswith(said)
    assert '\ntest = ["strands-cli-dev>=' in texts["pyproject.toml"], "what the page on ToolContract names"
    assert [name for name, text in texts.items() if "count" in text.lower() and name != "LICENSE"] == []
    assert run_program(["plugin", "check", str(project), "--strict"]) == 0


@pytest.mark.parametrize("text", ["", "a\nb", 'say "x"', "back\\slash", "\u202eevil", "x" * 200])
def test_a_description_that_is_not_a_plain_sentence_is_refused(new: New, tmp_path: Path, text: str) -> None:
    assert new("foo", "--description", text).code == 2
    assert list(tmp_path.iterdir()) == []


def test_the_next_commands_are_printed(new: New, tmp_path: Path) -> None:
    out = new("foo").out.splitlines()
    assert out[0] == f"made {tmp_path / 'strands-tool-foo'}"
    assert [line.split()[:3] for line in out[2:]] == [
        ["python", "-m", "pip"],
        ["strands", "tools", "run"],
        ["python", "-m", "pytest"],
    ]
