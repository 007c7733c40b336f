"""A real `strands ui`, and browsers without JavaScript that visit it."""

from __future__ import annotations

import html
import http.client
import re
import signal
import subprocess
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlencode, urlsplit

from tests.cli.strands import SECONDS, Folder
from tests.warm import STRANDS

GATE = {"type": "hitl", "prompt": "Ship <it>?"}


@dataclass(frozen=True)
class Page:
    """One response."""

    status: int
    text: str
    headers: Mapping[str, str]

    @property
    def csrf(self) -> str:
        """The secret of its forms."""
        found = re.search(r'name="csrf" value="([^"]+)"', self.text)
        assert found, self.text
        return found[1]

    @property
    def shown(self) -> str:
        """Its main part as text."""
        main = re.search(r"<main.*?</main>", self.text, re.DOTALL)
        assert main, self.text
        return html.unescape(re.sub(r"<[^>]+>", " ", main[0]))

    @property
    def plain(self) -> str:
        """That text without what is only layout."""
        return " ".join(self.shown.split())


class Served:
    """The process; it lives until `end`."""

    def __init__(self, folder: Folder, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [STRANDS, "ui", *arguments],
            cwd=folder.work,
            env=folder.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._guard = threading.Timer(SECONDS, self.process.kill)
        self._guard.start()

    def address(self) -> str:
        """Read the next address that it prints."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def end(self, number: signal.Signals = signal.SIGINT) -> tuple[int, str]:
        """Stop it, and return its exit code and what it wrote to stderr."""
        self.process.send_signal(number)
        _, err = self.process.communicate()
        self._guard.cancel()
        return self.process.returncode, err


@dataclass
class Browser:
    """Sends requests with its cookie."""

    place: str
    cookie: str = ""
    sent: dict[str, str] = field(default_factory=dict)

    @classmethod
    def admitted(cls, address: str) -> Browser:
        """Return a browser that has opened an address."""
        browser = cls(urlsplit(address).netloc)
        page = browser.get(f"/?{urlsplit(address).query}")
        assert page.status == 200, page.text
        browser.cookie = page.headers["set-cookie"].partition(";")[0]
        return browser

    def get(self, path: str, **headers: str) -> Page:
        """Load a page."""
        return self.request("GET", path, headers=headers)

    def post(self, path: str, fields: Mapping[str, str], **headers: str) -> Page:
        """Send a form as a page of the server does."""
        own = {"Origin": f"http://{self.place}", "Content-Type": "application/x-www-form-urlencoded"}
        return self.request("POST", path, urlencode(fields).encode(), {**own, **headers})

    def request(self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] = {}) -> Page:
        """Send any request; a header with an empty value is left out."""
        connection = http.client.HTTPConnection(self.place, timeout=SECONDS)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        every = {"Cookie": self.cookie, **named}
        try:
            connection.request(method, path, body, {name: value for name, value in every.items() if value})
            response = connection.getresponse()
            text = response.read().decode("utf-8", "replace")
            return Page(response.status, text, {name.lower(): value for name, value in response.getheaders()})
        finally:
            connection.close()
