from __future__ import annotations

import sys
from pathlib import Path

import pytest

from strands_cli.config import read_settings, user_data_dir
from strands_cli.errors import ExitCode, UsageError


def test_an_explicit_place_wins_over_the_environment_and_that_over_the_data_directory(tmp_path: Path) -> None:
    environ = {"STRANDS_RUNS_DIR": "/from/env", "XDG_DATA_HOME": str(tmp_path), "LOCALAPPDATA": str(tmp_path)}
    assert read_settings(environ, runs_dir=tmp_path / "chosen").runs_dir == tmp_path / "chosen"
    assert read_settings(environ).runs_dir == Path("/from/env").absolute()
    assert read_settings({**environ, "STRANDS_RUNS_DIR": ""}).runs_dir == user_data_dir(environ) / "runs"


def test_a_relative_place_is_made_absolute_so_that_a_tool_cannot_move_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert read_settings({"STRANDS_RUNS_DIR": "here"}).runs_dir == tmp_path / "here"


@pytest.mark.parametrize(
    ("platform", "expected"),
    [
        ("linux", "/xdg/strands-cli"),
        ("darwin", "/home/ada/Library/Application Support/strands-cli"),
        ("win32", "/local/strands-cli"),
    ],
)
def test_the_data_directory_is_the_platforms_own(platform: str, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(Path, "home", lambda: Path("/home/ada"))
    assert user_data_dir({"XDG_DATA_HOME": "/xdg", "LOCALAPPDATA": "/local"}) == Path(expected)


@pytest.mark.parametrize("value", ["", "relative/data"])
def test_a_relative_xdg_directory_is_ignored_as_its_specification_says(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(Path, "home", lambda: Path("/home/ada"))
    assert user_data_dir({"XDG_DATA_HOME": value}) == Path("/home/ada/.local/share/strands-cli")


def test_without_a_home_the_error_says_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(Path, "home", homeless)
    with pytest.raises(UsageError) as raised:
        read_settings({})
    assert raised.value.exit_code == ExitCode.USAGE
    assert "STRANDS_RUNS_DIR" in str(raised.value.fix)
    assert read_settings({"STRANDS_RUNS_DIR": "/runs"}).runs_dir == Path("/runs").absolute()


def test_the_allowlist_is_read_word_by_word() -> None:
    environ = {"STRANDS_RUNS_DIR": "r", "STRANDS_CUSTOM_TOOL_ALLOWLIST": " a.b:c , ,d.* "}
    assert read_settings(environ).custom_tools == ("a.b:c", "d.*")
    assert read_settings({"STRANDS_RUNS_DIR": "r"}).custom_tools == ()


@pytest.mark.parametrize(
    ("platform", "managed", "user"),
    [
        ("linux", "/etc/strands/policy.yaml", "/xdg/strands-cli/policy.yaml"),
        (
            "darwin",
            "/Library/Application Support/strands-cli/policy.yaml",
            "/home/ada/Library/Application Support/strands-cli/policy.yaml",
        ),
        ("win32", "C:\\ProgramData/strands/policy.yaml", "/roaming/strands-cli/policy.yaml"),
    ],
)
def test_policy_is_where_the_platform_keeps_such_files_and_the_managed_one_cannot_be_moved(
    platform: str, managed: str, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(Path, "home", lambda: Path("/home/ada"))
    monkeypatch.setenv("ProgramData", "/elsewhere")
    environ = {"XDG_CONFIG_HOME": "/xdg", "APPDATA": "/roaming", "ProgramData": "/elsewhere", "STRANDS_RUNS_DIR": "r"}
    found = read_settings(environ)
    assert (found.managed_policy, found.user_policy) == (Path(managed), Path(user))


def test_without_a_home_there_is_no_policy_of_the_user_and_the_managed_one_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(Path, "home", homeless)
    found = read_settings({"STRANDS_RUNS_DIR": "r", "XDG_CONFIG_HOME": "relative"})
    assert found.user_policy is None
    assert found.managed_policy == Path("/etc/strands/policy.yaml")
