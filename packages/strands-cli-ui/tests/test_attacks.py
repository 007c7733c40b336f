"""What other pages, other programs and guesses get of the local page: refusals."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest
from served import Browser, Page, Served

from strands_cli_ui.security.admission import Admission
from tests.cli.strands import Folder

pytestmark = pytest.mark.hostile
SECRETS = ("Ship", "flow", "csrf", "token=")


def _shows_nothing(page: Page) -> bool:
    return not any(secret in page.shown for secret in SECRETS)


@pytest.mark.parametrize("path", ["/", "/inbox", "/runs/last", "/events", "/runs/last/events", "/tools", "/nothing"])
def test_nothing_is_shown_without_the_cookie(browser: Browser, path: str) -> None:
    name, _, value = browser.cookie.partition("=")
    for cookie in ("", f"{name}=", f"{name}={value[:-1]}", f"{name}={value.lower()}", f"other={value}"):
        page = Browser(browser.place, cookie).get(path)
        assert page.status == 401
        assert _shows_nothing(page)


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "127.0.0.1.evil.example:{port}", "[::2]"])
def test_another_host_is_refused_also_with_the_cookie(browser: Browser, host: str) -> None:
    page = browser.get("/", Host=host.format(port=browser.place.rpartition(":")[2]))
    assert page.status == 421
    assert _shows_nothing(page)


def test_localhost_is_the_same_page(browser: Browser) -> None:
    assert browser.get("/", Host=f"LOCALHOST:{browser.place.rpartition(':')[2]}").status == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site", "nonsense"])
def test_what_another_site_asks_for_is_refused(browser: Browser, site: str) -> None:
    assert browser.get("/", Sec_Fetch_Site=site).status == 403
    assert browser.get("/", Sec_Fetch_Site="none").status == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": ""},
        {"Origin": "null"},
        {"Origin": "null", "Sec-Fetch-Site": "cross-site"},
        {"Origin": "http://evil.example"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_a_form_of_another_page_does_nothing(browser: Browser, headers: dict[str, str]) -> None:
    page = browser.post("/runs/last/cancel", {"csrf": browser.get("/inbox").csrf}, **headers)
    assert page.status == 403
    assert "waiting" in browser.get("/").shown


def test_a_form_needs_its_secret_its_type_and_a_size(browser: Browser) -> None:
    csrf = browser.get("/inbox").csrf
    assert browser.post("/runs/last/cancel", {"csrf": csrf[:-1]}).status == 403
    assert browser.post("/runs/last/cancel", {}).status == 403
    assert browser.post("/runs/last/cancel", {"csrf": csrf}, Content_Type="text/plain").status == 400
    assert browser.post("/runs/last/cancel", {"csrf": csrf, "text": "x" * 1_000_001}).status == 413
    assert browser.post("/runs/last/cancel", {"csrf": csrf, **{f"f{n}": "" for n in range(1001)}}).status == 400
    assert browser.request("PUT", "/").status == 405
    assert browser.request("HEAD", "/").status == 405
    assert browser.get("/runs/last/cancel").status == 404


def test_a_body_without_a_length_is_limited_too(browser: Browser) -> None:
    place, port = browser.place.split(":")
    head = (
        f"POST /runs/last/cancel HTTP/1.1\r\nHost: {browser.place}\r\nCookie: {browser.cookie}\r\n"
        f"Origin: http://{browser.place}\r\nContent-Type: application/x-www-form-urlencoded\r\n"
        "Transfer-Encoding: chunked\r\n\r\n"
    )
    with socket.create_connection((place, int(port)), timeout=60) as connection:
        connection.sendall(head.encode() + b"ffff\r\n" + b"x" * 0xFFFF + b"\r\n")
        for _ in range(20):
            connection.sendall(b"ffff\r\n" + b"x" * 0xFFFF + b"\r\n")
        assert connection.recv(12) == b"HTTP/1.1 413"


@pytest.mark.parametrize(
    "path",
    [
        "/../../etc/passwd",
        "/runs/..%2f..%2fetc",
        "/runs/../..",
        "/runs/%2e%2e/effects?key=x",
        "/flow.yaml",
        "/static/x",
    ],
)
def test_no_file_is_served(browser: Browser, path: str) -> None:
    page = browser.get(path)
    assert page.status == 404
    assert "root:" not in page.text


def test_every_answer_has_the_headers_that_restrict_it(browser: Browser) -> None:
    stranger = Browser(browser.place)
    for page in (browser.get("/"), browser.get("/inbox"), browser.get("/nothing"), stranger.get("/")):
        policy = page.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert page.headers["x-content-type-options"] == "nosniff"
        assert page.headers["cache-control"] == "no-store"
        assert page.headers["x-frame-options"] == "DENY"
        assert page.headers["referrer-policy"] == "no-referrer"


@pytest.fixture
def fresh(folder: Folder) -> Iterator[tuple[Served, str]]:
    """Return a page of its own, whose first address has not been used."""
    one = Served(folder)
    yield one, one.address()
    one.process.kill()
    one.end()


def test_guesses_of_the_token_lock_it_not_and_loading_ahead_uses_none(fresh: tuple[Served, str]) -> None:
    place, _, query = fresh[1].removeprefix("http://").partition("/")
    stranger = Browser(place)
    assert stranger.get(f"/{query}", Sec_Fetch_Dest="image").status == 403
    assert stranger.get(f"/{query}", Sec_Purpose="prefetch").status == 403
    assert [stranger.get(f"/?token=guess{n}").status for n in range(12)] == [403] * 12
    assert stranger.get(f"/{query}").status == 200


def test_a_token_is_taken_once_and_wrong_ones_change_nothing() -> None:
    tokens = list[str]()
    admission = Admission(tokens.append)
    admission.renew()
    assert [admission.redeem("x") for _ in range(100)] == [None] * 100
    session = admission.redeem(tokens[0])
    assert session is not None
    assert admission.session_of(session.cookie) == session
    assert admission.redeem(tokens[0]) is None
