"""Which texts are indexes, on a command line and in the config file, and which are refused at their place."""

from __future__ import annotations

from pathlib import Path

import pytest

from strands_cli.api import ConfigPart, InvalidInput, UsageError
from strands_cli_index.reading.index_places import IndexLocation, configured_locations, parse_location, parse_locations
from tests.wordings import Wording

# They make wheels, indexes or keys.
pytestmark = pytest.mark.wheels

GOOD = {
    "https://tools.example.org/strands": "https://tools.example.org/strands/",
    "https://tools.example.org/strands/": "https://tools.example.org/strands/",
    "http://localhost:8080": "http://localhost:8080/",
    "http://127.0.0.1:8080/x": "http://127.0.0.1:8080/x/",
    "http://[::1]:8080/": "http://[::1]:8080/",
}
BAD = [
    "",
    "  ",
    "-o",
    "a\nb",
    "http://tools.example.org/",
    "ftp://tools.example.org/",
    "file:///etc/",
    "https://",
    "https:///path",
    "https://me:secret-word@tools.example.org/",
    "https://me@tools.example.org/",
    "https://tools.example.org/?x=1",
    "https://tools.example.org/#x",
    "https://tools.example.org:99999/",
    "https://tools.exämple.org/",
    "https://tools.example.org/a b",
]


@pytest.mark.parametrize("text", GOOD)
def test_an_address_ends_with_a_slash(text: str) -> None:
    assert parse_location(text) == IndexLocation(url=GOOD[text])


@pytest.mark.parametrize("text", BAD)
def test_what_is_not_an_index_is_refused_without_its_password(text: str, wording: Wording) -> None:
    with pytest.raises(UsageError) as raised:
        parse_location(text)
    wording(raised.value)
    assert "secret-word" not in f"{raised.value} {raised.value.fix}"


def test_folders_are_absolute_and_the_same_index_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert parse_locations(["site", "./site/", str(tmp_path / "site")]) == (IndexLocation(folder=tmp_path / "site"),)
    assert parse_location("~/site").folder == tmp_path / "home" / "site"
    assert parse_location("pip") == IndexLocation()
    assert parse_location("./pip").folder == tmp_path / "pip"
    with pytest.raises(UsageError):
        parse_locations(f"site{number}" for number in range(21))


def written(folder: Path, text: str) -> Path:
    path = folder / "config.yaml"
    path.write_text(f"version: 1\n{text}\n", encoding="utf-8")
    return path


def test_indexes_of_the_config_file_are_read_in_their_order(tmp_path: Path) -> None:
    assert configured_locations(None) == configured_locations(tmp_path / "config.yaml") == ()
    assert configured_locations(written(tmp_path, "notify: []")) == ()
    path = written(tmp_path, "indexes: [../site, https://tools.example.org/x, ../site, pip]")
    url = IndexLocation(url="https://tools.example.org/x/")
    assert configured_locations(path) == (IndexLocation(folder=tmp_path.parent / "site"), url, IndexLocation())
    assert configured_locations(written(tmp_path, "indexes: https://tools.example.org/x")) == (url,)


MISTAKES = {
    "indexs: []": ["/indexs"],
    "indexes: [1, {url: x}]": ["/indexes/0", "/indexes/1"],
    "indexes: [http://tools.example.org/]": ["/indexes/0"],
    "indexes: {a: b}": ["/indexes"],
    "indexes: [https://me:secret-word@tools.example.org/]": ["/indexes/0"],
    f"indexes: [{', '.join(f'a{number}' for number in range(21))}]": ["/indexes/20"],
}


@pytest.mark.parametrize("text", MISTAKES)
def test_a_mistake_in_the_config_file_is_reported_at_its_place(text: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as raised:
        configured_locations(written(tmp_path, text))
    assert [finding.where.pointer for finding in raised.value.findings if finding.where] == MISTAKES[text]
    assert {finding.code for finding in raised.value.findings} == {"bad-config"}
    assert "secret-word" not in "".join(map(str, raised.value.findings))


def test_each_part_of_the_config_file_is_read_by_itself(tmp_path: Path) -> None:
    path = written(tmp_path, "notify: {command: [tell]}\nindexes: [../site]")
    notify = ConfigPart.read("notify", "notifications", path)
    assert notify is not None
    assert (notify.value, notify.findings, len(configured_locations(path))) == ({"command": ["tell"]}, [], 1)


def test_a_config_file_that_others_can_change_names_no_index(tmp_path: Path) -> None:
    path = written(tmp_path, "indexes: [../site]")
    path.chmod(0o666)
    with pytest.raises(InvalidInput) as raised:
        configured_locations(path)
    assert [finding.code for finding in raised.value.findings] == ["unsafe-config-file"]
