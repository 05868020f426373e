"""A study with many labels: opening it, owners' pages, and what those cost annotators.

``python -m benchmarks.studio_size [--labels 100000] [--seconds 30]`` prints: time and memory of opening the
study; time and queries of a page of rows and of ``labels.csv``;
and the times of "next row" without owners and with three certificate pages open, beside the machine's own
scheduling delay.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

from sqlalchemy import event

from benchmarks._lag import lag
from benchmarks.studio_load import machine, quantiles, served
from benchmarks.studio_soak import Seen, Worker, prepare
from fairask_studio.pages.rows import RowQuery, grid_page
from fairask_studio.pages.settings import file_bytes
from fairask_studio import Study

_OPEN = """
import json, psutil, sys, time
from fairask_studio import Study
process = psutil.Process()
before, began, used = process.memory_info().rss, time.perf_counter(), time.process_time()
study = Study.open(sys.argv[1])
took, used = time.perf_counter() - began, time.process_time() - used
after = process.memory_info().rss
print(json.dumps([took, used, (after - before) / 2**20, after / 2**20, study.status()["labels"]]))
"""


def opened(target: str) -> str:
    found = subprocess.run([sys.executable, "-c", _OPEN, target], capture_output=True, text=True, check=True)
    took, used, grown, whole, labels = json.loads(found.stdout)
    memory = f"{grown:5.0f} MB more, {whole:5.0f} MB in all   ({labels:,} labels)"
    return f"{took:6.2f} s, {used:.2f} s of the processor   {memory}"


def asked(study: Study, question: Callable[[], object]) -> str:
    """Time a question and count its queries."""
    queries: list[str] = []

    def count(connection: object, cursor: object, statement: str, *_: object) -> None:
        queries.append(statement)

    engine = study.store.database._read
    event.listen(engine, "before_cursor_execute", count)
    began, used = time.perf_counter(), time.process_time()
    question()
    took, used = time.perf_counter() - began, time.process_time() - used
    event.remove(engine, "before_cursor_execute", count)
    return f"{took:6.2f} s, {used:.2f} s of the processor   {len(queries)} queries"


def labelled(target: str, owner: str, tokens: list[str], pages: int, seconds: float) -> None:
    """Print the times of annotators while so many certificate pages are open."""
    seen = Seen()

    async def watch(port: int, until: float) -> None:
        page = Worker(port, owner, seen, "owner")
        await page.connect()
        while time.monotonic() < until:
            began = time.monotonic()
            await page.ask("GET", "/api/certificates")
            seen.owners.append(time.monotonic() - began)
            await asyncio.sleep(1.0)

    async def everybody(port: int) -> None:
        until = time.monotonic() + seconds
        people = [Worker(port, token, seen, f"p{i}").annotate(until, 1.0) for i, token in enumerate(tokens)]
        await asyncio.gather(*people, *(watch(port, until) for _ in range(pages)))

    with served(target, 1) as port, lag() as late:
        asyncio.run(everybody(port))
    took = [seconds for _, seconds in seen.next_rows]
    print(f"{pages} certificate pages   next row {quantiles(took)}   ({len(seen.acknowledged)} labels)")
    if seen.owners:
        print(f"                      certificate {quantiles(seen.owners)}")
    print("\n".join(f"                      machine  {words}" for words in late))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--labels", type=int, default=100_000)
    parser.add_argument("--people", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=30.0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        target = f"{folder}/study"
        owner, tokens = prepare(target, given.labels, given.people)
        print(f"open                  {opened(target)}")
        with Study.open(target) as study:
            print(f"a page of rows        {asked(study, lambda: grid_page(study, RowQuery()))}")
            print(f"labels.csv            {asked(study, lambda: file_bytes(study, 'labels.csv'))}")
            study.draw(2000)
        for pages in (0, 3):
            labelled(target, owner, tokens, pages, given.seconds)
    print(machine())


if __name__ == "__main__":
    main()
