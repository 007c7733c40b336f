"""Which release a name means: the first index that has it, its newest version that fits, and no lying files."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from index_kit import built, of_folder, release, serving, write_index

from strands_cli.api import Denied, InvalidInput, NotEquipped, PluginInstaller, StrandsCliError
from strands_cli_index.installing.from_index import fetch_target, release_for
from strands_cli_index.reading.index_places import IndexLocation
from strands_cli_index.reading.releases import choose_file, find_release
from tests.distributions.wheels import tool_wheel

# They make wheels, indexes or keys.
pytestmark = pytest.mark.wheels


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


def version(specifier: str, *places: IndexLocation, name: str = "strands-tool-shout") -> str | None:
    found = find_release(name, specifier, places)
    return found.version if found else None


def test_the_newest_version_that_fits_is_chosen_and_one_before_a_release_only_alone(tmp_path: Path) -> None:
    versions = ("1.9", "1.10", "2.0rc1", "1.0")
    place = write_index(tmp_path / "a", *(release("strands-tool-shout", one) for one in versions))
    assert version("", place) == version("<2", place) == "1.10"
    assert version("<1.10", place) == "1.9"
    assert version("==2.0rc1", place) == "2.0rc1"
    assert version("", place, name="Strands_Tool.Shout") == "1.10"
    with pytest.raises(InvalidInput) as raised:
        version(">3", place)
    assert raised.value.findings[0].code == "index-lacks"
    assert (raised.value.findings[0].fix or "").endswith(": 2.0rc1, 1.10, 1.9, 1.0")


def test_the_first_index_with_the_name_decides_whatever_version_others_have(tmp_path: Path) -> None:
    ours = write_index(tmp_path / "ours", release("strands-tool-shout", "1.0"))
    theirs = write_index(tmp_path / "theirs", release("strands-tool-shout", "99.0"), release("strands-tool-more"))
    assert version("", ours, theirs) == "1.0"
    assert version("", theirs, ours) == "99.0"
    assert version("", ours, theirs, name="strands-tool-more") == "1.0"
    with pytest.raises(InvalidInput):
        version(">1", ours, theirs)


def test_the_index_of_pip_is_asked_only_where_it_is_named(tmp_path: Path) -> None:
    ours = write_index(tmp_path / "ours", release("strands-tool-shout"))
    assert version("", ours, IndexLocation()) == "1.0"
    assert version("", ours, IndexLocation(), name="strands-tool-other") is None
    assert version("", IndexLocation(), ours) is None
    with pytest.raises(InvalidInput) as raised:
        version("", ours, name="strands-tool-shoot")
    assert raised.value.findings[0].fix == "did you mean 'strands-tool-shout'?"
    with pytest.raises(NotEquipped):
        version("", IndexLocation(folder=tmp_path / "gone"), ours)


def test_indexes_that_contradict_each_other_are_refused(tmp_path: Path) -> None:
    def by(repository: str) -> dict[str, Any]:
        return {"status": "verified", "kind": "github", "repository": repository, "workflow": None}

    one = write_index(tmp_path / "one", release("strands-tool-shout", publisher=by("acme/shout")))
    same = write_index(tmp_path / "same", release("strands-tool-shout"))
    other_bytes = write_index(tmp_path / "bytes", release("strands-tool-shout", content=b"other"))
    other_person = write_index(tmp_path / "person", release("strands-tool-shout", "2.0", publisher=by("evil/shout")))
    assert version("", one, same) == "1.0"
    for other in (other_bytes, other_person):
        with pytest.raises(Denied) as raised:
            version("", one, other)
        assert raised.value.findings[0].code == "index-conflict"
        assert str(other) in raised.value.message


def test_a_publisher_that_is_not_verified_is_none(tmp_path: Path) -> None:
    stated = {"status": "unverified", "kind": "github", "repository": "acme/shout", "workflow": None}
    found = find_release(
        "strands-tool-shout", "", [write_index(tmp_path, release("strands-tool-shout", publisher=stated))]
    )
    assert found is not None
    assert found.publisher is None


FILE = "strands_tool_shout-1.0-py3-none-any.whl"
SOUND = {"file": FILE, "sha256": "0" * 64, "size": 1}
LYING: dict[str, dict[str, Any]] = {
    "another name": {"files": [{**SOUND, "file": "evil-1.0-py3-none-any.whl"}]},
    "another version": {"files": [{**SOUND, "file": "strands_tool_shout-2.0-py3-none-any.whl"}]},
    "a path": {"files": [{**SOUND, "file": f"../{FILE}"}]},
    "an address": {"files": [{**SOUND, "file": f"https://evil.example/{FILE}"}]},
    "an archive": {"files": [{**SOUND, "file": "strands_tool_shout-1.0.tar.gz"}]},
    "no digest": {"files": [{**SOUND, "sha256": ""}]},
    "short digest": {"files": [{**SOUND, "sha256": "0" * 32}]},
    "size as text": {"files": [{**SOUND, "size": "1"}]},
    "3 GB": {"files": [{**SOUND, "size": 3_000_000_000}]},
    "provenance elsewhere": {"files": [{**SOUND, "provenance": "../../secret"}]},
    "no files": {"files": []},
    "files of another kind": {"files": "all"},
    "version of another kind": {"version": 1},
    "name of another kind": {"name": "Strands Tool"},
    "python of another kind": {"requires_python": 3},
}


@pytest.mark.parametrize("kind", LYING)
def test_a_release_that_lies_is_refused_at_its_place(kind: str, tmp_path: Path) -> None:
    place = write_index(tmp_path, {**release("strands-tool-shout"), **LYING[kind]})
    with pytest.raises(InvalidInput) as raised:
        version("", place)
    (finding,) = raised.value.findings
    assert finding.code == "bad-index"
    assert finding.where is not None
    assert finding.where.pointer.startswith("/releases/0")


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"kind":"strands-plugin-index","format":1,"releases":{}}', "[" * 99_999]
)
def test_what_is_not_an_index_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "index.json").write_text(text)
    with pytest.raises(InvalidInput) as raised:
        version("", IndexLocation(folder=tmp_path))
    assert raised.value.findings[0].code == "bad-index"


def test_a_later_format_is_refused_as_such(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as raised:
        version("", write_index(tmp_path, format=2))
    assert raised.value.findings[0].code == "index-version"


def test_the_wheel_for_this_machine_is_chosen(tmp_path: Path) -> None:
    files = [{**SOUND, "file": f"strands_tool_shout-1.0-{tags}.whl"} for tags in ("cp27-cp27m-win32", "py3-none-any")]
    found = find_release("strands-tool-shout", "", [write_index(tmp_path, release("strands-tool-shout", files=files))])
    assert found is not None
    assert choose_file(found).name == FILE
    for fields in ({"files": files[:1]}, {"requires_python": ">=4"}):
        place = write_index(tmp_path / "other", release("strands-tool-shout", **fields))
        other = find_release("strands-tool-shout", "", [place])
        assert other is not None
        with pytest.raises(NotEquipped):
            choose_file(other)


@pytest.fixture
def site(tmp_path: Path) -> Path:
    folder = tmp_path / "wheels"
    folder.mkdir()
    tool_wheel(folder, "shout")
    built(folder, tmp_path / "site")
    return tmp_path / "site"


def fetched_from(place: str, folder: Path) -> Any:
    installer = PluginInstaller("strands-tool-shout")
    found = release_for(installer, [place])
    folder.mkdir()
    return fetch_target(installer, found, folder, lambda _: False)


def test_the_wheel_that_the_index_states_is_fetched_from_a_folder_and_a_server(site: Path, tmp_path: Path) -> None:
    of_a_folder = fetched_from(str(site), tmp_path / "one")
    with serving(of_folder(site)) as server:
        of_a_server = fetched_from(server.url, tmp_path / "two")
        assert of_a_server.plugin_index == server.url
    (wheel,) = (site / "wheels").iterdir()
    assert of_a_folder.hashes == of_a_server.hashes == (f"sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}",)
    assert (of_a_folder.name, of_a_folder.is_indexed) == ("strands-tool-shout", True)


def test_a_wheel_with_other_bytes_is_not_opened(site: Path, tmp_path: Path) -> None:
    (wheel,) = (site / "wheels").iterdir()
    wheel.write_bytes(wheel.read_bytes()[:-1] + b"x")
    with pytest.raises(Denied) as raised:
        fetched_from(str(site), tmp_path / "one")
    assert raised.value.findings[0].code == "index-untrue"
    with serving(of_folder(site)) as server, pytest.raises(Denied):
        fetched_from(server.url, tmp_path / "two")
    assert not list(tmp_path.glob("*/tree/*"))


def test_a_wheel_that_is_another_version_than_stated_is_refused(site: Path, tmp_path: Path) -> None:
    index = site / "index.json"
    document = json.loads(index.read_text())
    (wheel,) = (site / "wheels").iterdir()
    wheel.rename(wheel.with_name("strands_tool_shout-9.0-py3-none-any.whl"))
    document["releases"][0] |= {"version": "9.0"}
    document["releases"][0]["files"][0]["file"] = "strands_tool_shout-9.0-py3-none-any.whl"
    index.write_text(json.dumps(document))
    with pytest.raises(Denied) as raised:
        fetched_from(str(site), tmp_path / "one")
    assert raised.value.findings[0].code == "index-untrue"


def test_a_wheel_that_is_larger_than_stated_is_not_read_to_its_end(site: Path, tmp_path: Path) -> None:
    (wheel,) = (site / "wheels").iterdir()
    with wheel.open("ab") as stream:
        stream.write(bytes(5_000_000))
    with serving(of_folder(site)) as server, pytest.raises(StrandsCliError) as raised:
        fetched_from(server.url, tmp_path / "one")
    assert raised.value.findings[0].code == "bad-index"
