"""The pictures of the documentation: `dynid demo --out demo; python scripts/pictures.py demo` rewrites docs/images.

Screenshots in headless Chromium of what `dynid demo` wrote: the parts of the report that a reader recognises at a
glance (heading, verdict, one joint's torques, a link against the robot file), the limits of the exciting trajectory,
the space that it sweeps, the external torques of contacts that are put into its held-out log, and the viewer. Colours
are reduced to a palette, so that pictures stay small. Needs Playwright, Pillow, viser and Chromium.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

IMAGES = Path(__file__).parents[1] / "docs" / "images"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = ["--no-sandbox", "--enable-unsafe-swiftshader", "--use-angle=swiftshader", "--ignore-gpu-blocklist"]
WIDTH = 1040
"""Width of pages [px]."""
COLOURS = 160
"""Colours of a picture."""
PORT = 8097
REPORT = """
nav, footer, .sub, .modebar, .hint, .missing { display: none !important }
section, #verdict h3, #verdict table, #torques .scroll, #links .content > p { display: none !important }
#verdict, #torques, #links { display: block !important; border: 0; padding-top: 0 !important }
#torques .block:not(:nth-of-type(5)), #links figure:nth-of-type(n + 3) { display: none }
#links tbody:not(:nth-of-type(3)) { display: none }
.columns { display: block } header { padding-bottom: 0; border: 0 } main { max-width: none }
"""
EXCITATION = """
nav, footer, .modebar, .hint, section h2, .space, .space + h3 { display: none !important }
.columns, main { display: block; max-width: none } header { padding-bottom: 0; border: 0 }
"""
SWEPT = """
nav, footer, header, .modebar, .hint, section h2, section > :not(.space), #expected { display: none !important }
.columns, main { display: block; max-width: none }
"""
CONTACTS = """
nav, footer, .sub, .modebar, .hint, .findings, #load, #thresholds, section h2 { display: none !important }
.columns, main { display: block; max-width: none }
"""
DRAWN = "[...document.querySelectorAll('.plot')].every((p) => p.querySelector('.main-svg'))"


def report(page: Any, demo: Path) -> None:
    """The report."""
    page.goto((demo / "report.html").resolve().as_uri())
    page.add_style_tag(content=REPORT)
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    page.wait_for_function(DRAWN)
    page.evaluate("window.dispatchEvent(new Event('resize'))")


def excitation(page: Any, demo: Path) -> None:
    """The exciting trajectory against its limits."""
    page.set_viewport_size({"width": WIDTH, "height": 690})  # title and the first joint
    page.goto((demo / "training" / "limits.html").resolve().as_uri())
    page.add_style_tag(content=EXCITATION)
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    page.evaluate("window.dispatchEvent(new Event('resize'))")
    page.wait_for_function(DRAWN)


def swept(page: Any, demo: Path) -> None:
    """The space that the robot sweeps, and its distances."""
    page.set_viewport_size({"width": WIDTH, "height": 960})
    page.goto((demo / "training" / "limits.html").resolve().as_uri())
    page.add_style_tag(content=SWEPT)
    page.evaluate("window.dispatchEvent(new Event('resize'))")
    page.wait_for_selector("#plot-trajectory-1-clearance .main-svg")


def contacts(page: Any, demo: Path) -> None:
    """Two contacts, of 0.3 s and 0.7 s, in the held-out log."""
    import dynid

    result = dynid.load_result(demo / "result")
    log = dynid.read_log(demo / "validation.csv", result.robot)
    torque, since = log.torque.copy(), log.time - log.time[0]
    for begin, end, pushed in ((3.0, 3.3, (0.0, 6.0, 3.0)), (6.4, 7.1, (-5.0, 4.0, 1.0))):
        torque[(since >= begin) & (since < end), :3] -= pushed
    seen = result.observe(replace(log, torque=torque, name="validation.csv"), false_alarms_per_minute=5.0)
    seen.report(demo / "contacts.html", overwrite=True)
    page.set_viewport_size({"width": WIDTH, "height": 940})
    style = f"const s = document.createElement('style'); s.textContent = `{CONTACTS}`; document.head.append(s)"
    ready = f"document.addEventListener('DOMContentLoaded', () => {{ {style} }})"
    page.add_init_script(ready)  # before figures take their widths
    page.goto((demo / "contacts.html").resolve().as_uri())
    page.wait_for_selector(".plot .main-svg")


def viewer(page: Any, _demo: Path) -> None:
    """The robot in 3D."""
    page.set_viewport_size({"width": WIDTH, "height": 620})
    page.goto(f"http://localhost:{PORT}")
    page.wait_for_selector("canvas")
    page.wait_for_timeout(6000)  # the scene arrives over a socket, and is drawn by the processor
    page.add_style_tag(content=".mantine-Notification-root { display: none !important }")
    page.mouse.move(WIDTH // 2, 380)
    for _ in range(6):
        page.mouse.wheel(0, -240)
        page.wait_for_timeout(300)
    page.wait_for_timeout(3000)


PICTURES: dict[str, tuple[Callable[[Any, Path], None], bool]] = {
    "report": (report, True),
    "excitation": (excitation, False),
    "swept": (swept, True),
    "contacts": (contacts, False),
    "viewer": (viewer, False),
}
"""Pictures by name: what opens the page, and whether all of it is shown."""


def shrink(path: Path) -> None:
    """Reduce the colours of a picture."""
    from PIL import Image

    with Image.open(path) as picture:
        reduced = picture.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    reduced.save(path, optimize=True)


def main() -> None:
    """Take all pictures, or those that are named after the folder."""
    from playwright.sync_api import sync_playwright

    demo, names = Path(sys.argv[1]), sys.argv[2:] or list(PICTURES)
    browser_path = next(found for name in BROWSERS if (found := shutil.which(name)))
    command = [sys.executable, "-m", "dynid.cli", "view", str(demo / "training" / "trajectory.csv"), "--robot"]
    served = subprocess.Popen([*command, "builtin:ur5", "--port", str(PORT)])
    try:
        time.sleep(10.0)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=browser_path, args=ARGUMENTS)
            for name in names:
                page = browser.new_page(viewport={"width": WIDTH, "height": 800})
                show, whole = PICTURES[name]
                show(page, demo)
                page.wait_for_timeout(1000)
                page.screenshot(path=IMAGES / f"{name}.png", full_page=whole)
                shrink(IMAGES / f"{name}.png")
            browser.close()
    finally:
        served.terminate()
        served.wait()


if __name__ == "__main__":
    main()
