"""Pictures of every view of the studio, for whoever looks at them and for the documentation.

``python -m benchmarks.studio_pictures --to FOLDER [--only label,rows]`` takes every view at 1440 and at 390
pixels and at 200 %, light and dark, and names views that are wider than the window. ``--docs`` writes the
pictures of docs/img instead. The studies are made on the way: loans (German Credit with its true labels) on
the first day and half-way, applicants with an audit and a certificate, comments, pictures, recordings.
"""

from __future__ import annotations

import argparse
import io
import itertools
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import wave
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from PIL import Image, ImageDraw
from playwright.sync_api import Browser, Page, sync_playwright

from fairask_studio import Study
from fairask_studio.gold import PRACTICE, KnownRow
from fairask_studio.pages import create_app
from fairask_studio.pages.demo import demo_study
from fairask_studio.pages.home import create_home
from fairask_studio.pages.settings import file_bytes
from studio.tests.pages.browsing import READY
from studio.tests.pages.serving import serving

SIZES: dict[str, dict[str, Any]] = {
    "1440": {"viewport": {"width": 1440, "height": 900}},
    "390": {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True},
    "200": {"viewport": {"width": 720, "height": 450}, "device_scale_factor": 2},
}

#: Pictures of the documentation: the view, its size, and whether it is light or dark.
DOCS = {
    "label": ("label-table", "1200", "light"),
    "overview": ("overview-after", "1200", "light"),
    "overview-dark": ("overview-mid", "1200", "dark"),
    "rows": ("rows-answered", "1200", "light"),
    "model": ("model-after", "1200", "light"),
    "certificate": ("certificate-after", "1200", "light"),
    "people": ("people", "1200", "light"),
    "settings": ("settings", "1200", "light"),
    "phone": ("label-table", "390", "light"),
    "audio": ("label-audio", "390", "light"),
    "new": ("new-2-3-4", "1200", "light"),
}
_DOCS_SIZES = {"1200": {"viewport": {"width": 1200, "height": 860}}, "390": SIZES["390"]}

_LEAD = "#headline .advice"


def _open_row(page: Page) -> None:
    page.locator("#rows tbody tr button").first.click()
    page.wait_for_selector("#row-history li")


def _guide(shown: bool) -> Callable[[Page], None]:
    def act(page: Page) -> None:
        if page.locator("#guide").is_visible() != shown:
            page.locator("#guide-open").click()

    return act


def _answer_one(page: Page) -> None:
    """Answer the row that is shown."""
    page.wait_for_selector("#answers .answer:enabled")
    page.wait_for_selector("#card[data-ready]")
    page.keyboard.press("1")


def _practise(page: Page) -> None:
    _answer_one(page)
    page.wait_for_selector("#verdict")


def _undo_line(page: Page) -> None:
    _answer_one(page)
    page.wait_for_selector("#told:has-text('Saved')")


def _write_note(page: Page) -> None:
    page.keyboard.press("n")
    page.keyboard.type("The amount may be in DM.")


def _two_wait(page: Page) -> None:
    page.context.set_offline(True)
    _answer_one(page)
    page.wait_for_selector("#told:has-text('1 answer waits')")
    _answer_one(page)
    page.wait_for_selector("#told:has-text('2 answers wait')")


def _one_fails(page: Page) -> None:
    page.route("**/api/answers", lambda route: route.fulfill(status=500, body=""))
    _answer_one(page)
    page.wait_for_selector("#aside:has-text('could not be saved')")


def _choose_file(page: Page) -> None:
    rng = random.Random(2)
    said = [f'"{rng.choice(SENTENCES)} {rng.choice(SENTENCES)}"' for _ in range(200)]
    known = [
        ("yes" if "never" in words or "waited" in words else "no") if i < 120 else ""
        for i, words in enumerate(said)
    ]
    lines = [f"{words},{'wm'[i % 2]},{20 + i % 60},{known[i]}" for i, words in enumerate(said)]
    csv = "\n".join(["comment,gender,age,complaint", *lines])
    page.set_input_files("#file", {"name": "comments.csv", "mimeType": "text/csv", "buffer": csv.encode()})
    page.wait_for_selector("#make")
    page.check("input[value=gender]")
    page.fill("#question", "Is this a complaint?")
    page.select_option("#labels", "complaint")
    page.fill("#budget", "60")
    page.wait_for_selector("#forecast-chart svg", timeout=120_000)


#: Where a view is, what is there when it has loaded, and what is done to it then.
VIEWS: dict[str, tuple[str, str, Callable[[Page], None] | None]] = {
    "home-empty": ("/", "main h1", None),
    "home": ("/", ".study", None),
    "new-1": ("/new", "#send", None),
    "new-2-3-4": ("/new", "#send", _choose_file),
    "signin": ("/signin", "#token", None),
    "ended": ("/signin?ended", "#token", None),
    "overview-first": ("/overview", _LEAD, None),
    "model-first": ("/model", "#standing", None),
    "label-text": ("/label", READY["label"], None),
    "label-image": ("/label", READY["label"], None),
    "label-audio": ("/label", READY["label"], None),
    "overview-image": ("/overview", _LEAD, None),
    "label-practice": ("/label", READY["label"], _practise),
    "label-saved": ("/label", READY["label"], _undo_line),
    "label-note": ("/label", READY["label"], _write_note),
    "label-waits": ("/label", READY["label"], _two_wait),
    "label-fails": ("/label", READY["label"], _one_fails),
    "label-missing": ("/label", "#missing", None),
    "label-done": ("/label", "#card[data-state]", None),
    "label-table": ("/label", READY["label"], _guide(False)),
    "label-guide": ("/label", READY["label"], _guide(True)),
    "overview-mid": ("/overview", READY["overview"], None),
    "rows-inbox": ("/rows?view=inbox", READY["rows"], None),
    "rows-answered": ("/rows?view=answered", READY["rows"], None),
    "rows-drawn": ("/rows?view=drawn", READY["rows"], None),
    "rows-open": ("/rows?view=inbox", READY["rows"], _open_row),
    "people": ("/people", READY["people"], None),
    "model-mid": ("/model", READY["model"], None),
    "certificate-before": ("/certificate", "#start", None),
    "settings": ("/settings", "#preview-card .body", None),
    "certificate-during": ("/certificate", "main .advice", None),
    "overview-audit": ("/overview", READY["overview"], None),
    "certificate-after": ("/certificate", ".verdict h2", None),
    "overview-after": ("/overview", READY["overview"], None),
    "model-after": ("/model", READY["model"], None),
    "report": ("/report.html", "h1", None),
    "card": ("/model-card.html", "h1", None),
    "paper": ("/certificate.html", "h1", None),
    "demo": ("/demo.html", "h1", None),
}

SENTENCES = (
    "I waited for an hour and nobody came to the desk.",
    "The clerk was friendly and knew what to do.",
    "My letter of 3 March was never answered.",
    "They asked for the same form three times.",
    "It was quick: ten minutes, and I had the paper in my hand.",
)


class Clock:
    """The log's clock: people who answer at once seem to need some seconds for each row."""

    behind = 0.0

    @classmethod
    def time(cls) -> float:
        return time.time() - cls.behind

    @classmethod
    def tick(cls, rng: random.Random) -> None:
        cls.behind = max(cls.behind - rng.uniform(5, 12), 0.0)


def answer(study: Study, truth: list[str], labels: int) -> None:
    """Two people answer so many rows, or all that there are; models are fitted on the way."""
    rng = random.Random(labels)
    for who in itertools.cycle(("ada", "bob")):
        rows = study.ask(min(25, labels), who) if labels > 0 else []
        if not rows:
            return
        for row in rows:
            Clock.tick(rng)
            study.tell([row], [truth[row]], who, notes=["looks wrong" if row % 40 == 3 else ""])
        labels -= len(rows)
        if study.state().audit is None:
            study.refit(force=True)


def loans(folder: Path, labels: int) -> Study:
    """A study of loans with so many labels, and then a flag and a skip."""
    Clock.behind = 9.0 * labels
    study, truth = demo_study(folder, budget=200)
    words = "Good: the loan was paid back **in time**.\n\n- late by a week is *late*"
    study.change(guidelines=words, skip_reasons=["cannot be told", "a value is wrong"])
    for name, role in {
        "ada": "owner",
        "bob": "annotator",
        "Anneliese Schmidt-Wolkenstein": "reviewer",
    }.items():
        study.people.add(name, role)
    answer(study, truth, labels)
    if labels:
        study.draw(20)
        study.flag(study.lease("bob", 1)[0], "Is the amount in DM or in euros?", "bob")
        study.skip(study.lease("ada", 1), "ada", reason="cannot be told")
    return study


def practice(folder: Path) -> Study:
    """A study of loans with a practice row, whose explanation is long."""
    study = loans(folder, 25)
    study.change(guidelines="")
    known = next(row for row in range(200, 400) if row not in study.state().log.position)
    why = "\n\n".join(SENTENCES) + "\n\nThe income covers the debt, and the loan was paid back in time. " * 12
    study.mark_known([KnownRow(known, 1, PRACTICE, why)])
    study.draw(120)
    return study


def applicants(folder: Path) -> tuple[Study, list[str]]:
    """A study in an audit that can certify its model: two numbers tell much, and groups differ little."""
    rng = random.Random(3)
    Clock.behind = 5400.0
    table: dict[str, list[Any]] = {"income": [], "debt": [], "work": [], "sex": []}
    truth = []
    for _ in range(3000):
        income, debt = round(rng.gauss(2500, 700)), round(rng.gauss(900, 500))
        row = (income, debt, rng.choice(["office", "shop", "none"]), rng.choice("fm"))
        for column, value in zip(table.values(), row, strict=True):
            column.append(value)
        truth.append(["no", "yes"][income - 1.2 * debt + rng.gauss(0, 250) > 1400])
    study = Study.create(
        folder,
        table,
        protected="sex",
        classes=("no", "yes"),
        question="Will this person repay the loan?",
        words={"income": {"title": "Income per month", "unit": "euros"}, "debt": {"unit": "euros"}},
        budget=150,
        random_state=0,
    )
    study.people.add("ada", "owner")
    answer(study, truth, 150)
    study.start_audit(600, "ada")
    answer(study, truth, 100)
    return study, truth


def picture(seed: int) -> bytes:
    """A drawing that could be a photograph."""
    rng, image = random.Random(seed), Image.new("RGB", (900, 600), (170, 200, 225))
    draw = ImageDraw.Draw(image)
    draw.rectangle((0, 380, 900, 600), fill=(110, 140, 90))
    for _ in range(9):
        x, y, r = rng.randrange(900), rng.randrange(250, 560), rng.randrange(20, 90)
        draw.ellipse((x - r, y - r, x + r, y + r), fill=tuple(rng.randrange(40, 220) for _ in range(3)))
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def recording(seed: int) -> bytes:
    """Two seconds of a tone that could be a call."""
    out, step = io.BytesIO(), random.Random(seed).randrange(20, 60)
    with wave.open(out, "wb") as file:
        file.setparams((1, 2, 8000, 0, "NONE", ""))
        file.writeframes(b"".join(struct.pack("<h", 6000 * (-1) ** (i // step)) for i in range(16_000)))
    return out.getvalue()


def comments(folder: Path, kind: str) -> Study:
    """A study of texts, images or recordings, with long names."""
    rng, rows = random.Random(1), range(120)
    texts = ["\n\n".join(" ".join(rng.choices(SENTENCES, k=6)) for _ in range(1 + i % 3)) for i in rows]
    content: dict[str, tuple[list[str], Callable[[int], bytes] | None]] = {
        "text": (texts, None),
        "image": ([f"{i}.png" for i in rows], picture),
        "audio": ([f"{i}.wav" for i in rows], recording),
    }
    values, made = content[kind]
    table: dict[str, list[Any]] = {
        {"text": "comment", "image": "photo", "audio": "call"}[kind]: values,
        "office-where-it-was-handed-in-or-sent-to": ["Donaudampfschifffahrtsgesellschaft", "South"] * 60,
        "received": [f"2024-03-{1 + i % 28:02}" for i in rows],
        "waited": [5 + i % 50 for i in rows],
        "gender": ["woman" if i % 3 else "man" for i in rows],
    }
    study = Study.create(
        folder,
        table,
        protected="gender",
        classes=("no", "yes, it is a complaint"),
        question="Is this a complaint about how somebody was treated, or about what was decided?",
        budget=60,
        random_state=0,
    )
    (folder / "media").mkdir(exist_ok=True)
    for name in values if made else []:
        (folder / "media" / name).write_bytes(made(int(name[:-4])))
    study.draw(25)
    return study


@contextmanager
def served(study: Study) -> Iterator[str]:
    """Serve a study; yield its address."""
    with study, serving(create_app(study, train=False)) as url:
        yield url


_Visit = tuple[Callable[[], str | None], str, list[str]]


def visits(folder: Path, wanted: Callable[[str], bool]) -> Iterator[_Visit]:
    """Serve one studio after another; yield how an owner is invited, the address, and its views."""

    def owner(study: Study) -> Callable[[], str | None]:
        return lambda: study.people.invite("ada") if study.people.all() else None

    if wanted("home") or wanted("new"):
        app = create_home(folder / "shelf", train=False)
        with serving(app) as url:
            yield app.state.access.invite, url, ["home-empty"]
            demo_study(folder / "shelf" / "loans")[0].close()
            loans(folder / "shelf" / "loans-half-way", 100).close()
            comments(folder / "shelf" / "complaints-about-offices-in-the-southern-district", "text").close()
            yield app.state.access.invite, url, ["home", "new-1", "new-2-3-4"]
    first = ["signin", "ended", "used", "late", "overview-first", "model-first", "invited"]
    if any(map(wanted, first)):
        study = loans(folder / "first", 0)
        with served(study) as url:
            study.people.add("cyn")
            used, ended = study.people.invite("bob"), study.people.invite("cyn", -1.0)
            study.people.redeem(used)
            invited = study.people.invite("Anneliese Schmidt-Wolkenstein")
            VIEWS["used"] = (f"/?code={used}", "#became", None)
            VIEWS["late"] = (f"/?code={ended}", "#became", None)
            VIEWS["invited"] = (f"/?code={invited}", "#other", None)
            yield lambda: None, url, first[:4]
            yield owner(study), url, first[4:]
    for kind in ("text", "image", "audio"):
        if wanted(f"label-{kind}") or wanted("overview-image"):
            study = comments(folder / kind, kind)
            with served(study) as url:
                yield owner(study), url, [f"label-{kind}", "overview-image"][: 1 + (kind == "image")]
    people = ["label-practice", "label-saved", "label-note"]
    if any(map(wanted, [*people, "label-waits", "label-fails", "label-missing", "label-done"])):
        study = practice(folder / "practice")
        with served(study) as url:

            def somebody() -> str:  # a practice row is answered once
                name = f"annotator {len(study.people.all())}"
                study.people.add(name)
                return study.people.invite(name)

            yield somebody, url, people
            for one in ("label-waits", "label-fails"):
                yield owner(study), url, [one]
        study = comments(folder / "missing", "image")
        shutil.rmtree(folder / "missing" / "media")
        with served(study) as url:
            yield owner(study), url, ["label-missing"]
        study, truth = applicants(folder / "done")
        answer(study, truth, 1000)
        with served(study) as url:
            yield owner(study), url, ["label-done"]
    mid = list(VIEWS)[list(VIEWS).index("label-table") : list(VIEWS).index("certificate-during")]
    if any(map(wanted, mid)):
        study = loans(folder / "loans", 170)
        with served(study) as url:
            yield owner(study), url, mid
    after = ["certificate-after", "overview-after", "model-after"]
    files = {"report": "report.html", "card": "model-card.html", "paper": "certificate.html"}
    if any(map(wanted, ["certificate-during", "overview-audit", *after, *files])):
        study, truth = applicants(folder / "applicants")
        with served(study) as url:
            yield owner(study), url, ["certificate-during", "overview-audit"]
            answer(study, truth, 1000)
            study.certify("ada")
            yield owner(study), url, after
            for file in files.values():
                (folder / file).write_bytes(file_bytes(study, file))
            yield lambda: None, folder.as_uri(), list(files)
    if wanted("demo"):
        demo = [sys.executable, "-m", "fairask", "demo", "--quiet"]
        subprocess.run([*demo, "--out", str(folder / "demo.html")], check=True)
        yield lambda: None, folder.as_uri(), ["demo"]


def look(browser: Browser, visit: _Visit, sizes: dict[str, Any]) -> Iterator[tuple[str, str, Page]]:
    """Open the views of a studio in browsers of each size; yield the view, the size and the page."""
    code, url, names = visit
    for size, options in sizes.items():
        context = browser.new_context(**options, reduced_motion="reduce")
        page = context.new_page()
        if invitation := code():
            page.goto(f"{url}/?code={invitation}")
        for name in names:
            path, ready, act = VIEWS[name]
            page.goto(f"{url}{path}")
            page.wait_for_selector(ready, timeout=120_000)
            if act is not None:
                act(page)
            page.wait_for_timeout(500)
            yield name, size, page
        context.close()


def main() -> None:
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("--to", type=Path)
    parser.add_argument("--only", default="", help="beginnings of names of views, with commas")
    parser.add_argument("--docs", action="store_true", help="write the pictures of docs/img")
    given = parser.parse_args()
    if given.docs == (given.to is not None):
        parser.error("give --to FOLDER or --docs")
    of_docs = tuple(view for view, _, _ in DOCS.values())
    only = of_docs if given.docs else tuple(given.only.split(","))
    path = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if given.to:
        given.to.mkdir(parents=True, exist_ok=True)

    def wanted(name: str) -> bool:
        return name.startswith(only) or any(one.startswith(name) for one in only)

    late = mock.Mock(wraps=time, time=Clock.time)
    slow = mock.patch("fairask_studio.store.database.time", late)
    with slow, tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        (Path(scratch) / "shelf").mkdir()
        for code, url, names in visits(Path(scratch), wanted):
            visit = (code, url, [name for name in names if wanted(name)])
            for name, size, page in look(browser, visit, _DOCS_SIZES if given.docs else SIZES):
                if given.docs:
                    _to_docs(page, name, size)
                else:
                    _to_folder(page, given.to / f"{name}-{size}")
        browser.close()


def _to_folder(page: Page, to: Path) -> None:
    assert page.viewport_size is not None
    if (wide := page.evaluate("document.documentElement.scrollWidth")) > page.viewport_size["width"]:
        print(f"{to.name}: {wide} pixels wide")
    page.evaluate("scrollTo(0, 0)")
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        page.wait_for_timeout(100)
        page.screenshot(path=f"{to}-{scheme}.png", full_page=True)
    page.emulate_media(color_scheme="light")
    print(to.name, flush=True)


#: Commands name a study by its folder, which here is a folder of this run.
_BARE = r"""document.querySelectorAll("code, code span").forEach((node) => {
  if (!node.children.length) node.textContent = node.textContent.replace(/\/\S+\//, "");
})"""


def _to_docs(page: Page, view: str, size: str) -> None:
    for name, (of, at, scheme) in DOCS.items():
        if (view, size) == (of, at):
            file = Path("docs/img") / f"studio-{name}.png"
            page.evaluate(_BARE)
            page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            page.evaluate("scrollTo(0, 0)")
            page.wait_for_timeout(100)
            page.screenshot(path=file)
            page.emulate_media(color_scheme="light")
            Image.open(file).convert("RGB").quantize(128).save(file, optimize=True)  # a page has few colours
            print(f"{file}: {file.stat().st_size / 1000:.0f} kB", flush=True)


if __name__ == "__main__":
    main()
