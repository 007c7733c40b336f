"""An index on a web server: copies by their tags, servers that misbehave, and no server at all."""

from __future__ import annotations

import gc
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from index_kit import Answer, of_folder, serving, write_searched

from strands_cli.api import InvalidInput, NotEquipped, StrandsCliError
from strands_cli_index.reading import web_server
from strands_cli_index.reading.index_copies import read_part
from strands_cli_index.reading.index_places import IndexLocation
from strands_cli_index.reading.site_files import MAX_BYTES, SEARCHED
from strands_cli_index.reading.web_server import download
from tests.wordings import Wording

# They make wheels, indexes or keys.
pytestmark = pytest.mark.wheels


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


def test_a_file_is_sent_once_and_then_only_if_it_has_changed(tmp_path: Path) -> None:
    site = write_searched(tmp_path / "site", {"name": "a"})
    with serving(of_folder(site)) as server:
        place = IndexLocation(url=server.url)
        first = read_part(place, SEARCHED)
        plain = server.answer

        def unchanged(path: str) -> Answer:
            status, headers, body = plain(path)
            same = server.asked[-1][1].get("If-None-Match") == headers.get("ETag")
            return (304, {"ETag": headers["ETag"]}, b"") if same else (status, headers, body)

        server.answer = unchanged
        assert read_part(place, SEARCHED) == first
        write_searched(site, {"name": "a"}, {"name": "b"})
        assert b'"b"' in read_part(place, SEARCHED).raw
        assert [bool(headers.get("If-None-Match")) for _, headers in server.asked] == [False, True, True]
    assert b'"b"' in read_part(place, SEARCHED).raw


def test_without_a_server_the_copy_is_used_with_a_remark(tmp_path: Path, wording: Wording) -> None:
    site = write_searched(tmp_path / "site", {"name": "a"})
    with serving(of_folder(site)) as server:
        place = IndexLocation(url=server.url)
        first = read_part(place, SEARCHED)
    again = read_part(place, SEARCHED)
    assert again.raw == first.raw
    wording(again.remark)
    with pytest.raises(NotEquipped) as raised:
        read_part(IndexLocation(url=f"{server.url}other/"), SEARCHED)
    assert raised.value.findings[0].code == "index-unreachable"


def test_the_page_of_a_proxy_does_not_replace_the_copy(tmp_path: Path) -> None:
    site = write_searched(tmp_path / "site", {"name": "a"})
    with serving(of_folder(site)) as server:
        place = IndexLocation(url=server.url)
        first = read_part(place, SEARCHED)
        server.answer = lambda path: (200, {"ETag": '"login"'}, b"<html>Log in.</html>")
        assert read_part(place, SEARCHED).raw == b"<html>Log in.</html>"
    assert read_part(place, SEARCHED).raw == first.raw


def test_a_damaged_copy_is_as_good_as_none(tmp_path: Path) -> None:
    site = write_searched(tmp_path / "site", {"name": "a"})
    with serving(of_folder(site)) as server:
        place = IndexLocation(url=server.url)
        read_part(place, SEARCHED)
        (copy,) = tmp_path.glob("cache/**/search.jsonl")
        assert copy.stat().st_mode & 0o077 == 0
        copy.write_bytes(b"[1]\nx")
        assert b'"a"' in read_part(place, SEARCHED).raw
        assert "If-None-Match" not in server.asked[-1][1]


BAD: dict[str, Answer] = {
    "missing": (404, {}, b""),
    "asks for a password": (401, {"WWW-Authenticate": "Basic"}, b""),
    "broken": (500, {}, b"<html>"),
    "another server": (302, {"Location": "http://127.0.0.2:9/search.jsonl"}, b""),
    "a file of this machine": (302, {"Location": "file:///etc/passwd"}, b""),
    "in a circle": (302, {"Location": "/search.jsonl"}, b""),
    "says 100 MB": (200, {"Content-Length": str(100_000_000)}, b""),
    "cut off": (200, {"Content-Length": "1000"}, b"short"),
    "never sent": (304, {}, b""),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_server_that_misbehaves_is_a_finding(kind: str, wording: Wording) -> None:
    with serving(lambda _: BAD[kind]) as server, pytest.raises(StrandsCliError) as raised:
        read_part(IndexLocation(url=server.url), SEARCHED)
    (finding,) = raised.value.findings
    assert finding.code == ("bad-index" if kind in ("says 100 MB", "never sent") else "index-unreachable")
    wording(finding.message)
    del raised, finding
    gc.collect()  # a connection that was left open is a warning, and so an error


def test_a_file_without_an_end_is_read_to_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(lambda _: (200, {}, bytes(MAX_BYTES + 1))) as server, pytest.raises(InvalidInput) as raised:
        read_part(IndexLocation(url=server.url), SEARCHED)
    assert raised.value.findings[0].code == "bad-index"


@pytest.fixture
def silent() -> Iterator[str]:
    """Return the address of a server that takes requests and answers none."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        taken: list[socket.socket] = []
        ended = threading.Event()

        def take() -> None:
            listening.settimeout(0.05)
            while not ended.is_set():
                try:
                    taken.append(listening.accept()[0])
                    taken[-1].sendall(b"HTTP/1.1 200 OK\r\n")
                except TimeoutError:
                    continue

        thread = threading.Thread(target=take, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/"
        ended.set()
        thread.join()
        for one in taken:
            one.close()


def test_a_server_that_never_answers_is_given_up(silent: str) -> None:
    with pytest.raises(NotEquipped) as raised:
        web_server.fetch(silent, 100, seconds=0.3)
    assert raised.value.findings[0].code == "index-unreachable"


def test_the_password_of_a_server_is_in_netrc(tmp_path: Path) -> None:
    site = write_searched(tmp_path / "site", {"name": "a"})
    netrc = tmp_path / "home" / ".netrc"
    netrc.parent.mkdir()
    netrc.write_text("machine 127.0.0.1 login me password correct-horse\n")
    netrc.chmod(0o600)
    with serving(of_folder(site)) as server:
        read_part(IndexLocation(url=server.url), SEARCHED)
        assert server.asked[0][1]["Authorization"] == "Basic bWU6Y29ycmVjdC1ob3JzZQ=="


def test_a_download_has_a_limit_and_a_digest(tmp_path: Path) -> None:
    with serving(lambda _: (200, {}, b"12345")) as server:
        digest = download(f"{server.url}x.whl", tmp_path / "x.whl", 5)
        assert digest == "5994471abb01112afcc18159f6cc74b4f511b99806da59b3caf5a9c173cacfc5"
        with pytest.raises(InvalidInput):
            download(f"{server.url}x.whl", tmp_path / "y.whl", 4)
