"""docs/results.md and the pages under docs/results/, all from the result files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from paper.before import changes
from paper.beyond import beyond_section
from paper.figures import FIGURES, draw_all
from paper.heldout import heldout_table
from paper.methods import METHODS
from paper.misses import misses_section
from paper.populations import POPULATIONS
from paper.problems import Setup, get_setup
from paper.promised import promised_section
from paper.reading import SHARES, Check, fare_checks, passive_checks, past_checks, read_claims
from paper.render import body, fold
from paper.reported import CITATION
from paper.rival_misses import rival_misses_section
from paper.rivals import rivals_section
from paper.significance import significance_section
from paper.store import Curves
from paper.tables import all_tables, sweep_table
from paper.takehome import METHODS_NOTE, first_page, methods_table, rivals_ahead, save_takehome
from paper.unrun import unrun_lines

__all__ = ["write_pages"]

Results = dict[tuple[str, str], Curves]

_PROTOCOL = """
Each trial splits the table at random, 75 % to learn from and 25 % to test on; all methods share the splits.
The paper's methods fit logistic regression without penalty under the fair oracle, at tolerance
max(α − 1/√n, 0) with α = 0.1 and n the labels so far. Accuracy and gap are those of the randomised
classifier, in expectation, on the test rows. The paper prints no label budgets; these were inferred from its
passive row.
"""

_MADE = """
A run can be stopped at any time; the same command goes on where it stopped, with the same tables at the end.

The default, also with passive sampling, was run by the present code (19 November 2026, commit 2be2697a) on
the six tables, the ten populations and the five public tables; its blind models by commit 990d158d, which
changes these alone. Trials beyond the first 20 (blind: 10) are by commit bf14216c, with which the first two
on German, Compas and Crime are the same to the last bit. Its trials on Adult with equalized odds and on
Synthetic, and its blind models on Bank, are older: where thresholds alone were not safe, a share of the
decisions was made by lot.

FARE, FARE with λ_diff alone and passive were run by the present code. Other methods of the paper, where they
are older, were run before Hessians came to be inverted by their Cholesky factors: last bits of a fit differ
since, and where one of them decides a near tie, a trial run now draws other rows from that round on. So does
another kind of processor: its kernels of linear algebra add up in another order. `OPENBLAS_CORETYPE=Haswell`
in the environment makes all x86-64 processors since 2013 draw alike.
"""


def write_pages(results: Results, docs: Path, folder: Path, populations: Results | None = None) -> list[Path]:
    """Write ``docs/results.md``, the pages of its topics and their pictures; return the pages.

    ``folder`` is where the benchmarks' files (``misses.csv``, ``promise.csv`` and others) are: what is not
    there is left out. ``populations`` are results of the setup of that name.
    """
    setup, pictures = get_setup("paper"), docs / "img" / "results"
    draw_all(results, setup, pictures, ["png"], dpi=80)
    topics: dict[str, tuple[str, str, Callable[[], list[str]]]] = {
        "default": (
            "The default against what you would use instead",
            "Every rival at the full budget and at half, the same model with passive sampling, blind models.",
            lambda: [*_default(results, setup), *_promised(folder / "promised.csv")],
        ),
        "unseen": (
            "Tables and populations that played no part",
            "Five public tables and ten simulated populations, chosen before any method was run on them.",
            lambda: _unseen(folder / "heldout.csv", populations or {}),
        ),
        "reproduction": (
            "What of the paper reproduces",
            "The protocol, the paper's claims one by one, and its tables with our numbers beside them.",
            lambda: _reproduction(results, setup),
        ),
        "figures": (
            "The paper's figures",
            "The paper's figures from our trials.",
            lambda: _figures(pictures),
        ),
        "rivals": (
            "FAL, FAL-CUR and PANDA here and in the paper",
            "The paper's rivals: where they do better here than in the paper, and better than FARE.",
            lambda: [*rivals_section(results, setup), *fold(*_sweep(results, setup))],
        ),
        "misses": (
            "Why some numbers differ from the paper's",
            "Experiments that change one thing which the paper leaves open.",
            lambda: [
                *misses_section(_failed(results, setup), folder / "misses.csv"),
                *rival_misses_section(setup, folder / "rival_misses.csv"),
            ],
        ),
        "runs": (
            "How the results were made",
            "The commands that make all results from the tables, and those that have not been run.",
            lambda: _runs(results, populations or {}, folder / "before.csv"),
        ),
    }
    save_takehome(results, setup, pictures)
    lacking = unrun_lines({"paper": results, "populations": populations or {}})
    written = [docs / "results.md"]
    (docs / "results").mkdir(parents=True, exist_ok=True)
    linked = []
    for name, (title, what, lines) in topics.items():
        if body := lines():
            written.append(docs / "results" / f"{name}.md")
            written[-1].write_text("\n".join([f"# {title}\n", f"{what}\n", *body]).rstrip() + "\n")
            linked.append((name, title))
    contents = "".join(f"results/{name}\n" for name, _ in linked)
    parts = [*first_page(results, setup, folder), "## More\n"]
    parts += [f"- [{title}](results/{name}.md)" for name, title in linked]
    if lacking:
        parts.append(f"\nSome trials have not been run; [{len(lacking)} commands](results/runs.md) run them.")
    parts.append(f"\n```{{toctree}}\n:hidden:\n\n{contents}```\n")
    written[0].write_text("\n".join(parts))
    return written


def _default(results: Results, setup: Setup) -> list[str]:
    tables = [name for name in setup.problems if (name, "default") in results]
    if not tables:
        return []
    six = [name for name in tables if (name, "plain-passive") in results]
    return [
        "![Labels against accuracy; dashed lines are not fair in the mean](../img/results/takehome.png)\n",
        *fold("All methods at the full budget", [METHODS_NOTE, "", *methods_table(results, setup, six)]),
        *beyond_section(results, setup),
    ]


def _promised(file: Path) -> list[str]:
    return ["## Thresholds with and without a promise\n", *lines] if (lines := promised_section(file)) else []


def _unseen(heldout: Path, results: Results) -> list[str]:
    """The held-out tables, and the populations of ``paper/populations.py``."""
    parts = heldout_table(heldout)
    parts = ["## Five public tables\n", *parts, ""] if parts else []
    if not results:
        return parts
    setup = get_setup("populations")
    names = list(dict.fromkeys(problem for problem, _ in results))
    return [
        *parts,
        "## Ten simulated populations\n",
        "Written down in `paper/populations.py`. 250 labels of a pool of 2,500 rows, tested on 10,000.\n",
        rivals_ahead(results, setup, [name for name in names if (name, "default") in results]) + "\n",
        *fold(
            "The populations",
            [f"- {setup.problem(name).title}: {POPULATIONS[name].__doc__}" for name in names],
        ),
        *fold("All methods", [METHODS_NOTE, "", *methods_table(results, setup, names)]),
    ]


def _reproduction(results: Results, setup: Setup) -> list[str]:
    budgets = ["| dataset | labels | a round | metric |", "|---|---|---|---|"]
    budgets += [f"| {p.title} | {p.budget:,} | {p.batch} | {p.metric} |" for p in setup.problems.values()]
    lines = [_PROTOCOL, *fold("Labels and metric of each table", budgets), "## The paper's claims\n"]
    lines.append(f'Compared with {CITATION}. "Fair" means there that the *mean* gap is at most 0.1.\n')
    lines += _verdict(
        "Passive sampling is within two joint standard errors of the paper", passive_checks(results, setup)
    )
    lines += _verdict(
        "FARE's better share of λ_diff is at most 0.5 points below the paper's accuracy, at a mean gap "
        "of at most 0.1,",
        fare_checks(results, setup),
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
    lines += _verdict(
        "Past the paper, the default is more accurate than the paper's FARE, with a mean gap of at most 0.07 "
        "and at most 15 % of trials above 0.1,",
        past_checks(results, setup),
    )
    lines += ["## Who exceeds the tolerance\n", *significance_section(results, setup), "## Tables\n"]
    for table in all_tables(results, setup):
        lines += fold(table.title, [body(table)])
    return lines


def _verdict(what: str, checks: list[Check]) -> list[str]:
    if not checks:
        return []
    said = f"**{what} on {sum(c.holds for c in checks)} of {len(checks)}.**\n"
    return [said, *fold("Each", [f"- {'✓' if c.holds else '✗'} {c.text}" for c in checks])]


def _failed(results: Results, setup: Setup) -> list[Check]:
    return [c for f in (passive_checks, fare_checks, read_claims) for c in f(results, setup) if not c.holds]


def _sweep(results: Results, setup: Setup) -> tuple[str, list[str]]:
    table = sweep_table(results, setup)
    return table.title, [
        "A rival first spends a share of the budget on uniform labels: FAL measures unfairness on them, "
        "FAL-CUR fits its first model, PANDA trains its policy.\n",
        body(table),
    ]


def _figures(folder: Path) -> list[str]:
    titles = {
        "fig1-sampling": "Fig. 1. The two sampling distributions of FARE, on two features",
        **{name: title for name, (_, title, _) in FIGURES.items()},
        "synthetic": "The synthetic data",
    }
    found = [(name, title) for name, title in titles.items() if (folder / f"{name}.png").exists()]
    return [f"![{title}](../img/results/{name}.png)\n" for name, title in found]


def _runs(results: Results, populations: Results, before: Path) -> list[str]:
    """The commands that made these results, one for each set of methods that some datasets share."""
    methods_of: dict[tuple[str, int], list[str]] = {}
    for (problem, method), curves in results.items():
        methods_of.setdefault((problem, len(curves)), []).append(method)
    sharing: dict[tuple[int, tuple[str, ...]], list[str]] = {}
    for (problem, trials), methods in methods_of.items():
        sharing.setdefault((trials, tuple(methods)), []).append(problem)
    commands = [
        f"python -m paper run --trials {trials} --jobs 2 --out runs --datasets {','.join(problems)} \\\n"
        f"    --methods {','.join(methods)}"
        for (trials, methods), problems in sorted(sharing.items(), key=lambda item: -item[0][0])
    ]
    made = [
        "fairask datasets pull               # four of the six tables; two are in the package",
        *commands,
        "python -m paper floor               # test noise, from the tables",
        "python -m paper pack runs results",
        "python -m paper docs                # these pages",
    ]
    lacking = unrun_lines({"paper": results, "populations": populations})
    lines = [_MADE, *changes(results, before), *fold("Commands", ["```sh", *made, "```"])]
    if lacking:
        lines += [
            "## What has not been run\n",
            "These commands run what is wanted and not here; `paper pack` and `paper docs` follow.\n",
            *fold(f"{len(lacking)} commands", ["```sh", *lacking, "```"]),
        ]
    return lines
