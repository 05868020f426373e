"""The rivals in plain words: where they do better here than in the paper, and than FARE."""

from __future__ import annotations

import numpy as np

from paper.methods import METHODS
from paper.problems import Setup
from paper.render import fold
from paper.reported import PAPER
from paper.stats import apart, mean_and_error, summarize
from paper.store import Curves, by_problem
from paper.tables import best_of_families

__all__ = ["paired", "rivals_section"]

RIVALS = ("FAL", "FAL-CUR", "PANDA")
_SHARES_OF_FARE = ("fare", "fare-diff")
#: Points of accuracy that count as the paper's number.
CLOSE = 1.5


def paired(a: Curves, b: Curves) -> tuple[int, tuple[float, float], tuple[float, float]]:
    """Trials in common; how much more accurate (points) and more unfair a is than b, with errors.

    Trials of one number share their split, so that differences are taken trial by trial.
    """
    a, b = a.of_converged(), b.of_converged()
    shared, mine, theirs = np.intersect1d(a.trials, b.trials, return_indices=True)
    if len(shared) < 2:
        nan = float("nan")
        return len(shared), (nan, nan), (nan, nan)
    accuracy = 100.0 * (a.accuracy[mine, -1] - b.accuracy[theirs, -1])
    gap = a.gap[mine, -1] - b.gap[theirs, -1]
    means, errors = mean_and_error(np.stack([accuracy, gap], axis=1))
    return len(shared), (float(means[0]), float(errors[0])), (float(means[1]), float(errors[1]))


def _best(results: dict[tuple[str, str], Curves], setup: Setup) -> dict[str, dict[str, tuple[str, Curves]]]:
    """By problem, the best member of every family, and the better share of FARE under the same rule."""
    alpha = setup.tolerance
    out: dict[str, dict[str, tuple[str, Curves]]] = {}
    for problem, methods in by_problem(results).items():
        best = best_of_families(methods, alpha)
        found = {str(METHODS[n].family): (n, c) for n, (_, c) in best.items() if METHODS[n].family in RIVALS}
        fare = [(summarize(methods[n], alpha), n) for n in _SHARES_OF_FARE if n in methods]
        if fare:
            name = max(
                fare,
                key=lambda f: (f[0].met(alpha), f[0].accuracy if f[0].met(alpha) else -f[0].gap),
            )[1]
            found["FARE"] = (name, methods[name])
        out[problem] = found
    return out


def rivals_section(results: dict[tuple[str, str], Curves], setup: Setup) -> list[str]:
    """Parts of the page: rivals against the paper's values and against FARE."""
    best = _best(results, setup)
    against_paper = {"better": [], "worse": [], "same": []}  # type: dict[str, list[str]]
    close: dict[str, list[str]] = {}
    for problem, methods in best.items():
        for rival in RIVALS:
            paper = PAPER.get((problem, rival))
            if paper is None or rival not in methods:
                continue
            name, curves = methods[rival]
            end = summarize(curves, setup.tolerance)
            if end.trials < 2:
                continue
            title = setup.problem(problem).title
            if problem != "synthetic" and abs(end.accuracy - paper.accuracy) <= CLOSE:
                close.setdefault(rival, []).append(title)
            by = apart(end.accuracy, end.accuracy_se, end.gap, end.gap_se, paper)
            better, worse = by[0] > 2 or by[1] < -2, by[0] < -2 or by[1] > 2
            text = (
                f"{METHODS[name].label} on {title}: {end.accuracy:.1f} against {paper.accuracy:.1f} "
                f"({by[0]:+.1f}), {end.gap:.3f} against {paper.gap:.3f} ({by[1]:+.1f}), "
                f"{end.trials} trials"
            )
            kind = "better" if better and not worse else "worse" if worse and not better else "same"
            against_paper[kind].append(
                text + (", better on one and worse on the other" if better and worse else "")
            )
    if not any(against_paper.values()):
        return []
    lines = ["## Against the paper\n"]
    lines.append(
        "Accuracy and gap against the paper's; in brackets the distance in joint standard errors, two "
        "of which count; with a handful of trials they count for little. Better is more accurate or less "
        "unfair, and neither of the opposites.\n"
    )
    for kind, words in (
        ("better", "Better here than in the paper"),
        ("worse", "Worse here than in the paper"),
        ("same", "Neither"),
    ):
        lines += fold(f"{words}: {len(against_paper[kind])}", [f"- {text}" for text in against_paper[kind]])
    for rival in RIVALS:
        found = close.get(rival, [])
        lines.append(
            f"- {rival}'s accuracy is within {CLOSE} points of the paper's on {len(found)} of the six "
            f"tables{': ' if found else ''}{', '.join(found)}."
        )
    return [*lines, "", *_against_fare(best, setup)]


def _against_fare(best: dict[str, dict[str, tuple[str, Curves]]], setup: Setup) -> list[str]:
    lines = [
        "\n## Against FARE here\n\nThe better of FARE's two shares under the rule by which the rivals' best "
        "share was picked, trial by trial on the same splits (mean difference ± standard error). The rivals "
        "end with a ridge regression and FARE with none, which alone is worth points where labels are few; "
        "[experiments](misses.md), with uniform rows, say how many.\n"
    ]
    alpha = setup.tolerance
    for problem, methods in best.items():
        for rival in RIVALS:
            if rival not in methods or "FARE" not in methods:
                continue
            (name, curves), (fare, theirs) = methods[rival], methods["FARE"]
            trials, (more, more_se), (worse, worse_se) = paired(curves, theirs)
            if trials < 2:
                continue
            met = summarize(curves, alpha).met(alpha)
            said = _compare(more / max(more_se, 1e-9), worse / max(worse_se, 1e-9), met, alpha)
            lines.append(
                f"- {setup.problem(problem).title}: {METHODS[name].label} is {more:+.1f} ± {more_se:.1f} "
                f"points and {worse:+.3f} ± {worse_se:.3f} in gap away from {METHODS[fare].label} "
                f"({trials} trials): {said}."
            )
    return [*lines, ""]


def _compare(more: float, worse: float, met: bool, alpha: float) -> str:
    """What distances in standard errors amount to."""
    accuracy = "more accurate" if more > 2 else "less accurate" if more < -2 else "as accurate"
    fairness = "less fair" if worse > 2 else "fairer" if worse < -2 else "as fair"
    bound = "within" if met else "above"
    verdict = "**the rival is ahead**, " if (more > 2 or worse < -2) and more > -2 and worse < 2 else ""
    return f"{verdict}{accuracy}, {fairness}, its mean gap {bound} {alpha:g}"
