"""The picture of a report in the README: `python scripts/report_picture.py REPORT.html docs/images/report.png`.

Takes the report that `dynid demo` writes, keeps the parts that a reader recognises at a glance (heading, verdict, one
joint's torques, some links against the robot file) and takes a screenshot in headless Chromium, in 256 colours. Needs
Playwright, Pillow and Chromium.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

WIDTH = 1040  # of the picture [px]
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
STYLE = """
nav, footer, .sub, .modebar, .hint, .missing { display: none !important }
section, #verdict h3, #verdict table, #torques .scroll, #links .content > p { display: none !important }
#verdict, #torques, #links { display: block !important; border: 0; padding-top: 0 !important }
#torques .block:not(:nth-of-type(5)), #links figure:nth-of-type(n + 3) { display: none }
#links tbody:not(:nth-of-type(3)) { display: none }
.columns { display: block } header { padding-bottom: 0; border: 0 } main { max-width: none }
"""


def main() -> None:
    """Write the picture."""
    report, picture = (Path(argument) for argument in sys.argv[1:3])
    browser_path = next(found for name in BROWSERS if (found := shutil.which(name)))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": 800})
        page.goto(report.resolve().as_uri())
        page.add_style_tag(content=STYLE)
        page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        page.wait_for_function("[...document.querySelectorAll('.plot')].every((p) => p.querySelector('.main-svg'))")
        page.evaluate("window.dispatchEvent(new Event('resize'))")
        page.wait_for_timeout(2000)
        page.screenshot(path=picture, full_page=True)
        browser.close()
    Image.open(picture).convert("RGB").quantize(256).save(picture, optimize=True)


if __name__ == "__main__":
    main()
