"""What was typed is a name, a wheel or a project, or it is refused: never an option or an address for the installer."""

from __future__ import annotations

from pathlib import Path

import pytest

from strands_cli.errors import UsageError
from strands_cli.plugins.installer import parse_install_target
from tests.wordings import Wording


@pytest.mark.parametrize(
    ("typed", "requirement"),
    [
        ("strands-tool-foo", "strands-tool-foo"),
        ("Strands.Tool_Foo==1.2", "Strands.Tool_Foo==1.2"),
        ("foo[b,a] >= 1, <2", "foo[a,b]<2,>=1"),
        ("foo~=1.0", "foo~=1.0"),
    ],
)
def test_a_name_with_extras_and_a_version_is_read(typed: str, requirement: str) -> None:
    assert parse_install_target(typed).requirement == requirement


@pytest.mark.parametrize(
    "typed",
    [
        "",
        "-rrequirements.txt",
        "--index-url=http://127.0.0.1/",
        "-e.",
        "git+https://127.0.0.1/x",
        "http://127.0.0.1/a.whl",
        "foo @ file:///tmp/x.whl",
        "foo@file:///x",
        "foo; python_version > '3'",
        "foo bar",
        "foo\n--pre",
        "foo==1 --pre",
        "foo\x00",
        "foo[",
        "==1",
        "file:x.whl",
        "foo==",
        "name.whl",
        "./nowhere",
        "a\\b",
    ],
)
def test_anything_else_is_refused(typed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError):
        parse_install_target(typed)


def test_a_folder_that_happens_to_have_the_name_is_not_meant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wording: Wording
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "foo").mkdir()
    (tmp_path / "foo" / "pyproject.toml").write_text("")
    assert parse_install_target("foo").path is None
    assert parse_install_target("./foo").path == (tmp_path / "foo").resolve()
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError) as raised:
        parse_install_target("./empty")
    wording(raised.value)
    (tmp_path / "text.txt").write_text("")
    with pytest.raises(UsageError) as refused:
        parse_install_target("./text.txt")
    wording(refused.value)


@pytest.mark.parametrize("typed", ["git+https://127.0.0.1/x", "foo @ file:///tmp/x.whl", "http://127.0.0.1/a.whl"])
def test_an_address_is_refused_as_such(typed: str, wording: Wording) -> None:
    with pytest.raises(UsageError) as raised:
        parse_install_target(typed)
    wording(raised.value)
