"""Headless Chromium for tests, where there is one."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
)
ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
WIDTHS = {"desktop": (1280, 900), "phone": (390, 844)}

TOO_WIDE = """() => {
    const right = (node) => node.getBoundingClientRect().right;
    return [...document.querySelectorAll('table, .plot .main-svg, svg.robot')]
        .filter((node) => right(node) > right(node.closest('.scroll, section, header')) + 1)
        .map((node) => `${node.className.baseVal ?? node.className} in ${node.closest('section')?.id ?? 'header'}`);
}"""
"""Tables and figures that do not fit their boxes."""

needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on the path")


@dataclass
class Watched:
    """A page, with everything that it should not do.

    Attributes:
        page: Playwright's page.
        errors: What the console and scripts complained about.
        requests: What was asked of a network.
    """

    page: Any
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


@contextmanager
def opened(path: Path, width: str = "desktop") -> Iterator[Watched]:
    """Open a file in Chromium and watch it."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        size = WIDTHS[width]
        watched = Watched(browser.new_page(viewport={"width": size[0], "height": size[1]}))
        watched.page.on("console", lambda m: watched.errors.append(m.text) if m.type in ("error", "warning") else None)
        watched.page.on("pageerror", lambda error: watched.errors.append(str(error)))
        watched.page.on("dialog", lambda dialog: (watched.errors.append(dialog.message), dialog.dismiss()))
        watched.page.on(
            "request",
            lambda r: None if r.url.startswith(("file:", "data:", "blob:")) else watched.requests.append(r.url),
        )
        watched.page.goto(path.resolve().as_uri())
        try:
            yield watched
        finally:
            browser.close()


def draw_all(page: Any) -> None:
    """Draw every figure, as printing does, and wait for them."""
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    page.wait_for_function("[...document.querySelectorAll('.plot')].every((p) => p.querySelector('.main-svg'))")
