"""What tests of ``fairask audit`` share: a pool, filled-in sheets, and runs to the end."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from typer.testing import Result

Run = Callable[..., Result]
Rows = list[dict[str, Any]]
COLUMNS = ("--predictions", "said", "--protected", "sex")
#: Exit code while labels are awaited.
AWAITED = 3
SHORT = (*COLUMNS, "--positive", "yes", "--budget", 300, "--looks", 2)


def applications(n: int = 3000, gap: float = 0.0) -> Rows:
    rng = np.random.default_rng(0)
    out = []
    for i in range(n):
        sex = "m" if i % 3 else "f"
        truth = bool(rng.random() < 0.5)
        right = rng.random() < (0.95 - gap * (sex == "f"))
        out.append(
            {
                "name": f"=cmd|{i}" if i % 2 else f"né{i}",
                "sex": sex,
                "said": "yes" if truth == right else "no",
                "truth": "yes" if truth else "no",
            }
        )
    return out


def read(path: Path | str) -> Rows:
    with Path(path).open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def label(path: Path | str, truth: Rows, to: str, part: slice = slice(None)) -> Path:
    """Write row numbers and true labels of the rows in a batch file."""
    rows = read(path)[part]
    with Path(to).open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["label", "row", "check"])
        writer.writerows([truth[int(r["row"])]["truth"], r["row"], r["check"]] for r in reversed(rows))
    return Path(to)


def to_the_end(fairask: Run, pool: Path, truth: Rows, *words: Any) -> Result:
    for look in range(1, 10):
        file = Path("pool.audit", f"rows-{look}.csv")
        result = fairask("audit", pool, "--tell", label(file, truth, "told.csv"), *words)
        assert result.exit_code in (0, 1, 3), result.output
        if Path("pool.audit/certificate.json").exists():
            return result
    raise AssertionError("the audit never ends")


def refused(result: Result, *words: str) -> None:
    assert result.exit_code == 2, result.output
    assert len(result.stderr.strip().splitlines()) == 2, result.stderr
    for word in words:
        assert word in result.stderr
    assert not result.stdout


def contents(folder: str = "pool.audit") -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in Path(folder).iterdir()}
