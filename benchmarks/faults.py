"""Faults of all kinds while a study or an audit is written: what was acknowledged, and what is kept.

``python -m benchmarks.faults [--kills 40] [--only NAME] [--freeze 20]``: kills in the middle of each command
that writes (new, ask, tell, export, backup, audit, a new key, report, watch), a disk that is full or
read-only, a clock that goes back, two ``tell`` at once, a PostgreSQL server that is frozen and restarted, a
page of SQLite that is overwritten, a backup that is restored. Prints a table: what was done, answers
acknowledged, kept, lost, doubled, and what is not whole. Ends with 1 if an acknowledged answer was lost or
doubled, a file is half-written, or a study is not whole.

Full and read-only disks are small file systems in memory where mounting is allowed, else they are left out.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import psutil
from benchmarks.studio_load import machine
from benchmarks.studio_soak import freeze_postgres
from studio.tests.study.conftest import people_table, truth
from studio.tests.study.postgres import started

from fairask.audit.signature import OwnerKey
from fairask.cli import main as fairask
from fairask.cli.audit import EXIT_CODES
from fairask_studio import Study, StudyError
from fairask_studio.integrity import backup, verify
from fairask_studio.model import load_model
from fairask_studio.store.database import UNREACHABLE
from fairask_studio.store import database as store_database

#: How a command ends that has done its work; an audit says by its code what it found.
DONE = {0, *EXIT_CODES.values()}
ROWS, LABELS = 300, truth(people_table(300))


@dataclass
class Outcome:
    """What became of one kind of fault."""

    tried: int = 0
    acknowledged: int = 0
    kept: int = 0
    doubled: int = 0
    broken: int = 0  #: files half-written, studies not whole, or errors that are no words
    note: str = ""

    @property
    def lost(self) -> int:
        return self.acknowledged - self.kept

    @property
    def good(self) -> bool:
        return self.tried > 0 and not (self.lost or self.doubled or self.broken)


def make(place: Path | str, **settings: Any) -> Study:
    """A small study."""
    given = {"budget": ROWS, "batch_size": 20, "strategy": "passive", "random_state": 0, **settings}
    return Study.create(place, people_table(ROWS), protected="sex", classes=("bad", "good"), **given)


def warm(home: Path) -> None:
    """Import, before any fork, what commands import late: it takes longer than they do."""
    study, sheet, table = str(home / "study"), str(home / "sheet.csv"), home / "pool.csv"
    table.write_text("sex,age,said\n" + "".join(f"{'fm'[i % 2]},{i},{i % 3 % 2}\n" for i in range(60)))
    make(study).close()
    for words in (
        ("new", str(table), "--protected", "sex", "--to", str(home / "new")),
        ("ask", study, "-o", sheet), ("tell", study, sheet), ("export", study, "-o", str(home / "out")),
        ("study", "backup", study, "--to", str(home / "copy")), ("verify", study), ("status", study),
        ("audit", str(table), "--predictions", "said", "--protected", "sex", "--budget", "20"),
        ("watch", str(table.with_suffix(".audit")), str(table),
         "--month", "2025-02", "--certified", "2025-01"),
        ("verify", "--new-key", str(home / "key")),
        ("report", str(table.with_suffix(".audit")), "--form", "lda", "--sign", str(home / "key")),
    ):  # fmt: skip
        with (
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(io.StringIO()),
            contextlib.suppress(SystemExit),
        ):
            fairask(list(words))


def command(*words: str) -> int:
    """Run a command in a forked process; return how it ended, and print nothing."""
    return wait(begun(*words))


def begun(*words: str) -> int:
    """Begin a command in a forked process."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            sink = os.open(os.devnull, os.O_WRONLY)
            os.dup2(sink, 1)
            os.dup2(sink, 2)
            fairask(list(words))
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 1
        finally:
            os._exit(code)
    return child


def wait(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def kept(study: Study, told: dict[int, str]) -> int:
    """Count the answers that are in a study as they were told."""
    answers, config = study.state().answers, study.config
    return sum(
        [config.class_name(given.code) for given in answers.get(row, {}).values()] == [label]
        for row, label in told.items()
    )


def whole(place: Path | str) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return verify(str(place)).sound


def sheet_of(study: Study, file: Path, n: int) -> dict[int, str]:
    """Ask for rows by the command, fill the sheet in, and return its labels."""
    file.unlink(missing_ok=True)
    assert command("ask", study.target, "-n", str(n), "-o", str(file), "--as", "ada") == 0
    header, *lines = file.read_text().splitlines()
    place = header.split(",").index("label")
    told, filled = {}, [header]
    for line in lines:
        cells = line.split(",")
        told[int(cells[0])] = cells[place] = LABELS[int(cells[0])]
        filled.append(",".join(cells))
    file.write_text("\n".join(filled) + "\n")
    return told


def kills(home: Path, n: int, rng: random.Random) -> Iterator[tuple[str, Outcome]]:
    """Kill each command at random instants of its run."""
    pool, table = home / "pool.csv", people_table(ROWS)
    lines = [",".join(map(str, row)) for row in zip(*table.values(), strict=True)]
    pool.write_text("\n".join([",".join(table), *lines]) + "\n")
    new = ("new", str(pool), "--protected", "sex", "--classes", "bad,good", "--strategy", "passive", "--to")

    def killed(words: tuple[str, ...], longest: float) -> bool:
        """Kill a command; return whether it had acknowledged before."""
        child, until = begun(*words), time.monotonic() + rng.uniform(0.0, longest)
        while time.monotonic() < until:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                assert os.waitstatus_to_exitcode(status) in DONE, words
                return True
            time.sleep(0.001)
        os.kill(child, signal.SIGKILL)
        return wait(child) in DONE

    def longest(words: tuple[str, ...]) -> float:
        began = time.monotonic()
        assert command(*words) in DONE, words
        return 1.2 * (time.monotonic() - began)

    found, seconds = Outcome(note="studies that are there and not whole count as broken"), 0.0
    for number in range(n):
        place = home / f"new{number}"
        seconds = seconds or longest((*new, str(home / "new")))
        done = killed((*new, str(place)), seconds)
        found.tried += 1
        found.acknowledged += done
        there = place.exists()
        found.kept += done and there
        found.broken += there and not whole(place)
        if there:
            shutil.rmtree(place)
        found.broken += command(*new, str(place)) != 0  # nothing is in its way
        shutil.rmtree(place)
    yield "kill new", found

    study, out = make(home / "asked"), home / "rows.csv"
    found = Outcome(note="a sheet that is there is whole; its rows are held")
    with study:
        seconds = longest(("ask", study.target, "-n", "2", "-o", str(home / "first.csv"), "--as", "ada"))
        for _ in range(n):
            out.unlink(missing_ok=True)
            done = killed(("ask", study.target, "-n", "4", "-o", str(out), "--as", "ada"), seconds)
            found.tried += 1
            found.acknowledged += 4 * done
            held, rows = set(study.store.pending("ada")), []
            if out.exists():
                rows = [int(line.split(",")[0]) for line in out.read_text().splitlines()[1:]]
                found.broken += len(rows) != 4 or not set(rows) <= held
            found.kept += 4 * (done and len(rows) == 4)
            study.store.release("ada")
        found.broken += not whole(study.target)
    yield "kill ask", found

    study, told = make(home / "told"), dict[int, str]()
    found, seconds = Outcome(note="all labels of a sheet or none"), 0.0
    with study:
        for _ in range(n):
            new_labels = sheet_of(study, out, 5)
            words = ("tell", study.target, str(out), "--as", "ada")
            seconds = seconds or longest(words)
            done = killed(words, seconds)
            found.tried += 1
            part = kept(study, new_labels)
            found.broken += part not in (0, 5)
            if done:
                told |= new_labels
            found.broken += command(*words) != 0  # the same again changes nothing, or tells them
            told |= new_labels
        found.acknowledged, found.kept = len(told), kept(study, told)
        found.doubled = sum(len(given) > 1 for given in study.state().answers.values())
        found.broken += not whole(study.target)
        rows_told = len(told)
    yield "kill tell", found

    found, right = Outcome(note="each file that is there is the whole one"), home / "export"
    words = ("export", study.target, "-o")
    seconds = longest((*words, str(right)))
    # A model is a zip with the time in it.
    wanted = {f.name: f.read_bytes() if f.suffix != ".skops" else b"" for f in right.iterdir()}
    for number in range(max(n // 4, 5)):
        place = home / f"export{number}"
        done = killed((*words, str(place)), seconds)
        found.tried += 1
        there = {file.name: file.read_bytes() for file in place.glob("*") if file.suffix != ".part"}
        found.acknowledged += len(wanted) * done
        found.kept += len(there) * done
        for name, data in there.items():
            found.broken += (
                not readable_model(place / name) if name.endswith(".skops") else data != wanted[name]
            )
    yield "kill export", found

    found = Outcome(note="a copy that is there is whole")
    words = ("study", "backup", study.target, "--to")
    seconds = longest((*words, str(home / "copy")))
    for number in range(n):
        place = home / f"copy{number}"
        done = killed((*words, str(place)), seconds)
        found.tried += 1
        found.acknowledged += rows_told * done
        if place.exists():
            found.broken += not whole(place)
            with Study.open(place) as copy:
                found.kept += kept(copy, told) * done
            shutil.rmtree(place)
    yield "kill backup", found
    yield from kill_proof(home, n, killed, longest)


def readable_model(file: Path) -> bool:
    try:
        load_model(file)
    except Exception:
        return False
    return True


def fill(sheet: Path, right: np.ndarray) -> None:
    """Write the right labels into a sheet of an audit or of a watch."""
    header, *lines = sheet.read_text().splitlines()
    place, cells = header.split(",").index("label"), [line.split(",") for line in lines]
    for row in cells:
        row[place] = str(right[int(row[0])])
    sheet.write_text("\n".join([header, *(",".join(row) for row in cells)]) + "\n")


def said_of(certificate: Path) -> str:
    """What a certificate says, whenever it was issued."""
    found = json.loads(certificate.read_text())
    found["made_from"].pop("issued")
    found.pop("sealed")
    return json.dumps(found)


def kill_proof(
    home: Path, n: int, killed: Callable[..., bool], longest: Callable[..., float]
) -> Iterator[tuple[str, Outcome]]:
    """Kill what the library writes by itself, and give each command again: audits, keys, forms, watches.

    What comes out must be what comes out when nobody is killed.
    """
    rng = np.random.default_rng(0)
    right = rng.integers(2, size=600)
    said = np.where(rng.random(600) < 0.85, right, 1 - right)
    table = home / "loans.csv"
    table.write_text("\n".join(["sex,said", *(f"{'fm'[i % 2]},{s}" for i, s in enumerate(said))]) + "\n")
    begin = ("audit", str(table), "--predictions", "said", "--protected", "sex", "--positive", "1",
             "--budget", "80", "--looks", "2", "--seed", "1")  # fmt: skip

    def step(words: tuple[str, ...], state: Path) -> None:
        """Kill a command if that is wanted, and give it again."""
        if kill:
            found.tried += 1
            done = killed(words, seconds)
            if state.exists():
                json.loads(state.read_text())
            if done and "--month" in words:
                return  # a month cannot be added twice
        code = command(*words)
        if "--month" in words and code == 2:  # it was added, and then the command was killed
            code = command("watch", words[1])
        found.broken += code not in DONE

    def audited(folder: Path) -> str:
        step((*begin, "--out", str(folder)), folder / "audit.json")
        done: set[Path] = set()
        while sheets := sorted({*folder.glob("rows-*.csv")} - done):
            fill(sheets[0], right)
            done.add(sheets[0])
            words = ("audit", str(table), "--tell", str(sheets[0]), "--out", str(folder))
            step(words, folder / "audit.json")
        return said_of(folder / "certificate.json")

    def watched(folder: Path) -> str:
        shutil.copytree(plain, folder)
        month = ("--month", "2025-02", "--certified", "2025-01", "--labels", "40")
        step(("watch", str(folder), str(table), *month), folder / "watch.json")
        fill(folder / "watch-2025-02.csv", right)
        step(("watch", str(folder), "--tell", str(folder / "watch-2025-02.csv")), folder / "watch.json")
        return (folder / "watch.json").read_text()

    plain, kill, found = home / "undisturbed", False, Outcome()
    seconds = longest((*begin, "--out", str(home / "timed")))
    wanted, kill = audited(plain), True
    found = Outcome(note="each certificate is that of an audit that nobody disturbed")
    for number in range(max(n // 4, 3)):
        found.acknowledged += 1
        found.kept += audited(home / f"audit{number}") == wanted
    yield "kill audit", found

    found = Outcome(note="a private key is whole, its owner's alone, and its public one belongs to it")
    seconds = longest(("verify", "--new-key", str(home / "key")))
    for number in range(n):
        key = home / f"key{number}"
        words = ("verify", "--new-key", str(key))
        found.tried += 1
        found.acknowledged += (done := killed(words, seconds))
        if key.exists():
            found.kept += done and OwnerKey.read(key).public in key.with_suffix(".pub").read_text()
        code = command(*words)
        public = key.with_suffix(".pub").read_text().strip()
        found.broken += code not in (0, 2) or OwnerKey.read(key).public != public
    yield "kill new key", found

    found = Outcome(note="page and JSON are there whole, or not")
    words = ("report", str(plain), "--form", "eu-bias-profile", "--sign", str(home / "key"), "--out")
    seconds = longest((*words, str(home / "form.html")))
    for number in range(n):
        found.tried += 1
        files = [home / f"form{number}{suffix}" for suffix in (".html", ".json")]
        done = killed((*words, str(files[0])), seconds)
        same = [f.exists() and f.read_bytes() == (home / f"form{f.suffix}").read_bytes() for f in files]
        found.acknowledged += 2 * done
        found.kept += sum(same) * done
        found.broken += any(f.exists() and not s for f, s in zip(files, same, strict=True))
    yield "kill report", found

    found, kill = Outcome(), False
    shutil.copytree(plain, home / "timing")
    month = ("--month", "2025-02", "--certified", "2025-01")
    seconds = longest(("watch", str(home / "timing"), str(table), *month))
    wanted, kill = watched(home / "watched"), True
    found = Outcome(note="each watch is as one that nobody disturbed")
    for number in range(max(n // 2, 3)):
        found.acknowledged += 1
        found.kept += watched(home / f"watched{number}") == wanted
    yield "kill watch", found


@contextlib.contextmanager
def small_disk(home: Path, size: str = "12m") -> Iterator[Path]:
    """A small file system in memory; OSError where it cannot be mounted."""
    place = home / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)], capture_output=True, check=False
    )
    if mounted.returncode:
        raise OSError("a file system cannot be mounted here")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def full_disk(home: Path) -> Outcome:
    """Label until the disk is full, free it, and go on."""
    found, told = Outcome(), dict[int, str]()
    with small_disk(home) as disk:
        study = make(disk / "study")
        rows = study.ask(ROWS - 20, "ada")
        filler, refused = disk / "filler", 0
        with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(bytes(1 << 12))
        for row in rows[:150]:
            found.tried += 1
            try:
                study.tell([row], [LABELS[row]], "ada", notes=["x" * 1500])
                told[row] = LABELS[row]
            except (*UNREACHABLE, OSError):
                refused += 1
        code = command("study", "backup", study.target, "--to", str(disk / "copy"))
        found.broken += code not in (0, 1, 2) or (code != 0 and (disk / "copy").exists())
        found.broken += not refused
        filler.unlink()
        for row in rows[150:]:
            study.tell([row], [LABELS[row]], "ada")
            told[row] = LABELS[row]
        found.acknowledged, found.kept = len(told), kept(study, told)
        found.doubled = sum(len(given) > 1 for given in study.state().answers.values())
        study.close()
        found.broken += not whole(disk / "study")
    found.note = f"{refused} of {found.tried} answers refused while it was full; all later ones taken"
    return found


def read_only(home: Path) -> Outcome:
    """Every command on a study that cannot be written ends with words, and reads what it can."""
    found = Outcome(note="commands that write end with words; status and verify read")
    with small_disk(home) as disk:
        with make(disk / "study") as study:
            told = sheet_of(study, home / "sheet.csv", 20)
            assert command("tell", study.target, str(home / "sheet.csv"), "--as", "ada") == 0
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        place = str(disk / "study")
        for words in (
            ("tell", place, str(home / "sheet.csv"), "--as", "ada", "--correct"),
            ("ask", place, "-n", "3", "-o", str(home / "more.csv")),
            ("status", place), ("verify", place), ("export", place, "-o", str(disk / "out")),
            ("study", "backup", place, "--to", str(home / "saved")),
            ("study", "people", place, "--add", "bob"),
        ):  # fmt: skip
            found.tried += 1
            found.broken += said_what(*words) is None
        subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
        found.acknowledged = len(told)
        with Study.open(place) as study:
            found.kept = kept(study, told)
        found.broken += not whole(place)
    return found


def said_what(*words: str) -> str | None:
    """Return what a command says in error; None if that is no words of ours."""
    into, out = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(out, 2)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        code = 1
        try:
            fairask(list(words))
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 1
        finally:
            sys.stderr.flush()
            os._exit(code)
    os.close(out)
    with os.fdopen(into) as pipe:
        said = pipe.read()
    wait(child)
    return None if "should not happen" in said or "Traceback" in said else said


def clock_back(home: Path) -> Outcome:
    """Put the clock back by an hour and by a year while people label."""
    found, told = Outcome(), dict[int, str]()
    with make(home / "study") as study:
        token = study.people.add("ada", "owner")
        real = time.time
        for shift in (0.0, -3600.0, -365 * 86400.0, 0.0):
            with mock.patch.object(store_database.time, "time", lambda shift=shift: real() + shift):
                for _ in range(3):
                    found.tried += 1
                    study.draw()
                    for row in study.lease("ada", 20, 60.0):
                        study.tell([row], [LABELS[row]], "ada")
                        told[row] = LABELS[row]
                study.draw()
                found.broken += study.people.by_token(token) is None
                found.broken += not study.lease("bob", 1, 60.0) and study.state().undrawn > 0
                study.store.release("bob")
        times = [event.at for event in study.store.events()]
        found.broken += times != sorted(times)
        found.acknowledged, found.kept = len(told), kept(study, told)
        found.doubled = sum(len(given) > 1 for given in study.state().answers.values())
    found.broken += not whole(home / "study")
    found.note = "by an hour and by a year: times in the log never go back, leases and tokens hold"
    return found


def two_tells(home: Path, n: int) -> Outcome:
    """Two commands tell the same sheet at once, and two tell different ones."""
    found, told = Outcome(note="the same sheet twice, and two sheets, at the same time"), dict[int, str]()
    with make(home / "study") as study:
        for number in range(n):
            sheets = [home / "a.csv", home / "b.csv"]
            for sheet in sheets:
                told |= sheet_of(study, sheet, 5)
            pair = sheets if number % 2 else sheets[:1] * 2
            children = [begun("tell", study.target, str(sheet), "--as", "ada") for sheet in pair]
            found.tried += 1
            ended = [wait(child) for child in children]  # both, whatever the first says
            found.broken += any(ended)
            if not number % 2:
                found.broken += command("tell", study.target, str(sheets[1]), "--as", "ada") != 0
        found.acknowledged, found.kept = len(told), kept(study, told)
        labelled = [(e.who, e.data["row"]) for e in study.store.events() if e.kind == "labelled"]
        found.doubled = len(labelled) - len(set(labelled))
        found.broken += not whole(study.target)
    return found


def postgres_faults(freeze: float) -> Outcome:
    """Freeze a PostgreSQL server, then restart it twice, while somebody labels and repeats what failed."""
    found, told, failed = Outcome(), dict[int, str](), 0
    with started() as server:
        study = make(f"{server.url}/postgres")
        rows, ended = study.ask(ROWS - 20, "ada"), threading.Event()

        def label() -> None:
            nonlocal failed
            for row in rows:
                while row not in told and not ended.is_set():
                    found.tried += 1
                    try:
                        study.tell([row], [LABELS[row]], "ada")
                        told[row] = LABELS[row]
                    except (*UNREACHABLE, StudyError):
                        failed += 1
                        time.sleep(0.2)
                time.sleep(0.02)

        thread = threading.Thread(target=label)
        thread.start()
        port = server.url.rpartition(":")[2]
        (home,) = (p for p in psutil.process_iter() if p.name() == "postgres" and port in p.cmdline())
        time.sleep(1.0)
        thaw = freeze_postgres(home)()
        time.sleep(freeze)
        thaw()
        for _ in range(2):
            time.sleep(1.0)
            server.restart()
        thread.join(300)
        ended.set()
        found.acknowledged, found.kept = len(told), kept(study, told)
        found.doubled = sum(len(given) > 1 for given in study.state().answers.values())
        found.broken += len(told) < len(rows)
        found.broken += not whole(study.target)
        study.close()
    found.note = f"frozen for {freeze:.0f} s and restarted twice: {failed} attempts failed and were repeated"
    return found


def damaged_page(home: Path, n: int, rng: random.Random) -> Outcome:
    """Overwrite a page of study.db; it is said, and a backup is restored in its place."""
    found = Outcome(note="each said in words or harmless; the backup restored has the same hash")
    with make(home / "study") as study:
        told = sheet_of(study, home / "sheet.csv", 40)
        study.tell(list(told), list(told.values()), "ada")
    hash_before = verify(str(home / "study")).hash
    backup(str(home / "study"), str(home / "saved"))
    data = (home / "study" / "study.db").read_bytes()
    pages = len(data) // 4096
    for _ in range(n):
        page, damaged = rng.randrange(pages), bytearray(data)
        damaged[4096 * page : 4096 * (page + 1)] = rng.randbytes(4096)
        (home / "study" / "study.db").write_bytes(damaged)
        found.tried += 1
        found.broken += said_what("verify", str(home / "study")) is None
        shutil.rmtree(home / "study")
        found.broken += command("study", "backup", str(home / "saved"), "--to", str(home / "study")) != 0
        found.broken += verify(str(home / "study")).hash != hash_before
        found.acknowledged += len(told)
        with Study.open(home / "study") as study:
            found.kept += kept(study, told)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=40, help="of each command")
    parser.add_argument("--freeze", type=float, default=20.0, help="seconds")
    parser.add_argument("--only", default="", help="faults with this in their name")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    rng, good = random.Random(0), True
    print(f"{'fault':16}{'tried':>7}{'acknowledged':>14}{'kept':>8}{'lost':>6}{'doubled':>9}{'broken':>8}")

    def show(name: str, found: Outcome) -> None:
        nonlocal good
        good &= found.good
        figures = f"{found.acknowledged:14,}{found.kept:8,}{found.lost:6}{found.doubled:9}{found.broken:8}"
        print(f"{name:16}{found.tried:7}{figures}   {found.note}", flush=True)

    faults: dict[str, Callable[[Path], Outcome]] = {
        "full disk": full_disk,
        "read-only disk": read_only,
        "clock back": clock_back,
        "two tells": lambda home: two_tells(home, max(given.kills // 8, 4)),
        "damaged page": lambda home: damaged_page(home, given.kills, rng),
        "postgres": lambda home: postgres_faults(given.freeze),
    }
    with tempfile.TemporaryDirectory() as folder:
        warm(Path(folder))
    if "kill".startswith(given.only) or given.only.startswith("kill"):
        with tempfile.TemporaryDirectory() as folder:
            for name, found in kills(Path(folder), given.kills, rng):
                show(name, found)
    for name, fault in faults.items():
        if given.only in name:
            with tempfile.TemporaryDirectory() as folder:
                try:
                    show(name, fault(Path(folder)))
                except OSError as error:
                    print(f"{name:16}left out: {error}")
    print(machine())
    raise SystemExit(not good)


if __name__ == "__main__":
    main()
