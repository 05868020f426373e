"""What the results should hold and do not: the commands that run it."""

from __future__ import annotations

from collections.abc import Mapping

from paper.problems import get_setup
from paper.store import Curves

__all__ = ["WANTED", "unrun_lines"]

_SMALL, _LARGE = ("german", "drug", "compas", "crime"), ("bank", "adult")
_RIVALS = (
    "plain-passive",
    "plain-uncertainty",
    "plain-fal",
    "plain-falcur",
    "threshold-optimizer",
    "relaxed-thresholds",
    "exponentiated-gradient",
)
_OURS = ("default", "default-passive")
#: Setup, problems, methods and the trials of each.
WANTED: tuple[tuple[str, tuple[str, ...], tuple[str, ...], int], ...] = (
    ("paper", (*_SMALL, *_LARGE), _OURS, 100),
    ("paper", ("adult-eo", "synthetic"), _OURS, 100),
    ("paper", _SMALL, _RIVALS, 100),
    ("paper", _LARGE, _RIVALS, 40),
    ("paper", (*_SMALL, *_LARGE), ("default-blind",), 40),
    ("paper", _SMALL, ("fal-10", "fal-25", "fal-50", "falcur-10", "falcur-25", "falcur-50"), 100),
    ("paper", _LARGE, ("fal-10", "fal-25", "fal-50", "falcur-10", "falcur-25", "falcur-50"), 40),
    ("populations", tuple(get_setup("populations").problems), (*_OURS, *_RIVALS, "fare"), 20),
)


def unrun_lines(results: Mapping[str, Mapping[tuple[str, str], Curves]]) -> list[str]:
    """Return the commands that run what has fewer trials than it should."""
    lines = []
    for setup, problems, methods, trials in WANTED:
        lacking: dict[tuple[str, ...], dict[str, int]] = {}
        for problem in problems:
            have = {m: len(results.get(setup, {}).get((problem, m), ())) for m in methods}
            short = {method: n for method, n in have.items() if n < trials}
            if short:
                lacking.setdefault(tuple(short), {})[problem] = sum(short.values())
        for names, found in lacking.items():
            here, wanted = sum(found.values()), trials * len(names) * len(found)
            lines.append(
                f"python -m paper run --setup {setup} --trials {trials} --jobs 2 --out runs "
                f"--skip-packed results \\\n    --datasets {','.join(found)} "
                f"--methods {','.join(names)}  # {here:,} of {wanted:,} trials"
            )
    return lines
