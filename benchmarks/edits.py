"""Files edited after the fact: random edits of bytes, and what ``fairask verify`` says of them.

``python -m benchmarks.edits [--edits 2000] [--only KIND]``: for each kind of file of a study, of an audit's
folder and of an export, that many copies have one to three bytes replaced, added or removed. A copy says
something else if what can be read of it differs: events, people, queue and definitions of study.db; the
table; the document; the text; the decisions of the model. verify must find each of these, and name the file
or the part. Prints a table; ends with 1 if one was missed.

A sheet of rows is what somebody fills in: it says which label a row got. The edited copy is told, and all but
another label, or one left out, must be refused. The number in events.count says that there are at least so
many events: a smaller one says less, and takes nothing away.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sqlite3
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from studio.tests.study.conftest import people_table, truth

from fairask.audit.verification import check_issued
from fairask.audit.folder import AuditFolder, read_labels
from fairask.audit.watch_folder import PAGE, WATCH, WatchFolder, check_watch
from fairask.errors import UserError
from fairask.report.pages import watch_page
from fairask.tables import TableFormat, read_table
from fairask.tables.sheets import check_returned
from fairask_studio import Study
from fairask_studio.estimates import decisions_digest
from fairask_studio.integrity import _loaded, _positive, verify_certificate, verify

#: Of study.db: what it says, each query on its own.
_SAYS = (
    "SELECT * FROM events ORDER BY id",
    "SELECT * FROM people ORDER BY name",
    "SELECT row, slot, position, batch, answer, CASE WHEN answer IS NULL THEN NULL ELSE who END FROM tasks"
    " ORDER BY row, slot",
    "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name",
)


@dataclass
class Kind:
    """A kind of file: where it is, what it says, and what is said of an edited one."""

    file: Path
    says: Callable[[], Any]
    verify: Callable[[], str]  #: problems in words; empty if all is well
    names: tuple[str, ...]  #: one of them must be in the words


def edited(data: bytes, rng: random.Random) -> bytes:
    """Replace, add or remove one to three bytes."""
    new, at = bytearray(data), rng.randrange(len(data))
    size = rng.choice((1, 1, 1, 2, 3))
    kind = rng.random()
    if kind < 0.8:
        while bytes(new) == data:
            new[at : at + size] = rng.randbytes(size)
    elif kind < 0.9:
        new[at:at] = rng.randbytes(size)
    else:
        del new[at : at + size]
    return bytes(new)


def database_says(file: Path) -> list[Any]:
    """What can be read of study.db, whatever its indices say."""
    connection = sqlite3.connect(f"file:{file}?mode=ro&immutable=1", uri=True)
    try:
        connection.text_factory = bytes
        return [connection.execute(query).fetchall() for query in _SAYS]
    finally:
        connection.close()


def said_by(check: Callable[[], Any]) -> Callable[[], str]:
    """Call a check, and return its problems, or the error in words."""

    def words() -> str:
        try:
            return "; ".join(check().problems)
        except UserError as error:
            return str(error) or type(error).__name__

    return words


def label_all(study: Study, labels: list[str]) -> None:
    """Answer every row that is drawn."""
    while rows := study.lease("ada", 50):
        study.tell(rows, [labels[row] for row in rows], "ada")


def make_study(home: Path) -> list[Kind]:
    """A study with people, labels, two models and a certificate; and its export."""
    table = people_table(150)
    labels, place, out = truth(table), home / "study", home / "out"
    with Study.create(
        place, table, protected="sex", classes=("bad", "good"), budget=40, batch_size=20, random_state=0
    ) as study:
        study.people.add("ada", "owner")
        study.people.add("bob")
        for _ in range(2):
            study.draw()
            label_all(study, labels)
            study.refit()
        study.start_audit(15)
        while study.draw() is not None:
            label_all(study, labels)
        study.certify()
        study.export(out)
    with sqlite3.connect(place / "study.db") as connection:
        connection.execute("PRAGMA journal_mode=DELETE")
    connection.close()
    whole = said_by(lambda: verify(str(place)))
    issued, model, pool = (out / "certificate.json", out / "model.skops", place / "pool.parquet")
    about = said_by(lambda: verify_certificate(issued, model, pool))
    rows = read_table(pool)
    db, count = place / "study.db", place / "events.count"
    last = int(count.read_text())

    def counted() -> bool:
        try:
            return int(count.read_text("ascii")) > last
        except ValueError:
            return False

    return [
        Kind(db, lambda: database_says(db), whole, ("study.db", "event", "people", "tasks", "study")),
        Kind(pool, lambda: read_table(pool), whole, ("pool",)),
        Kind(count, counted, whole, ("lacks",)),
        Kind(issued, lambda: json.loads(issued.read_bytes()), about, ("",)),
        Kind(model, lambda: decisions_digest(_positive(_loaded(model), rows)), about, ("model",)),
    ]


def make_audit(home: Path) -> list[Kind]:
    """An audit that is over, and one that waits for the labels of its first sheet."""
    rng = np.random.default_rng(0)
    rows = 600
    truth = rng.integers(2, size=rows)
    said = np.where(rng.random(rows) < 0.85, truth, 1 - truth)
    table = home / "loans.csv"
    lines = [f"{'fm'[i % 2]},{rng.integers(18, 80)},{said[i]}" for i in range(rows)]
    table.write_text("\n".join(["sex,age,said", *lines]) + "\n")
    columns = {"predictions": "said", "protected": "sex", "positive": "1"}
    settings = {"budget": 120, "looks": 2, "random_state": 0}
    opened = AuditFolder.open(str(table), columns, settings, folder=home / "audit")
    first = None
    while hasattr(waits := opened.advance(), "sheet"):
        sheet = waits.sheet
        header, *cells = sheet.read_text().splitlines()
        place = header.split(",").index("label")
        filled = [header]
        for line in cells:
            parts = line.split(",")
            parts[place] = str(truth[int(parts[0])])
            filled.append(",".join(parts))
        sheet.write_text("\n".join(filled) + "\n")
        if first is None:
            first = home / "rows-1.csv"
            shutil.copy(sheet, first)
        opened.tell(sheet)
    assert first is not None
    sheet, folder, classes = first, home / "audit", opened.classes
    words = said_by(lambda: check_issued(folder, table))

    def labels_of() -> Any:
        found = read_labels(sheet, classes, None)
        return found.labels

    right = labels_of()
    asked = set(right)

    def told() -> str:
        try:
            found = read_labels(sheet, classes, None)
            if not set(found.labels) <= asked:
                return "rows-1.csv: a row was never asked for"
            numbers = np.array(sorted(found.labels), dtype=np.int64)
            cells = dict(zip(numbers.tolist(), opened.source.take(numbers).to_pylist(), strict=True))
            check_returned(sheet.name, found.rows, cells)
        except (UserError, ValueError) as error:
            return str(error)
        # Whoever fills in the sheet decides on the label, and may leave rows for later.
        return "another label" if found.labels != right else ""

    def json_of(name: str) -> Kind:
        return Kind(folder / name, lambda: json.loads((folder / name).read_bytes()), words, (name,))

    def text_of(name: str) -> Kind:
        return Kind(folder / name, (folder / name).read_bytes, words, (name,))

    # The command begins with "The certificate is NOT": that names the document itself.
    document = folder / "certificate.json"
    certificate = Kind(document, lambda: json.loads(document.read_bytes()), words, ("",))
    made = [json_of("audit.json"), certificate, text_of("certificate.txt"), text_of("certificate.html")]
    followed = WatchFolder.open(folder, {}, "2026-01")
    followed.add(str(table), "2026-02", form=TableFormat())
    followed.publish(watch_page(followed.watch))
    watched = said_by(lambda: SimpleNamespace(problems=check_watch(folder)))
    state, page = folder / WATCH, folder / PAGE
    made += [
        Kind(state, lambda: json.loads(state.read_bytes()), watched, (WATCH,)),
        Kind(page, page.read_bytes, watched, (PAGE,)),
    ]
    return [*made, Kind(sheet, labels_of, told, ("rows-1.csv",))]


def try_edits(kind: Kind, edits: int, rng: random.Random) -> tuple[Counter[str], list[str]]:
    """Edit a file so many times; count what became of it, and keep words of what went wrong."""
    data, right, counts, wrong = kind.file.read_bytes(), kind.says(), Counter[str](), list[str]()
    beside = {file: file.read_bytes() for file in kind.file.parent.iterdir() if file.is_file()}
    assert kind.verify() == "", kind.verify()
    for number in range(edits):
        new = edited(data, rng)
        kind.file.write_bytes(new)
        try:
            changed = kind.says() != right
        except Exception:  # nobody can read it: whatever it raises
            changed = True
        said = kind.verify()
        counts["edits"] += 1
        if said == "another label":
            counts["labels"] += 1
        elif not changed:
            counts["same"] += 1
            counts["refused"] += bool(said)
        elif not said:
            counts["missed"] += 1
            wrong.append(f"{kind.file.name}, edit {number}: missed")
        else:
            counts["found"] += 1
            if not any(name in said for name in kind.names):
                counts["unnamed"] += 1
                wrong.append(f"{kind.file.name}, edit {number}: {said[:200]}")
        for file in kind.file.parent.iterdir():
            if file.is_file() and file not in beside:
                file.unlink()  # what SQLite makes
        for file, content in beside.items():
            file.write_bytes(content)
    return counts, wrong


def all_kinds(home: Path) -> dict[str, Kind]:
    """All kinds of files, by a name for the table."""
    study, audit = make_study(home), make_audit(home)
    return {
        **{f"{kind.file.parent.name}/{kind.file.name}": kind for kind in [*study, *audit[:-1]]},
        "sheet rows-1.csv": audit[-1],
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--edits", type=int, default=2000, help="of each kind of file")
    parser.add_argument("--only", default="", help="kinds with this in their name")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    columns = ("edits", "same", "refused", "labels", "found", "unnamed", "missed")
    total: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        print(f"{'file':24}" + "".join(f"{name:>9}" for name in columns) + "   seconds", flush=True)
        for name, kind in all_kinds(Path(folder)).items():
            if given.only not in name:
                continue
            began = time.monotonic()
            counts, wrong = try_edits(kind, given.edits, random.Random(f"{given.seed} {name}"))
            total += counts
            figures = "".join(f"{counts[column]:9,}" for column in columns)
            print(f"{name:24}{figures}{time.monotonic() - began:10.0f}", flush=True)
            for line in wrong[:5]:
                print(f"  {line}", file=sys.stderr)
    print(f"{'all':24}" + "".join(f"{total[column]:9,}" for column in columns))
    print(
        "same: says what it said; refused: of these, refused all the same; labels: another label in a sheet"
    )
    raise SystemExit(bool(total["missed"] or total["unnamed"]))


if __name__ == "__main__":
    main()
