"""Demographic parity of a pool whose decisions are known: no labels, only the strata's sizes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairask.audit.bounds.methods import METHODS
from fairask.audit.certificate import Certificate
from fairask.audit.labelled import LABELS_TARGET
from fairask.audit.questions import QUESTIONS
from fairask.audit.sample import Sample
from fairask.metrics import Int

#: Rows of a group above which the exact bound, which looks at all tables, would take minutes. The
#: Clopper-Pearson bound is as valid, and hardly wider there.
MOST_EXACT = 100_000


def parity(
    groups: Sequence[object], sizes: Int, target: str, tolerance: float, delta: float, metric: str = "dp"
) -> Certificate:
    """Certificate for ``"dp"`` or ``"selection-ratio"`` from the rows of strata ``2 * group + decision``.

    Examples
    --------
    >>> found = parity(["a", "b"], np.array([50, 50, 60, 40]), "pool", 0.2, 0.05)
    >>> found.verdict, found.method, round(found.estimate, 3)
    ('certified', 'known', 0.1)
    """
    size = sizes[0::2] + sizes[1::2]
    here = np.flatnonzero(size)
    hits, size, names = sizes[1::2][here], size[here], [str(groups[g]) for g in here.tolist()]
    rate = hits / size
    ratio = QUESTIONS[metric].ratio
    # Nobody is selected: no group less often than another.
    estimate = QUESTIONS[metric].violation(rate) if rate.any() else 0.0
    name = "exact" if size.max() <= MOST_EXACT and not ratio else "clopper-pearson"
    if target == "pool":
        name, lower, upper, valid = "known", estimate, estimate, "known"
        assumptions: tuple[str, ...] = ("The rows given are the whole pool.",)
        about = "the pool given, all of it"
    else:
        method = METHODS[name]
        sample = Sample.of_counts(names, hits, size)
        found = method.ratios if ratio and method.ratios is not None else method.bounds
        lower, upper = found(sample, (None,), delta)
        lower, upper = min(lower, estimate), max(upper, estimate)
        valid, assumptions, about = method.valid, method.assumptions, LABELS_TARGET
    return Certificate.of(
        (estimate, lower, upper),
        metric=metric,
        tolerance=tolerance,
        delta=delta,
        method=name,
        valid=valid,
        assumptions=assumptions,
        target=about,
        n_labels=0,
        rows=int(size.sum()),
        groups=tuple(names),
        positives=(0,) * len(names),
        negatives=(0,) * len(names),
        rates={"selection_rate": tuple(float(r) for r in rate)},
    )
