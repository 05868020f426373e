"""Versions of ``constraints.txt``: each is the newest, or came in the last six months.

``python -m benchmarks.versions [--months 6] [--index URL]`` reads the dates of all files of each package from
the pages of a package index, and prints the versions that are older although there is a newer one that this
Python can install. Ends with 1 if there is one that ``HELD`` gives no reason for.
"""

from __future__ import annotations

import argparse
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import date, timedelta
from html import unescape
from pathlib import Path

import httpx2 as httpx
from packaging.specifiers import SpecifierSet
from packaging.utils import parse_sdist_filename, parse_wheel_filename
from packaging.version import Version

#: Packages that are held back, and why.
HELD = {
    "label-studio-sdk": "2.1 asks for OpenCV 4.12, and that for NumPy below 2.3",
    **dict.fromkeys(("datamodel-code-generator", "inflect", "isort"), "label-studio-sdk 2.0 asks for it"),
    "docutils": "Sphinx 9.0 asks for it, and 9.1 for Python 3.12",
    "mpmath": "SymPy 1.14 asks for it",
}
_JSON = "application/vnd.pypi.simple.v1+json"
#: A file on a page of an index: its attributes and its name.
_LINK = re.compile(r"<a ([^>]*)>\s*([^<\s]+)\s*</a>")
_ATTRIBUTE = re.compile(r'data-(upload-time|requires-python|yanked)(?:="([^"]*)")?')


def files(client: httpx.Client, name: str) -> list[tuple[str, str, str]]:
    """Name, day and required Python of all files of a package that were not withdrawn."""
    page = client.get(f"{name.lower().replace('_', '-')}/").raise_for_status()
    if page.headers["content-type"].startswith(_JSON):
        found = [f for f in page.json()["files"] if not f["yanked"]]
        return [(f["filename"], f["upload-time"], f["requires-python"] or "") for f in found]
    said = [(file, dict(_ATTRIBUTE.findall(words))) for words, file in _LINK.findall(page.text)]
    return [
        (file, about["upload-time"], unescape(about.get("requires-python", "")))
        for file, about in said
        if "upload-time" in about and "yanked" not in about
    ]


def days(client: httpx.Client, name: str) -> dict[Version, date]:
    """The day of each final version of a package that this Python can install."""
    found: dict[Version, date] = {}
    for file, day, python in files(client, name):
        try:
            version = (parse_wheel_filename(file) if file.endswith(".whl") else parse_sdist_filename(file))[1]
            fits = SpecifierSet(python).contains(sys.version.split()[0])
        except ValueError:
            continue  # installers, and what was written differently long ago
        if version.is_prerelease or not fits:
            continue
        came = date.fromisoformat(day[:10])
        found[version] = min(came, found.get(version, came))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--months", type=int, default=6)
    parser.add_argument("--index", default="https://pypi.org/simple/")
    given = parser.parse_args()
    lines = Path("constraints.txt").read_text().splitlines()
    pins = {name: Version(v) for name, _, v in (line.partition("==") for line in lines) if v}
    oldest = date.today() - timedelta(days=round(30.44 * given.months))
    headers = {"Accept": f"{_JSON}, text/html;q=0.1"}
    with (
        httpx.Client(base_url=given.index, headers=headers, follow_redirects=True, timeout=60) as client,
        ThreadPoolExecutor(8) as pool,
    ):
        known = dict(zip(pins, pool.map(lambda name: days(client, name), pins), strict=True))
    late = 0
    for name, pin in pins.items():
        newest = max(known[name], default=pin)
        came = known[name].get(Version(pin.public))
        if newest > pin and (came is None or came < oldest):
            reason = HELD.get(name, "")
            late += not reason
            when = "a day that is not known" if came is None else came.isoformat()
            print(f"{name} {pin} of {when}; newest {newest} of {known[name][newest]}; {reason or 'TOO OLD'}")
    print(f"{len(pins)} packages, {late} older than {given.months} months without a reason; {date.today()}")
    raise SystemExit(bool(late))


if __name__ == "__main__":
    main()
