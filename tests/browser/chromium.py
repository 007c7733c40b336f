"""A real Chromium: windows of any size and colours, and what each asked for, complained about and shows."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Request

# The session `browser` says which one; without that, no test of this folder can run.
PROGRAM = os.environ.get("STRANDS_TEST_CHROMIUM", "")
# A phone, a tablet or half a screen, and a whole one: pixels.
WIDTHS = (360, 800, 1400)
HEIGHT = 900
# As much as anything in this suite may wait for; what hangs runs out of it, however busy the machine is.
MILLISECONDS = 60_000
ARGUMENTS = (
    # Shared memory is 64 MB in many containers.
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--no-proxy-server",
    # Whatever a page or the browser itself looks for, no name is found and nothing leaves this machine.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
)
# Both are what axe-core calls the two worst of four.
WORST = ("critical", "serious")


@dataclass
class Window:
    """One page in a browser with its own cookies."""

    page: Page
    # Every address that was asked for, the page's own first.
    requests: list[str] = field(default_factory=list)
    # What the console shows as an error, scripts that failed and answers of the policy of contents.
    complaints: list[str] = field(default_factory=list)
    # Those of them that a page is drawn from, and not what its script asks for afterwards.
    drawn_from: list[str] = field(default_factory=list)

    def open(self, address: str | Path) -> Window:
        """Go to an address or a file."""
        self.page.goto(address.as_uri() if isinstance(address, Path) else address)
        return self

    def forget(self) -> None:
        """Forget what the page has asked for and complained about up to here."""
        for seen in (self.requests, self.complaints, self.drawn_from):
            seen.clear()

    def unfold(self) -> None:
        """Open everything that is folded."""
        self.page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")

    def beyond(self) -> int:
        """Return how many pixels the page is wider than the window, so that one must scroll sideways."""
        return int(self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))

    def barriers(self) -> list[str]:
        """Return what axe-core finds serious or critical for people who cannot see or point, each with its place."""
        self.page.evaluate(resources.files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8"))
        found = self.page.evaluate("axe.run(document, {resultTypes: ['violations']}).then(r => r.violations)")
        return [_barrier(each) for each in found if each["impact"] in WORST]

    def focused(self) -> str:
        """Return the words of what the keyboard is at."""
        return str(self.page.evaluate("(document.activeElement || document.body).innerText")).strip()


def _barrier(found: dict[str, Any]) -> str:
    nodes = "; ".join(node["html"][:200] for node in found["nodes"][:3])
    return f"{found['impact']} {found['id']}: {found['help']}: {nodes}"


@dataclass(frozen=True)
class Chromium:
    """A browser that runs, from which windows are opened."""

    browser: Browser

    @contextlib.contextmanager
    def window(
        self, width: int = WIDTHS[1], *, dark: bool = False, javascript: bool = True, height: int = HEIGHT
    ) -> Iterator[Window]:
        """Open a window with cookies of its own, and close it at the end."""
        context = self.browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            java_script_enabled=javascript,
            reduced_motion="reduce",
        )
        context.set_default_timeout(MILLISECONDS)
        try:
            yield watched(context.new_page())
        finally:
            context.close()


def watched(page: Page) -> Window:
    """Return the page with what it does from here on."""
    window = Window(page)
    page.on("request", lambda request: _note(window, request))
    page.on("console", lambda message: window.complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: window.complaints.append(str(error)))
    return window


def _note(window: Window, request: Request) -> None:
    window.requests.append(request.url)
    if request.resource_type not in ("eventsource", "fetch"):
        window.drawn_from.append(request.url)


@contextlib.contextmanager
def running() -> Iterator[Chromium]:
    """Start the browser, with a home of its own, and end it."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as home, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=PROGRAM,
            args=list(ARGUMENTS),
            env={**os.environ, "HOME": home, "XDG_CONFIG_HOME": home, "XDG_CACHE_HOME": home},
            timeout=2 * MILLISECONDS,
        )
        try:
            yield Chromium(browser)
        finally:
            browser.close()
