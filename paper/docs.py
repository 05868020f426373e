"""docs/results.md: commands, tables, figures and a reading, all from the result files."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from paper.beyond import beyond_section
from paper.figures import FIGURES, draw_all
from paper.floor import read_floors
from paper.heldout import heldout_lines
from paper.methods import METHODS
from paper.misses import miss_table, what_helps
from paper.populations import POPULATIONS
from paper.problems import Setup, get_setup
from paper.reading import SHARES, Check, fare_checks, passive_checks, past_checks, read_claims
from paper.render import render
from paper.reported import CITATION, PAPER
from paper.rival_misses import rival_misses_section
from paper.rivals import rivals_section
from paper.significance import significance_section
from paper.store import Curves
from paper.sweeps import sweeps_section
from paper.tables import all_tables
from paper.takehome import methods_table, rivals_ahead, save_takehome, takehome_lines, takehome_table
from paper.unrun import unrun_section

__all__ = ["write_page"]

Results = dict[tuple[str, str], Curves]

_FIRST = """# Results

Generated from the result files in `results/` by `python -m paper docs`; no number in it is typed in.

## What to take home
"""

_PROTOCOL = """
## The reproduction: protocol

Each trial splits the table at random, 75 % to learn from and 25 % to test on; all methods share the splits.
The paper's methods fit logistic regression without penalty under the fair oracle, at tolerance
max(α − 1/√n, 0) with α = 0.1 and n the labels so far. Accuracy and gap are those of the randomised
classifier, in expectation, on the test rows. The paper prints no label budgets; these were inferred from its
passive row:
"""

_MADE = """
## How this page was made

```sh
fairask datasets pull                                 # four of the six tables; two are part of the package
{runs}
python -m paper floor                                 # test noise, from the tables
python -m paper pack runs results
python -m paper tables --format md                    # or latex, html
python -m paper figures --out figures
python -m paper docs
```

The default, also with passive sampling, was run by the present code on Drug, German and Compas. Its other
trials are older: where thresholds alone were not safe, a share of the decisions was made by lot.

A run can be stopped at any time; the same command goes on where it stopped, with the same tables at the end.
FARE, FARE with λ_diff alone and passive were run by the present code. Other methods of the paper, where they
are older, were run before Hessians came to be inverted by their Cholesky factors: last bits of a fit differ
since, and where one of them decides a near tie, a trial run now draws other rows from that round on. So does
another kind of processor: its kernels of linear algebra add up in another order. `OPENBLAS_CORETYPE=Haswell`
in the environment makes all x86-64 processors since 2013 draw alike.
"""


def write_page(
    results: Results, docs: Path, misses: Path | None = None, populations: Results | None = None
) -> Path:
    """Write ``docs/results.md`` and its pictures; return the page's path.

    ``misses`` is the file that ``benchmarks/misses.py`` writes; its rows go into the page, and so do the
    other files beside it. ``populations`` are results of the setup of that name.
    """
    setup = get_setup("paper")
    folder = docs / "img" / "results"
    draw_all(results, setup, folder, ["png"], dpi=80)
    beside = None if misses is None else misses.parent
    parts = [_FIRST, *_take_home(results, setup, folder, beside)]
    parts += [_PROTOCOL, _budgets(setup), "\n## Reading\n", _reading(results, setup)]
    parts += significance_section(results, setup)
    parts += ["\n## Tables\n", *(render(table) + "\n" for table in all_tables(results, setup))]
    parts += ["## Figures\n", _figures(folder)]
    if misses is not None:
        parts += ["\n## Why the misses\n", _explained(results, setup, misses)]
        parts += rival_misses_section(setup, misses.with_name("rival_misses.csv"))
    parts += rivals_section(results, setup)
    parts += sweeps_section(results, setup, folder)
    parts += beyond_section(results, setup, None if beside is None else beside / "heldout.csv")
    if populations:
        parts += ["\n## Ten simulated populations\n", *_populations(populations)]
    parts += unrun_section({"paper": results, "populations": populations or {}})
    parts.append(_MADE.replace("{runs}", _commands(results)))
    page = docs / "results.md"
    page.write_text("\n".join(parts).rstrip() + "\n")
    return page


def _take_home(results: Results, setup: Setup, folder: Path, beside: Path | None) -> list[str]:
    lines = takehome_lines(results, setup)
    figure = save_takehome(results, setup, folder)
    floors = {} if beside is None else read_floors(beside / "floor.csv")
    promise = _promise(None if beside is None else beside / "promise.csv")
    unseen = heldout_lines(None if beside is None else beside / "heldout.csv")
    said = [*(f"- {line}" for line in [lines[0], *promise, *unseen, *lines[1:]]), ""]
    if figure is None:
        return said
    title = "Labels against accuracy; solid lines are fair in the mean, dashed ones are not"
    return [*said, f"![{title}](img/results/{figure})\n", *takehome_table(results, setup, floors)]


def _promise(path: Path | None) -> list[str]:
    """One line on the frozen populations, from the file that ``benchmarks/promise.py`` writes."""
    if path is None or not path.exists():
        return []
    with path.open() as file:
        rows = list(csv.DictReader(file))
    shares = {}
    for method in ("default", "paper"):
        mine = [row for row in rows if row["method"] == method]
        said = [row for row in mine if row["feasible"] in ("1", "True", "true", "1.0")]
        if not mine or not said:
            return []
        shares[method] = (
            1 - len(said) / len(mine),
            np.mean([float(row["gap"]) > 0.1 for row in said]),
            np.mean([float(row["gap"]) > 0.1 for row in mine]),
        )
    count = sum(row["method"] == "default" for row in rows)
    (infeasible, above, of_all), (_, _, of_paper) = shares["default"], shares["paper"]
    return [
        f"On {count} random populations that were frozen before it was tuned, {100 * infeasible:.1f} % of "
        f"the default's models say that the labels do not suffice. Of the others {100 * above:.1f} % are "
        f"above the tolerance, of all {100 * of_all:.1f} % (the paper's profile: {100 * of_paper:.0f} %; "
        "`python -m benchmarks.promise`)."
    ]


def _populations(results: Results) -> list[str]:
    """The populations of ``paper/populations.py``, which was committed before any method was run on them."""
    setup = get_setup("populations")
    names = list(dict.fromkeys(problem for problem, _ in results))
    lines = [f"- {setup.problem(name).title}: {POPULATIONS[name].__doc__}" for name in names]
    return [
        "Written down in `paper/populations.py` and committed before any method was run on them. 250 "
        "labels of a pool "
        "of 2,500 rows, tested on 10,000.\n",
        *lines,
        "",
        *methods_table(results, setup, names),
        "",
        rivals_ahead(results, setup, [name for name in names if (name, "default") in results]),
    ]


def _commands(results: dict[tuple[str, str], Curves]) -> str:
    """The commands that make these results: one for each set of methods that some datasets share."""
    methods_of: dict[tuple[str, int], list[str]] = {}
    for (problem, method), curves in results.items():
        methods_of.setdefault((problem, len(curves)), []).append(method)
    sharing: dict[tuple[int, tuple[str, ...]], list[str]] = {}
    for (problem, trials), methods in methods_of.items():
        sharing.setdefault((trials, tuple(methods)), []).append(problem)
    return "\n".join(
        f"python -m paper run --trials {trials} --jobs 2 --out runs --datasets {','.join(problems)} \\\n"
        f"    --methods {','.join(methods)}"
        for (trials, methods), problems in sorted(sharing.items(), key=lambda item: -item[0][0])
    )


def _budgets(setup: Setup) -> str:
    lines = ["| dataset | labels | a round | metric |", "|---|---|---|---|"]
    lines += [f"| {p.title} | {p.budget:,} | {p.batch} | {p.metric} |" for p in setup.problems.values()]
    return "\n".join(lines) + "\n"


def _reading(results: dict[tuple[str, str], Curves], setup: Setup) -> str:
    passive, fare = passive_checks(results, setup), fare_checks(results, setup)
    lines = [
        f'Compared with {CITATION}. "Fair" means there that the *mean* gap is at most 0.1; the tables '
        "below also say in how many trials it was exceeded.\n"
    ]
    lines += _verdict("Passive sampling is within two joint standard errors of the paper", passive)
    lines += _verdict(
        "FARE's better share of λ_diff is at most 0.5 points below the paper's accuracy, at a mean gap "
        "of at most 0.1,",
        fare,
    )
    alone = ", ".join(
        f"{METHODS[name].label} on {sum(c.holds for c in found)} of {len(found)}"
        for name in SHARES
        if (found := fare_checks(results, setup, (name,)))
    )
    lines.append(
        "The better share is picked for each dataset after seeing these very results, which flatters it. One "
        f"share throughout: {alone}.\n"
    )
    lines += _verdict("Claims in words that hold", read_claims(results, setup))
    past = past_checks(results, setup)
    lines += _verdict(
        "Past the paper, the default (one setting for all, but all six tables were looked at while it was "
        "made, "
        "so none confirms it) is more accurate than the paper's FARE, with a mean gap "
        "of at most 0.07 and at most 15 % of trials above 0.1,",
        past,
    )
    return "\n".join(lines)


def _verdict(what: str, checks: list[Check]) -> list[str]:
    if not checks:
        return []
    lines = [f"**{what} on {sum(c.holds for c in checks)} of {len(checks)}.**\n"]
    return [*lines, *(f"- {'✓' if c.holds else '✗'} {c.text}" for c in checks), ""]


def _explained(results: dict[tuple[str, str], Curves], setup: Setup, misses: Path) -> str:
    with misses.open() as file:
        rows = list(csv.DictReader(file))
    lines = [
        "Each row changes one thing that the paper leaves open and keeps the rest "
        "(`python -m benchmarks.misses`); distances are from the paper's value, in joint standard errors. "
        "A dozen changes are tried on each miss, so one that lands near the paper is a candidate for its "
        "cause and no proof. How much of a miss is chance is told by the row with four times the trials, not "
        "by those with as many as the tables have.\n"
    ]
    checks = [f(results, setup) for f in (passive_checks, fare_checks, read_claims)]
    for check in (c for found in checks for c in found if not c.holds):
        mine = [row for row in rows if (row["problem"], row["method"]) == (check.problem, check.method)]
        paper = PAPER.get((check.problem, "Passive" if check.method == "passive" else "FARE"))
        helps = what_helps(mine, paper) if paper else "The paper prints no number to compare with."
        lines.append(f"**{check.text}.** {helps}\n")
        if mine and paper:
            lines.append(miss_table(mine, paper))
    return "\n".join(lines)


def _figures(folder: Path) -> str:
    titles = {
        "fig1-sampling": "Fig. 1. The two sampling distributions of FARE, on two features",
        **{name: title for name, (_, title, _) in FIGURES.items()},
        "synthetic": "The synthetic data",
    }
    lines = []
    for name, title in titles.items():
        if (folder / f"{name}.png").exists():
            lines.append(f"![{title}](img/results/{name}.png)\n")
    return "\n".join(lines)
