"""The grid of rows with many labels: search, filters, order, pages and a row's history.

``python -m benchmarks.studio_grid [--labels 100000] [--repeats 20]`` prints the times of each question, as
the studio's desk answers it, by the clock and by the processor (the clock also counts other work).
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable

import numpy as np

from benchmarks.studio_load import machine, quantiles
from fairask_studio.pages.rows import RowQuery, grid_page, row_history
from fairask_studio import Study
from fairask_studio.events import RowLabelled, RowsDrawn

WORDS = ["slow", "rude", "kind", "quick", "late", "lost", "helpful", "closed", "office", "answer", "asked"]


def prepare(target: str, labels: int) -> Study:
    """Make a study of comments, all labelled by five people, every hundredth with a note."""
    rng = np.random.default_rng(0)
    words = np.array(WORDS)[rng.integers(len(WORDS), size=(labels, 30))]
    pool = {
        "comment": [" ".join(line) for line in words],
        "place": [f"office {i}" for i in rng.integers(400, size=labels)],
        "age": rng.integers(18, 90, size=labels).tolist(),
        "sex": np.array(["f", "m"])[rng.integers(2, size=labels)].tolist(),
    }
    study = Study.create(target, pool, protected="sex", budget=labels, sample=labels, random_state=0)
    order = rng.permutation(labels).tolist()
    sizes = [labels - i for i in range(labels)]
    step = 1000
    for batch, start in enumerate(range(0, labels, step)):
        rows = order[start : start + step]
        drawn = RowsDrawn(
            batch,
            rows,
            [1 / labels] * len(rows),
            ["uniform"] * len(rows),
            sizes[start : start + len(rows)],
            [],
        )
        said = [RowLabelled(row, row % 2, "hard to read" if row % 100 == 0 else None) for row in rows]
        study.store.append(f"p{batch % 5}", drawn, *said)
    study.close()
    return Study.open(target)  # which makes the queue of the events


def measure(name: str, question: Callable[[], object], repeats: int) -> None:
    """Print how long a question takes."""
    clock, used = [], []
    for _ in range(repeats):
        began, spent = time.perf_counter(), time.process_time()
        question()
        clock.append(time.perf_counter() - began)
        used.append(time.process_time() - spent)
    print(f"{name:28}{quantiles(clock)}   processor p95 {np.quantile(used, 0.95) * 1000:6.1f} ms", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--labels", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=20)
    given = parser.parse_args()
    asked = {
        "newest page": RowQuery(),
        "page with columns": RowQuery(columns=("comment", "place", "age")),
        "filter by person": RowQuery(who="p3"),
        "filter by label and group": RowQuery(label="1", group="f"),
        "filter by note": RowQuery(note=True),
        "sort by a column": RowQuery(sort="-age"),
        "sort by time": RowQuery(sort="at"),
        "search, few hits": RowQuery(search="office 377"),
        "search, no hit": RowQuery(search="zebra"),
        "search, filter and sort": RowQuery(search="helpful", who="p3", sort="place"),
    }
    with tempfile.TemporaryDirectory() as folder, prepare(f"{folder}/study", given.labels) as study:
        for name, query in asked.items():
            measure(name, lambda query=query: grid_page(study, query), given.repeats)  # type: ignore[misc]
        deep = given.labels - 60
        measure("last page", lambda: grid_page(study, RowQuery(offset=deep)), given.repeats)
        row = study.state().log.entries[given.labels // 2].index
        measure("history of a row", lambda: row_history(study, row), given.repeats)
    print(f"{given.labels:,} labelled rows; {machine()}")


if __name__ == "__main__":
    main()
