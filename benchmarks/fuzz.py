"""Damage valid files of every reader at random; count what is read, refused in words, or anything else.

python -m benchmarks.fuzz --seed 0

A file is damaged in its bytes or, where it is packed, inside its members, so that checksums are right again.
A refusal is an error of fairask (UserError). Everything else is a fault: another error, a process that dies,
more than 60 seconds of the processor's time, more than 8 GB.
"""

from benchmarks._machine import machine_line

import argparse
import contextlib
import gzip
import io
import json
import multiprocessing
import os
import random
import resource
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
from contextlib import closing
from pathlib import Path

import numpy as np

ROWS, SECONDS, MEMORY = 60, 60, 8 << 30
#: What is put into a file, besides random bytes.
HOSTILE = (
    b"\0", b"\xff\xfe", b"\xed\xa0\x80", b"\\ud800", b"\\u0000", b"[" * 100_000, b'{"a":' * 50_000,
    b"9" * 5000, b"1e999", b"-1", b"NaN", b"null", b'"', b"\n", b"\r", b",", b";;;;", b"=1+1", b"\x1b[2J",
    "\u202e".encode(), b"2147483648", b"99999999999999999999", b"{}", b"[]", b" " * 20_000, b"true", b"0x10",
    b"''", b"--", b"\\",
)  # fmt: skip


def damaged(data, rng):
    """Return the bytes with one to four changes."""
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        at = rng.randrange(len(data) + 1)
        size = min(rng.choice([1, 1, 2, 8, 64, 1000]), len(data) - at)
        kind = rng.randrange(7)
        if kind == 0:
            del data[at:]
        elif kind == 1:
            del data[at : at + size]
        elif kind == 2:
            data[at : at + size] = rng.randbytes(size)
        elif kind == 3 and size:
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 4:
            data[at:at] = data[at : at + size] * rng.choice([1, 2, 50])
        else:
            word = rng.choice(HOSTILE)
            data[at : at + (len(word) if kind == 5 else 0)] = word
    return bytes(data)


def damaged_inside(data, rng):
    """Return a zip archive with damage in one of its members, packed again."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    victim = rng.choice(sorted(members))
    members[victim] = damaged(members[victim], rng)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out.getvalue()


def damage(path, rng):
    """Damage a file where it is."""
    data = path.read_bytes()
    if path.suffix in (".zip", ".xlsx", ".skops", ".fairask") and rng.random() < 0.6:
        data = damaged_inside(data, rng)
    elif path.suffix == ".gz" and rng.random() < 0.6:
        data = gzip.compress(damaged(gzip.decompress(data), rng), mtime=0)
    else:
        data = damaged(data, rng)
    path.write_bytes(data)


# -- readers: what makes a valid file or folder, which file is damaged, what reads it ------------------------


def people():
    """Return a table with columns of every kind."""
    import datetime

    import pyarrow as pa

    day = datetime.date(2024, 1, 1)
    return pa.table(
        {
            "age": [20 + i % 40 for i in range(ROWS)],
            "pay": [f"${1000 + 37 * i:,}.00" for i in range(ROWS)],
            "on": [day + datetime.timedelta(days=i) for i in range(ROWS)],
            "job": [("nurse", "cook", None)[i % 3] for i in range(ROWS)],
            "sex": ["f", "m"] * (ROWS // 2),
            "said": [("yes", "no")[i * 7 % 11 > 4] for i in range(ROWS)],
        }
    )


def csv(folder):
    from pyarrow import csv as writer

    writer.write_csv(people(), folder / "t.csv")
    return folder / "t.csv"


def tsv(folder):
    rows = [[*r.values()] for r in people().to_pylist()]
    lines = [["age", "pay", "on", "job", "sex", "said"], *([*map(str, row)] for row in rows)]
    text = "\n".join("\t".join(line).replace("$", "£").replace(".", ",") for line in lines)
    (folder / "t.tsv").write_text(text.replace("None", ""), "cp1252")
    return folder / "t.tsv"


def jsonl(folder):
    (folder / "t.jsonl").write_text("\n".join(json.dumps(r, default=str) for r in people().to_pylist()))
    return folder / "t.jsonl"


def json_list(folder):
    (folder / "t.json").write_text(json.dumps([{"data": r} for r in people().to_pylist()], default=str))
    return folder / "t.json"


def parquet(folder):
    import pyarrow.parquet as pq

    pq.write_table(people(), folder / "t.parquet", row_group_size=25)
    return folder / "t.parquet"


def xlsx(folder):
    import openpyxl

    book = openpyxl.Workbook()
    table = people()
    for row in (table.column_names, *(list(r.values()) for r in table.to_pylist())):
        book.active.append(list(row))
    book.save(folder / "t.xlsx")
    return folder / "t.xlsx"


def packed(folder):
    (folder / "t.csv.gz").write_bytes(gzip.compress(csv(folder).read_bytes(), mtime=0))
    return folder / "t.csv.gz"


def archive(folder):
    with zipfile.ZipFile(folder / "t.zip", "w", zipfile.ZIP_DEFLATED) as out:
        out.write(jsonl(folder), "t.jsonl")
    return folder / "t.zip"


def sqlite(folder):
    with closing(sqlite3.connect(folder / "t.db")) as database, database:
        database.execute("CREATE TABLE t (age, pay, sex)")
        rows = [(r["age"], r["pay"], r["sex"]) for r in people().to_pylist()]
        database.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
    return folder / "t.db"


def duckdb(folder):
    import duckdb as engine

    with closing(engine.connect(str(folder / "t.duckdb"))) as database:
        table = people()
        database.register("given", table)
        database.execute("CREATE TABLE t AS SELECT * FROM given")
    return folder / "t.duckdb"


def vectors(folder):
    csv(folder)
    np.save(folder / "v.npy", np.random.default_rng(0).normal(size=(ROWS, 4)))
    return folder / "v.npy"


def read(path):
    from fairask.tables import fit_encoder, read_table

    fit_encoder(read_table(path))


def read_vectors(path):
    from fairask.tables import TableFormat, read_table

    read_table(path.with_name("t.csv"), TableFormat(vectors=str(path)))


def read_in_place(path):
    from fairask.audit.predictions import open_audit_table
    from fairask.pools import open_pool

    open_pool(path, "sex", drop=["said"])
    open_audit_table(path, predictions="said", protected="sex")


def study(folder):
    from fairask_studio import Study

    if not (folder / "s").exists():
        with Study.create(
            folder / "s", people(), protected="sex", hide=["said"], budget=20, random_state=0
        ) as made:
            rows = made.ask(8, "ada")
            made.tell(rows, ["0", "1"] * 4, "ada", notes=["seen"] * 8)
            made.refit()
            made.export(folder / "out")
    return folder / "s" / "study.db"


def pool_of_study(folder):
    return study(folder).with_name("pool.parquet")


def open_study(path):
    from fairask_studio import Study

    with Study.open(path.parent) as opened:
        opened.status()


def events(folder):
    """The data of the events of a study, one per line: what :func:`open_events` puts back."""
    place = study(folder)
    with closing(sqlite3.connect(place)) as database:
        lines = [data for (data,) in database.execute("SELECT data FROM events ORDER BY id")]
    (folder / "s" / "events.txt").write_text("\n".join(lines), "utf-8")
    return folder / "s" / "events.txt"


def open_events(path):
    lines = path.read_bytes().split(b"\n")
    with closing(sqlite3.connect(path.with_name("study.db"))) as database, database:
        guards = database.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for (name,) in guards:  # events are append-only
            database.execute(f"DROP TRIGGER {name}")
        for number, line in enumerate(lines, 1):
            data = line.decode("utf-8", "surrogateescape").encode("utf-8", "replace").decode()
            database.execute("UPDATE events SET data = ? WHERE id = ?", (data, number))
    open_study(path)


def model(folder):
    study(folder)
    return folder / "out" / "model.skops"


def use_model(path):
    from fairask_studio import load_model

    load_model(path)


def sheet(folder):
    study(folder)
    return folder / "out" / "labels.csv"


def workbook_sheet(folder):
    import openpyxl

    book = openpyxl.Workbook()
    for row in (["row", "label", "age"], *([i, "01"[i % 2], 20 + i] for i in range(30))):
        book.active.append(row)
    book.save(folder / "rows.xlsx")
    return folder / "rows.xlsx"


def tasks(folder):
    study(folder)
    return folder / "out" / "labels-label-studio.json"


def read_sheet(path):
    from fairask_studio.files import read_labels

    read_labels(path)


def audit(folder):
    from fairask.audit.folder import AuditFolder

    if not (folder / "a").exists():
        place = parquet(folder)
        columns = {"predictions": "said", "protected": "sex", "positive": "yes"}
        opened = AuditFolder.open(str(place), columns, {"budget": 40}, folder=folder / "a")
        opened.advance()
    return folder / "a" / "audit.json"


def audit_sheet(folder):
    """A sheet of an audit, with labels."""
    audit(folder)
    lines = (folder / "a" / "rows-1.csv").read_text("utf-8").splitlines()
    at = lines[0].split(",").index("label")
    done = [lines[0]]
    for line in lines[1:]:
        cells = line.rsplit(",", len(lines[0].split(",")) - at)
        done.append(",".join([cells[0], "yes", *cells[2:]]))
    (folder / "a" / "rows-1.csv").write_text("\n".join(done) + "\n", "utf-8")
    return folder / "a" / "rows-1.csv"


def open_audit(path):
    from fairask.audit.folder import AuditFolder

    place = path.parent.parent / "t.parquet"
    opened = AuditFolder.open(str(place), {}, {}, folder=path.parent, begin=False)
    if path.suffix == ".csv":
        opened.tell(path)
    opened.advance()


def certificate(folder):
    from fairask.audit.folder import AuditFolder

    place = parquet(folder)
    columns = {"predictions": "said", "protected": "sex", "positive": "yes"}
    AuditFolder.open(str(place), columns, {"metric": "dp"}, folder=folder / "c").advance()
    return folder / "c" / "certificate.json"


def check(path):
    from fairask.audit.verification import check_issued

    check_issued(path)


def learner(folder):
    from fairask import FairActiveLearner

    frame = people().drop_columns(["said"]).to_pandas()
    made = FairActiveLearner(frame, "sex", random_state=0, batch_size=8)
    rows = made.ask().indices
    made.tell(rows, [0, 1] * 4)
    made.save(folder / "l.fairask")
    return folder / "l.fairask"


def load_learner(path):
    from fairask import FairActiveLearner

    FairActiveLearner.load(path)


def words(folder):
    (folder / "words.json").write_text(
        '{"age": {"title": "Age", "unit": "years", "values": {"20": "twenty"}}}'
    )
    return folder / "words.json"


def study_with_words(path):
    from fairask_studio import Study
    from fairask_studio.pool import read_words

    with Study.create(path.parent / "w", people(), protected="sex", words=read_words(path), budget=4):
        pass


#: Name: what makes the file, what reads it, files of a whole run, and what else belongs to it.
READERS = {
    "CSV": (csv, read, 350),
    "text, Windows-1252, tabs": (tsv, read, 150),
    "JSON lines": (jsonl, read, 250),
    "JSON": (json_list, read, 150),
    "Parquet": (parquet, read, 250),
    "Parquet, read in place": (parquet, read_in_place, 150),
    "Excel": (xlsx, read, 200),
    ".gz": (packed, read, 120),
    ".zip": (archive, read, 120),
    "SQLite": (sqlite, read, 150),
    "DuckDB": (duckdb, read, 60),
    "vectors (.npy)": (vectors, read_vectors, 100),
    "dictionary of columns": (words, study_with_words, 60),
    "sheet of labels, CSV": (sheet, read_sheet, 150),
    "sheet of labels, Excel": (workbook_sheet, read_sheet, 100),
    "Label Studio's tasks": (tasks, read_sheet, 100),
    "state of an audit": (audit, open_audit, 100),
    "sheet of an audit": (audit_sheet, open_audit, 100),
    "certificate": (certificate, check, 150),
    "study.db": (study, open_study, 80),
    "pool of a study": (pool_of_study, open_study, 50),
    "events of a study": (events, open_events, 80),
    "exported model": (model, use_model, 100),
    "learner": (learner, load_learner, 120),
}


class Slow(BaseException):
    """A file took too long; no reader may take this for a damaged file."""


def _too_slow(*_):
    raise Slow


@contextlib.contextmanager
def limited_time():
    """Raise Slow after SECONDS of the processor's time, or ten times as many of the clock's."""
    signal.signal(signal.SIGPROF, _too_slow)
    signal.signal(signal.SIGALRM, _too_slow)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    signal.alarm(10 * SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)


def outcome(name, victim, number, seed, folder):
    """Copy a whole file and what belongs to it, damage it, read it: "read", "refused", or what else happened.

    File number -1 is not damaged.
    """
    from fairask.errors import UserError

    reader, place = READERS[name][1], folder / "place"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(folder / "whole", place)
    path = place / victim
    if number >= 0:
        damage(path, random.Random(f"{name} {number} {seed}"))
    try:
        with limited_time(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            reader(path)
    except UserError as error:
        return "refused" if error.what and error.remedy else f"no words: {error!r}"
    except (Exception, Slow) as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__}: {str(error)[:90]} ({Path(where.filename).name}:{where.lineno})"
    return "read"


def _work(name, victim, numbers, seed, folder, pipe):
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    for number in numbers:
        pipe.send((number, "the process died"))
        pipe.send((number, outcome(name, victim, number, seed, folder)))
    pipe.close()


def fuzz(name, files, seed, folder):
    """Damage and read files of one reader, in processes that may die; return what happened to each."""
    whole = folder / "whole"
    whole.mkdir()
    victim = READERS[name][0](whole).relative_to(whole)
    found, context = {}, multiprocessing.get_context("fork")
    while len(left := [n for n in range(-1, files) if n not in found]):
        mine, theirs = context.Pipe(duplex=False)
        process = context.Process(target=_work, args=(name, victim, left, seed, folder, theirs))
        process.start()
        theirs.close()
        try:
            while True:
                number, said = mine.recv()
                found[number] = said
        except EOFError:
            process.join()
    if (said := found.pop(-1)) != "read":
        raise AssertionError(f"{name}: the file that was not damaged: {said}")
    return found


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--share", type=float, default=1.0, help="of the files of a whole run")
    parser.add_argument("--only", default="", help="readers whose name holds this")
    parser.add_argument("--keep", action="store_true", help="print the number of each fault")
    asked = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    totals, faults, begun = [0, 0, 0, 0], [], time.perf_counter()
    print(f"| reader | files | read | refused in words | anything else |\n|{'---|' * 5}")
    for name, (_, _, files) in READERS.items():
        if asked.only not in name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            found = fuzz(name, max(round(files * asked.share), 1), asked.seed, Path(folder))
        said = list(found.values())
        counts = [len(said), said.count("read"), said.count("refused")]
        counts.append(counts[0] - counts[1] - counts[2])
        totals = [a + b for a, b in zip(totals, counts, strict=True)]
        faults += [(name, n, what) for n, what in sorted(found.items()) if what not in ("read", "refused")]
        print(f"| {name} | {' | '.join(f'{count:,}' for count in counts)} |", flush=True)
    print(f"| all | {' | '.join(f'{count:,}' for count in totals)} |")
    for name, number, what in faults:
        print(f"fault: {name} {number}: {what}")
    print(f"seed {asked.seed}, {time.perf_counter() - begun:.0f} s; {machine_line()}")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
