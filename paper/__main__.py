"""``python -m paper``: run the paper's benchmark, pack its results, write its tables, figures and page."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from fairask.experiment.runner import missing, run
from paper.docs import write_pages
from paper.figures import draw_all
from paper.floor import write_floors
from paper.methods import METHODS
from paper.problems import get_setup
from paper.render import render
from paper.store import load_curves, pack, packed_trials
from paper.tables import all_tables
from paper.trials import plan

__all__ = ["main"]


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _run(a: argparse.Namespace) -> str:
    problems = a.datasets or list(get_setup(a.setup).problems)
    jobs = plan(a.setup, problems, a.methods, a.trials)
    if a.skip_packed is not None:
        done_by = {(p, m): packed_trials(a.skip_packed, a.setup, p, m) for p in problems for m in a.methods}
        jobs = [job for job in jobs if job.trial not in done_by[job.problem, job.method]]
    todo, start, done = len(missing(jobs, a.out)), time.perf_counter(), 0

    def show(job: object, seconds: float) -> None:
        nonlocal done
        done += 1
        if not a.quiet and sys.stderr.isatty():
            print(f"\r{done} of {todo} trials: {job}", end="\033[K", file=sys.stderr, flush=True)

    try:
        run(jobs, a.out, workers=a.jobs, on_done=show)
    except KeyboardInterrupt:
        print(f"\nstopped: {done} trials done, {todo - done} left; the same command goes on from here")
        raise SystemExit(130) from None
    seconds = time.perf_counter() - start
    return f"{todo} trials computed in {seconds:.0f} s, {len(jobs) - todo} were there already: {a.out}"


def _methods(a: argparse.Namespace) -> str:
    lines = []
    for method in METHODS.values():
        changed = {k: v for k, v in method.settings.items() if v not in (None, {}, 0.0, 1.0)}
        lines.append(f"{method.name:16} {method.label:24} {changed}")
    return "\n".join(lines)


def _pack(a: argparse.Namespace) -> str:
    written = pack(a.folder, a.target)
    return f"{len(written)} files, {sum(p.stat().st_size for p in written) / 1e6:.1f} MB: {a.target}"


def _tables(a: argparse.Namespace) -> str:
    tables = all_tables(load_curves(a.results, a.setup), get_setup(a.setup))
    text = "\n".join(render(table, a.form) for table in tables)
    if a.out is None:
        return text
    a.out.write_text(text)
    return f"{len(tables)} tables: {a.out}"


def _figures(a: argparse.Namespace) -> str:
    paths = draw_all(load_curves(a.results, a.setup), get_setup(a.setup), a.out, a.formats)
    return f"{len(paths)} files: {a.out}"


def _docs(a: argparse.Namespace) -> str:
    simulated = load_curves(a.results, "populations") if (a.results / "populations").exists() else None
    pages = write_pages(load_curves(a.results, "paper"), a.docs, a.results, simulated)
    return f"written: {', '.join(map(str, pages))}"


def _floor(a: argparse.Namespace) -> str:
    return f"written: {write_floors(get_setup('paper'), a.results / 'floor.csv')}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m paper", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="command")
    setup, results = argparse.ArgumentParser(add_help=False), argparse.ArgumentParser(add_help=False)
    setup.add_argument("--setup", default="paper", help="paper, or smoke for a first look")
    results.add_argument(
        "--results", type=Path, default=Path("results"), help="folder of trials (run) or of Parquet (pack)"
    )

    c = commands.add_parser("run", parents=[setup], help="compute the trials that OUT has no result of")
    c.set_defaults(call=_run)
    c.add_argument("--datasets", type=_names, help="comma-separated; default: all of the setup")
    c.add_argument("--methods", type=_names, default=["fare", "passive"], help="comma-separated")
    c.add_argument("--trials", type=int, default=100, help="of each method on each dataset")
    c.add_argument("--jobs", type=int, default=1, help="worker processes")
    c.add_argument("--out", type=Path, default=Path("runs"), help="folder; finished trials are kept")
    c.add_argument(
        "--skip-packed", type=Path, metavar="RESULTS", help="leave out trials that are packed in this folder"
    )
    c.add_argument("-q", "--quiet", action="store_true", help="no progress")

    c = commands.add_parser("methods", help="list the methods and their settings")
    c.set_defaults(call=_methods)

    c = commands.add_parser("pack", help="merge trials into one Parquet file per dataset and method")
    c.set_defaults(call=_pack)
    c.add_argument("folder", type=Path, help="folder of trials")
    c.add_argument("target", type=Path, nargs="?", default=Path("results"), help="folder for Parquet files")

    c = commands.add_parser(
        "tables", parents=[setup, results], help="print the tables, the paper's beside ours"
    )
    c.set_defaults(call=_tables)
    c.add_argument("--format", dest="form", default="md", help="md, latex or html")
    c.add_argument("--out", type=Path, help="file to write; default: the terminal")

    c = commands.add_parser("figures", parents=[setup, results], help="draw the figures")
    c.set_defaults(call=_figures)
    c.add_argument("--out", type=Path, default=Path("figures"), help="folder for the pictures")
    c.add_argument("--formats", type=_names, default=["png", "pdf"], help="comma-separated file types")

    c = commands.add_parser(
        "floor", parents=[results], help="write the noise of test parts; needs the tables"
    )
    c.set_defaults(call=_floor)

    c = commands.add_parser("docs", parents=[results], help="write the pages of results and their figures")
    c.set_defaults(call=_docs)
    c.add_argument("--docs", type=Path, default=Path("docs"), help="folder of the documentation")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; return its exit code: 0 done, 1 failed, 2 wrong use."""
    given = _parser().parse_args(argv)
    try:
        print(given.call(given))
    except (ValueError, ImportError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2 if isinstance(error, ValueError) else 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
