"""Columns that give the group away: who sees them knows the protected attribute although it is hidden."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairask_studio.columns import MEDIA
from fairask_studio.study import Study

#: Rows that are looked at, folds, and how much better than guessing a column must be to be named.
_ROWS, _FOLDS, _TOLD = 1500, 3, 0.5
#: A column's name, and how well it tells the group: 0 is guessing, 1 is always right.
Proxy = tuple[str, float]


def group_lift(values: list[Any], codes: NDArray[np.int64]) -> float:
    """Return how well values tell the group, out of fold: 0 is guessing, 1 is always right.

    Texts are compared by their letters, so that first names tell; numbers by their size.

    Examples
    --------
    >>> codes = np.arange(60) % 2
    >>> group_lift(["Anna", "Otto"] * 30, codes)
    1.0
    >>> group_lift([1.0] * 60, codes)
    0.0
    """
    from sklearn.feature_extraction.text import HashingVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import balanced_accuracy_score
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from sklearn.tree import DecisionTreeClassifier

    groups = len(np.unique(codes))
    if groups < 2 or np.bincount(codes).min() < _FOLDS:
        return 0.0
    folds = StratifiedKFold(_FOLDS, shuffle=True, random_state=0)
    numbers = all(isinstance(value, int | float) or value is None for value in values)
    if numbers:
        known = np.array([np.nan if value is None else float(value) for value in values])
        X: Any = np.nan_to_num(known, nan=float(np.nanmean(known)) if np.isfinite(known).any() else 0.0)[
            :, None
        ]
        model: Any = DecisionTreeClassifier(min_samples_leaf=10, class_weight="balanced", random_state=0)
    else:
        letters = HashingVectorizer(analyzer="char_wb", ngram_range=(1, 4), n_features=1 << 13)
        X = letters.fit_transform(["" if value is None else str(value)[:300] for value in values])
        model = LogisticRegression(C=10.0, class_weight="balanced", max_iter=200)
    found = balanced_accuracy_score(codes, cross_val_predict(model, X, codes, cv=folds))
    return float(round(max((found - 1 / groups) / (1 - 1 / groups), 0.0), 3))


def proxy_columns(study: Study) -> list[Proxy]:
    """Return the columns shown to annotators that tell the group well, the best one first.

    Examples
    --------
    >>> import tempfile
    >>> pool = {"name": ["Anna", "Otto"] * 30, "age": list(range(20, 50)) * 2, "sex": ["f", "m"] * 30}
    >>> with Study.create(tempfile.mkdtemp() + "/people", pool, protected="sex") as study:
    ...     proxy_columns(study)
    [('name', 1.0)]
    """
    config = study.config
    kinds = {column.name: column for column in config.columns}
    names = [n for n in config.shown if kinds[n].role != "protected" and kinds[n].display not in MEDIA]
    rows = np.arange(config.rows)
    if len(rows) > _ROWS:
        rows = np.sort(np.random.default_rng(0).choice(rows, _ROWS, replace=False))
    cells = study.rows(rows.tolist())
    found = [(name, group_lift([row[name] for row in cells], study.codes[rows])) for name in names]
    return sorted((proxy for proxy in found if proxy[1] >= _TOLD), key=lambda proxy: -proxy[1])
