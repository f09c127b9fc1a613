"""A page in a real browser, for tests: what it says on its console and what it asks for is written down."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

# No sandbox, for containers run as root; nothing that a browser would ask of its maker.
OPTIONS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


@dataclass
class Seen:
    """Errors on the console or thrown by a script, and the addresses of all requests, in order."""

    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


@contextmanager
def browser_page(width: int = 1280, height: int = 800, dark: bool = False) -> Iterator[tuple["Page", Seen]]:  # noqa: F821
    """An empty page of a new browser, of `width` x `height` pixels, and what is seen of it.

    `dark` is what the person prefers. The test is skipped where there is no chromium, or no playwright to drive it.
    """
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("no browser: there is no `chromium` on the path")
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(OPTIONS))
        try:
            scheme = "dark" if dark else "light"
            page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
            seen = Seen()
            page.on("console", lambda said: seen.errors.append(said.text) if said.type == "error" else None)
            page.on("pageerror", lambda error: seen.errors.append(str(error)))
            page.on("request", lambda request: seen.requests.append(request.url))
            yield page, seen
        finally:
            browser.close()
