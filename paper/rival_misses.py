"""Why FAL and FAL-CUR end away from the paper's numbers: the experiments, and what they explain."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from paper.methods import METHODS
from paper.misses import near
from paper.problems import Setup
from paper.render import Table, body, fold
from paper.reported import PAPER, Reported
from paper.rivals import CLOSE

__all__ = ["rival_misses_section"]

#: The experiment that changes nothing.
BASE = "as in the profile"
_ENDS = ("accuracy", "accuracy_se", "gap", "gap_se")


def rival_misses_section(setup: Setup, path: Path) -> list[str]:
    """Parts of the page: the experiments of ``benchmarks/rival_misses.py``, where there are any."""
    if not path.exists():
        return []
    with path.open() as file:
        rows = sorted(csv.DictReader(file), key=lambda row: row["variant"] != BASE)
    lines = [
        "## FAL and FAL-CUR\n",
        "The same kind of experiment (`python -m benchmarks.rival_misses`), from 25 % pretraining: one thing "
        "that the paper leaves open is changed at a time, alone and together with a final model without "
        "penalty. `results/rival_misses.csv` has each experiment; other pretraining shares are on the page "
        "of [rivals](rivals.md).\n",
        *_explained(rows, setup),
    ]
    near_paper = Table("", ["dataset", "method", "the paper", BASE, "changes that end near the paper"])
    for problem in setup.problems:
        for rival in dict.fromkeys(_family(r["method"]) for r in rows):
            mine = [r for r in rows if r["problem"] == problem and _family(r["method"]) == rival]
            paper = PAPER.get((problem, str(rival)))
            if mine and paper:
                near_paper.rows.append(
                    [
                        setup.problem(problem).title,
                        str(rival),
                        _ends(paper.accuracy, paper.accuracy_se, paper.gap, paper.gap_se),
                        *(_ends(*map(float, (r[k] for k in _ENDS))) for r in mine if r["variant"] == BASE),
                        "; ".join(row["variant"] for row in mine if near(row, paper)) or "none",
                    ]
                )
    said = (
        "Each dataset: which changes bring accuracy and gap within two joint standard errors of the paper's"
    )
    return [*lines, *fold(said, [body(near_paper)])]


def _ends(accuracy: float, accuracy_se: float, gap: float, gap_se: float) -> str:
    return f"{accuracy:.1f} ± {accuracy_se:.1f} / {gap:.3f} ± {gap_se:.3f}"


def _family(method: str) -> str | None:
    return METHODS[f"{method}-25"].family


def _explained(rows: list[dict[str, str]], setup: Setup) -> list[str]:
    """What explains the distance and what does not, then what each change does over datasets."""
    start = {(r["problem"], r["method"]): float(r["accuracy"]) for r in rows if r["variant"] == BASE}
    above: dict[tuple[str, str], list[float]] = {}
    moved: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        paper, base = _paper(row), start.get((row["problem"], row["method"]))
        if paper is not None and base is not None:
            key = row["method"], row["variant"]
            above.setdefault(key, []).append(float(row["accuracy"]) - paper.accuracy)
            moved.setdefault(key, []).append(float(row["accuracy"]) - base)
    lines = [
        "| method | change | datasets | moves the accuracy by, mean | then above the paper's by, mean "
        f"| mean distance | within {CLOSE} points |",
        "|---|---|---|---|---|---|---|",
    ]
    for (method, variant), found in sorted(above.items(), key=lambda item: item[0][0]):
        far = np.abs(found)
        lines.append(
            f"| {_family(method)} | {variant} | {len(far)} | {np.mean(moved[method, variant]):+.1f} "
            f"| {np.mean(found):+.1f} | {far.mean():.1f} | {(far <= CLOSE).sum()} |"
        )
    said = [
        _conclusion(method, above, rows, setup) for method in dict.fromkeys(method for method, _ in above)
    ]
    return [*said, "", *fold("Each change, in the mean over the datasets", lines)]


def _conclusion(
    method: str, above: dict[tuple[str, str], list[float]], rows: list[dict[str, str]], setup: Setup
) -> str:
    mine = {variant: np.abs(found) for (of, variant), found in above.items() if of == method}
    most = max(len(far) for far in mine.values())
    everywhere = {variant: far for variant, far in mine.items() if len(far) == most}
    nearest = min(everywhere, key=lambda variant: everywhere[variant].mean())
    reached: dict[str, bool] = {}
    for row in rows:
        paper = _paper(row)
        if row["method"] == method and paper is not None:
            reached[row["problem"]] = reached.get(row["problem"], False) or near(row, paper)
    yes, no = (
        [setup.problem(p).title for p, hit in reached.items() if hit is want] for want in (True, False)
    )
    base = mine.get(BASE, np.array([]))
    return (
        f"- {_family(method)}: as in the profile its accuracy is within {CLOSE} points of the paper's on "
        f"{(base <= CLOSE).sum()} of {len(base)} datasets. Of the changes that were tried on most datasets, "
        f"the nearest on average is: {nearest} (mean distance {everywhere[nearest].mean():.1f} points, "
        f"within {CLOSE} on {(everywhere[nearest] <= CLOSE).sum()} of {most}). Some change brings accuracy "
        f"and gap within two joint standard errors on {', '.join(yes) or 'no dataset'}"
        + (f"; none does on {', '.join(no)}, where the paper's numbers are not explained." if no else ".")
    )


def _paper(row: dict[str, str]) -> Reported | None:
    return PAPER.get((row["problem"], str(_family(row["method"]))))
