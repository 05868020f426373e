"""How tall every page of the built site is, in screens of a phone (390 x 844), and what sticks out of it.

python -m benchmarks.site_pages [docs/_build/html] [--most 6]

Ends with 1 if a page has more screens than --most, or is wider than the phone. The API reference and the
changelog may be longer.
"""

import argparse
import sys
from pathlib import Path

#: Reference pages, which are searched and not read.
LONG = (
    "api/",
    "develop/changes.html",
    "genindex",
    "search.html",
    "_static",
    "_images",
    "_modules",
)
WIDTH, HEIGHT = 390, 844
MEASURE = """() => [
  document.querySelector('.bd-article-container, article, body').getBoundingClientRect().height,
  document.documentElement.scrollWidth,
]"""


def measure(site, chromium):
    """Return (screens, width in pixels, page) of every page, tallest first."""
    from playwright.sync_api import sync_playwright

    found = []
    with sync_playwright() as playwright:
        page = playwright.chromium.launch(executable_path=chromium).new_page(
            viewport={"width": WIDTH, "height": HEIGHT}
        )
        for path in sorted(site.rglob("*.html")):
            name = path.relative_to(site).as_posix()
            if not any(part in name for part in LONG):
                page.goto(path.as_uri(), wait_until="load")
                height, width = page.evaluate(MEASURE)
                found.append((height / HEIGHT, width, name))
    return sorted(found, reverse=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "site", type=Path, nargs="?", default=Path(__file__).parents[1] / "docs" / "_build" / "html"
    )
    parser.add_argument("--most", type=float, default=6.0, help="screens that a page may have (default 6)")
    parser.add_argument("--chromium", default="/usr/bin/chromium", help="the browser")
    options = parser.parse_args()
    found = measure(options.site, options.chromium)
    print("screens  width  page")
    for screens, width, name in found:
        if screens > options.most or width > WIDTH or name in ("index.html", "results.html"):
            print(f"{screens:7.1f}  {width:5.0f}  {name}")
    bad = [name for screens, width, name in found if screens > options.most or width > WIDTH]
    print(f"{len(found)} pages, {len(bad)} of them too tall or too wide")
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
