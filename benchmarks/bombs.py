"""Files that would fill memory or take for ever: their time, their memory, and what becomes of them.

``python -m benchmarks.bombs [--only NAME]``: packed files that unpack to far more, a workbook as large as can
be, Parquet of long texts, nested JSON, an endless view, images of 40,000 by 40,000 pixels, and lines made for
regular expressions and for what recognises how a file is written: as cells, as names of columns, and as the
only line. Each is read as ``fairask new`` reads it, in a process of its own with 60 seconds of
the processor and 8 GB at most. A refusal is an error in words. Ends with 1 if anything else happens.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import struct
import tempfile
import time
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks._machine import machine_line
from benchmarks.fuzz import MEMORY, Slow, limited_time
from studio.tests.test_fuzz import BOMBS, endless

#: Each is repeated until it is as long as is asked for.
LINES = {
    "blanks": " ", "underscores": "_", "quotes": '"', "apostrophes": "'", "semicolons": ";", "commas": ",",
    "minus signs": "-", "digits": "9", "thousands": "1,000.", "exponents": "1e", "dates": "2020-01-01 ",
    "days": "01.02.2020/", "currency": "$ -", "percent": "1 %", "addresses": "http://", "images": "a.png?",
    "stars": "**a", "headings": "# ", "brackets": "[[", "braces": '{"a":', "backslashes": "\\",
    "marks on a letter": "\u0301", "words from right to left": "\u202e\u05d0", "wide": "１２",
    "tabs": "\t",
    "nothing": "\0", "returns": "\r", "vectors": "[1, ", "pipes": "|", "a mark of order": "\ufeff",
}  # fmt: skip


def cells(line: str) -> Callable[[Path], Path]:
    """A table with such a cell in every third row."""

    def write(folder: Path) -> Path:
        long = "a" + (line * 100_000)[:100_000] + "b"
        quoted = '"' + long.replace('"', '""') + '"'
        rows = [f"{'fm'[i % 2]},{i % 7},{quoted if i % 3 == 0 else i}" for i in range(90)]
        return written(folder, "\n".join(["sex,age,x", *rows]) + "\n")

    return write


def names(line: str) -> Callable[[Path], Path]:
    """A table with such names of columns."""

    def write(folder: Path) -> Path:
        long = "a" + (line * 50_000)[:50_000]
        heads = ",".join('"' + (long + str(i)).replace('"', '""') + '"' for i in range(4))
        rows = [f"{'fm'[i % 2]},{i % 11},{i % 3},{i % 5},{i % 7}" for i in range(90)]
        return written(folder, "\n".join([f"sex,{heads}", *rows]) + "\n")

    return write


def only(line: str) -> Callable[[Path], Path]:
    """A file that is one line of 20 MB."""
    return lambda folder: written(folder, (line * (20 << 20))[: 20 << 20])


def written(folder: Path, text: str) -> Path:
    (folder / "t.csv").write_text(text, encoding="utf-8", newline="")
    return folder / "t.csv"


def png(side: int) -> bytes:
    """A PNG image of so many grey pixels each way."""

    def part(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    packer = zlib.compressobj(9)
    data = b"".join(packer.compress(bytes(side + 1)) for _ in range(side)) + packer.flush()
    head = struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + part(b"IHDR", head) + part(b"IDAT", data) + part(b"IEND", b"")


def images(folder: Path) -> Path:
    """A zip with two images of 40,000 by 40,000 pixels."""
    with zipfile.ZipFile(folder / "t.zip", "w", zipfile.ZIP_DEFLATED) as out:
        for name in "ab":
            out.writestr(f"{name}.png", png(40_000))
    return folder / "t.zip"


def large_image(folder: Path) -> Path:
    """A zip with an "image" that unpacks to 3.9 GB of nothing."""
    with (
        zipfile.ZipFile(folder / "t.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as out,
        out.open(zipfile.ZipInfo("a.png"), "w", force_zip64=True) as member,
    ):
        for _ in range(3_900):
            member.write(bytes(10**6))
    return folder / "t.zip"


def read_sent(path: Path) -> None:
    """Read a file as the page "New study" does."""
    from fairask_studio.pages.media import image_pixels
    from fairask_studio.pages.sent import SentFiles

    sent = SentFiles()
    sent.take(path.name, path.read_bytes())
    table, _ = sent.read()
    for cell in table.column(0).to_pylist():
        found = sent.find(cell)
        assert found is not None
        assert image_pixels(found.read_bytes()) > 10**9, "the studio shows no image that is so large"


def read_new(path: Path) -> None:
    """Make a study, as ``fairask new`` does."""
    from fairask.tables import read_table
    from fairask_studio import Study

    table = read_table(path)
    protected = "sex" if "sex" in table.column_names else table.column_names[0]
    Study.create(path.parent / "made", table, protected=protected, budget=4).close()


def bombs() -> Iterator[tuple[str, Callable[[Path], Path], Callable[[Path], Any]]]:
    """Name, what writes it, what reads it."""
    for name, (write, _) in BOMBS.items():
        yield name, write, read_new
    yield "endless view", endless, read_new
    yield "images of 40,000 x 40,000", images, read_sent
    yield "image that unpacks to 3.9 GB", large_image, read_sent
    for name, line in LINES.items():
        yield f"cells: {name}", cells(line), read_new
        yield f"names: {name}", names(line), read_new
        yield f"one line: {name}", only(line), read_new


def _work(read: Callable[[Path], Any], path: Path, pipe: Any) -> None:
    from fairask.errors import UserError

    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    before, said = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, "read"
    began = time.process_time()
    try:
        with limited_time():
            read(path)
    except UserError as error:
        said = "refused" if error.what and error.remedy else f"FAULT: no words: {error!r}"
    except (Exception, Slow) as error:
        said = f"FAULT: {type(error).__name__}: {str(error)[:80]}"
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    pipe.send((said, time.process_time() - began, grown >> 10))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="those with this in their name")
    asked = parser.parse_args()
    context, found = multiprocessing.get_context("fork"), []
    with tempfile.TemporaryDirectory() as folder:
        read_new(cells("x")(Path(folder)))  # imports what readers import late
    print(f"{'file':34}{'packed MB':>10}{'seconds':>9}{'MB more':>9}")
    for name, write, read in bombs():
        if asked.only not in name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            path = write(Path(folder))
            mine, theirs = context.Pipe(duplex=False)
            process = context.Process(target=_work, args=(read, path, theirs))
            process.start()
            theirs.close()
            try:
                said, seconds, grown = mine.recv()
            except EOFError:
                said, seconds, grown = "FAULT: the process died", 0.0, 0
            process.join()
            found.append((said, seconds, grown))
            size = path.stat().st_size / 1e6
        print(f"{name:34}{size:10.2f}{seconds:9.2f}{grown:9,}   {said}", flush=True)
    faults = sum(said not in ("read", "refused") for said, _, _ in found)
    slowest, largest = max(s for _, s, _ in found), max(g for _, _, g in found)
    refused = sum(said == "refused" for said, _, _ in found)
    read = len(found) - refused - faults
    print(f"{len(found)} files: {read} read, {refused} refused in words, {faults} faults")
    print(f"slowest {slowest:.1f} s, {largest:,} MB at most; {machine_line()}")
    raise SystemExit(bool(faults))


if __name__ == "__main__":
    main()
