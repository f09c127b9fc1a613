"""Pages in a real browser, for tests: console errors and requests are recorded."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from tests.search.story import TEST_TIMEOUT

# No sandbox, for containers run as root; no requests of the browser to its vendor.
OPTIONS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


@dataclass
class PageLog:
    """Errors on the console or thrown by a script, and the addresses of all requests, in order."""

    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


class Browser:
    """A running browser whose pages share no state."""

    def __init__(self, running: "playwright.sync_api.Browser"):  # noqa: F821
        self.running = running

    @contextmanager
    def page(self, width: int = 1280, height: int = 800, *, dark: bool = False) -> Iterator[tuple["Page", PageLog]]:  # noqa: F821
        """An empty page of `width` x `height` pixels, and its log. `dark`: the preferred colour scheme."""
        scheme = "dark" if dark else "light"
        page = self.running.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
        page.set_default_timeout(TEST_TIMEOUT * 1000)
        log = PageLog()
        page.on("console", lambda said: log.errors.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: log.errors.append(str(error)))
        page.on("request", lambda request: log.requests.append(request.url))
        try:
            yield page, log
        finally:
            page.close()


@contextmanager
def new_browser() -> Iterator[Browser]:
    """A browser for the tests of one file; they are skipped without chromium or playwright.

    Only for one file: until playwright ends, nothing else in this process can run an event loop.
    """
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("no browser: there is no `chromium` on the path")
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=list(OPTIONS))
        try:
            yield Browser(running)
        finally:
            running.close()
