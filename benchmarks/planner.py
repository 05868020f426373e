"""The table behind the planner in the browser: labels with which audits certify, simulated by the library.

``python -m benchmarks.planner`` simulates audits for a grid of settings and writes results/planner.csv,
resuming what is there; each line has how many audits certified with each budget. ``--write`` makes
docs/_static/planner-table.js of it. ``--check 200`` compares what the page says for random settings with what
`fairask.audit.plan_audit` simulates for them; it needs a browser.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import json
import math
import time
from pathlib import Path

import numpy as np

from fairask.audit import plan_audit
from fairask.audit.plan import QUESTIONS, AuditPlan
from fairask.audit.simulation import CERTIFIED, Truth, ones_apart, play
from fairask.audit.layout import Layout

ROOT = Path(__file__).parents[1]
FILE, TABLE = ROOT / "results" / "planner.csv", ROOT / "docs" / "_static" / "planner-table.js"
#: The grid. ``least`` is the share of the smallest group as a part of an equal share; ``yes`` and ``no`` are
#: the shares of label 1 among the accepted and the other rows.
AXES = {
    "groups": (2, 4),
    "tolerance": (0.04, 0.1, 0.25),
    "delta": (0.01, 0.1),
    "apart": (0.0, 0.5),
    "least": (0.1, 0.3, 1.0),
    "accepted": (0.1, 0.35, 0.65, 0.9),
    "yes": (0.5, 0.75, 0.95),
    "no": (0.02, 0.1, 0.3),
}
OUTER, INNER = ("groups", "tolerance", "delta", "apart"), ("least", "accepted", "yes", "no")
#: So large that its size does not matter; budgets as multiples of the square of 1 / tolerance.
POOL, BUDGETS, AUDITS = 4_000_000, [2.0**k for k in range(8)], 10


def strata(groups, least, accepted, pool):
    """Rows of each (group, decision), the largest group first and the smallest second."""
    smallest = least / groups
    others = (1 - smallest) / (groups - 1)
    shares = np.array([others, smallest, *[others] * (groups - 2)])
    return np.round(pool * shares[:, None] * [1 - accepted, accepted]).ravel()


def curves(groups, tolerance, delta, apart):
    """Simulate all cells of the inner axes at once; return how many audits certify with each budget."""
    layout, question = Layout.plain(groups), QUESTIONS["tprp"]
    cells = list(itertools.product(*(AXES[name] for name in INNER)))
    size = np.array([strata(groups, least, accepted, POOL) for least, accepted, _, _ in cells])
    ones = [
        ones_apart(rows, np.where(layout.decision[0] == 1, yes, no), layout, question, apart * tolerance)
        for rows, (_, _, yes, no) in zip(size, cells, strict=True)
    ]
    size, ones = (np.repeat(np.array(values), AUDITS, axis=0) for values in (size, ones))
    budgets = [round(b / tolerance**2) for b in BUDGETS]
    chances = []
    for number, budget in enumerate(budgets):
        plan = AuditPlan(tolerance=tolerance, delta=delta, budget=budget)
        rng = np.random.default_rng(
            [groups, number, round(1e4 * tolerance), round(1e4 * delta), round(10 * apart)]
        )
        codes, _ = play(Truth(size, ones), plan.schedule(POOL), layout, rng)
        chances.append((codes[:, 0] == CERTIFIED).reshape(len(cells), AUDITS).mean(axis=1))
    counts = (AUDITS * np.transpose(chances)).round().astype(int)
    return [(*cell, *found.tolist()) for cell, found in zip(cells, counts, strict=True)]


def growth(x):
    """How log-odds grow with labels, in multiples of those of half a chance: seen, not derived."""
    return np.where(x < 1, 1 - 1 / np.minimum(x, 1), np.log(np.maximum(x, 1)))


def fit(budgets, counts):
    """Labels of half a chance and the slope, by the largest likelihood; a slope is near 3 unless told."""
    middle = np.exp(np.linspace(math.log(budgets[0] / 4), math.log(4 * budgets[-1]), 400))
    slope = np.exp(np.linspace(math.log(1.2), math.log(9), 30))
    z = slope[:, None, None] * growth(np.array(budgets) / middle[:, None])
    told = counts * -np.logaddexp(0, -z) + (AUDITS - counts) * -np.logaddexp(0, z)
    i, j = np.unravel_index((told.sum(axis=-1) - 4 * np.log(slope / 3.2)[:, None] ** 2).argmax(), z.shape[:2])
    return middle[j], slope[i]


def simulate(seconds):
    """Simulate what is missing."""
    done = set()
    if FILE.exists():
        with FILE.open() as file:
            done = {tuple(float(row[name]) for name in OUTER) for row in csv.DictReader(file)}
    began = time.monotonic()
    with FILE.open("a", newline="") as file:
        out = csv.writer(file)
        if not done:
            out.writerow([*OUTER, *INNER, *(f"certified at {b:g} / tolerance^2" for b in BUDGETS)])
        for setting in itertools.product(*(AXES[name] for name in OUTER)):
            if setting in done or time.monotonic() - began > seconds:
                continue
            out.writerows([(*setting, *row) for row in curves(*setting)])
            file.flush()
            print(*setting, f"{time.monotonic() - began:.0f} s", flush=True)


def write():
    """Make the table of the page: both numbers of each cell, in the order of the axes."""
    with FILE.open() as file:
        rows = {
            tuple(float(row[n]) for n in AXES): np.array([int(v) for v in list(row.values())[len(AXES) :]])
            for row in csv.DictReader(file)
        }
    cells = [
        fit([b / cell[1] ** 2 for b in BUDGETS], rows[tuple(map(float, cell))])
        for cell in itertools.product(*AXES.values())
    ]
    table = {
        "axes": AXES,
        "labels": [round(100 * math.log(float(n))) for n, _ in cells],  # hundredths of the log
        "slope": [round(10 * float(b)) for _, b in cells],
    }
    TABLE.write_text(f"const PLANNER_TABLE = {json.dumps(table, separators=(',', ':'))};\n")
    print(f"{len(cells):,} cells, {TABLE.stat().st_size / 1000:.0f} kB")


def check(settings):
    """Print how far the page's chances and labels are from the library's."""
    from playwright.sync_api import sync_playwright

    rng, rows = np.random.default_rng(0), []
    with sync_playwright() as browser:
        page = browser.chromium.launch(executable_path="/usr/bin/chromium").new_page()
        for file in (TABLE, TABLE.with_name("planner.js")):
            page.add_script_tag(path=str(file))
        for _ in range(settings):
            groups = int(rng.integers(2, 5))
            given = {
                "groups": groups,
                "smallest": round(float(rng.uniform(0.15, 1) / groups), 3),
                "accepted": round(float(rng.uniform(0.1, 0.9)), 2),
                "yes": round(float(rng.uniform(0.5, 0.95)), 2),
                "no": round(float(rng.uniform(0.02, 0.3)), 2),
                "tolerance": round(float(np.exp(rng.uniform(*np.log((0.04, 0.2))))), 3),
                "delta": round(float(np.exp(rng.uniform(*np.log((0.01, 0.1))))), 3),
                "rows": int(np.exp(rng.uniform(*np.log((3000, 300_000))))),
            }
            needed = page.evaluate("given => planner.labels(given, 0.8, 0)", given)
            given["budget"] = budget = max(
                50, min(given["rows"] // 2, round(needed * float(rng.uniform(0.5, 1.5))))
            )
            said = page.evaluate("given => [planner.chance(given, 0), planner.chance(given, 0.5)]", given)
            rows.append((*said, *found(given, budget)))
    said, true = np.array(rows)[:, :2], np.array(rows)[:, 2:]
    off = np.abs(said - true)
    for name, some in (("groups alike", off[:, 0]), ("half a tolerance apart", off[:, 1])):
        print(
            f"{name}: of {settings} settings the chance is {100 * some.mean():.1f} points off on average, "
            f"{100 * np.quantile(some, 0.9):.0f} or less in 90 %, {100 * some.max():.0f} at most"
        )


def found(given, budget):
    """The chances that the library simulates for the same pool."""
    import fairask.audit.simulation as simulation

    size = strata(
        given["groups"], given["smallest"] * given["groups"], given["accepted"], given["rows"]
    ).astype(int)
    names = np.repeat(np.arange(2 * given["groups"]) // 2, size)
    decided = np.repeat(np.arange(2 * given["groups"]) % 2, size)
    before, simulation.ASSUMED = simulation.ASSUMED, (given["no"], given["yes"])
    try:
        plan = plan_audit(
            decided, names, budgets=[budget], n_audits=400, tolerance=given["tolerance"], delta=given["delta"]
        )
    finally:
        simulation.ASSUMED = before
    return plan.rows[0].certify_alike, plan.rows[0].certify_half


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--seconds", type=float, default=math.inf, help="begin no new setting after this time"
    )
    parser.add_argument("--write", action="store_true", help="make the table of the page")
    parser.add_argument(
        "--check", type=int, metavar="N", help="compare with the library for so many settings"
    )
    options = parser.parse_args()
    if options.check:
        check(options.check)
    elif options.write:
        write()
    else:
        simulate(options.seconds)


if __name__ == "__main__":
    main()
