"""The exported model: a table goes in, decisions come out. Its file is skops': loading it runs no code."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike
from sklearn.pipeline import Pipeline

from fairask.documents import check_archive, reading
from fairask.errors import InputWarning
from fairask.metrics import Matrix
from fairask.oracle import FairOracle
from fairask.tables.arrow import column_names, frame_table
from fairask.tables.frames import arranged
from fairask.tables.groups import GroupColumns, protected_columns
from fairask_studio.errors import StudyError

#: Classes of fairask that a model file may hold, besides scikit-learn's and numpy's own.
TRUSTED = (
    "fairask.tables.encoder.Encoder",
    "fairask.oracle.calibrated.CalibratedFairOracle",
    "fairask.oracle.distribution_free.DistributionFreeFairOracle",
    "fairask.oracle.empirical.EmpiricalFairOracle",
    "fairask.oracle.linear_forest.LinearForest",
    "fairask.oracle.linear_forest.PlainTrees",
    "fairask.oracle.probability.Calibration",
    "fairask.rules.ConstantRule",
    "fairask.rules.FittedProbability",
    "fairask.rules.LinearProbability",
    "fairask.rules.LinearRule",
    "fairask.rules.PlugInRule",
    "fairask.rules.Scaling",
    "fairask_studio.model.TableModel",
    "numpy.dtype",
)


class TableModel(Pipeline):  # type: ignore[misc]
    """The model of a study with its encoder, the steps "encode" and "model".

    It takes the study's table: a data frame of any library with all columns, in any order, or an array of
    :attr:`columns_` in their order. Groups are found in the frame by name unless they are given.

    What is given is compared with what the model learned from: a missing column, or numbers in place of
    dates, is an error that names the column; values of another size, or categories that were never seen in
    most rows, are an ``InputWarning`` that does.

    Attributes
    ----------
    columns_ : list of str
        Columns that the model learned from; also ``feature_names_in_``.
    protected_ : dict
        The protected columns as they were named, and their groups.
    fairask_ : dict or None
        Which model it is: round, labels, digest, and whether a certificate is about it; None where the study
        has not recorded a fit.
    """

    columns_: list[str]
    protected_: dict[str, object]
    fairask_: dict[str, Any] | None

    @property
    def feature_names_in_(self) -> npt.NDArray[np.object_]:
        """Columns that the model learned from."""
        return np.array(self.columns_, dtype=object)

    @property
    def oracle(self) -> FairOracle:
        """The fitted fair model, which takes features."""
        model: FairOracle = self.named_steps["model"]
        return model

    def encoded(self, X: Matrix) -> Matrix:
        """Return the features of a table; a column that is missing is refused by name."""
        return self.named_steps["encode"].transform(arranged(X, self.columns_))

    def groups_of(self, X: Matrix) -> npt.NDArray[np.object_] | None:
        """Return the groups that a data frame's protected columns say, None for each row that has none.

        None for an array, whose columns have no names.
        """
        names = column_names(X)
        if names is None:
            return None
        groups = GroupColumns.from_dict(self.protected_)
        return groups.known(frame_table(X, protected_columns(groups.columns, names)).combine_chunks())

    def _decide(
        self, decide: Callable[..., Any], X: Matrix, sensitive_features: ArrayLike | None, **params: Any
    ) -> Any:
        """Decide for each row that has a group, if decisions need one; for others there is no answer."""
        rows = self.encoded(X)
        if not self.oracle.needs_groups:
            return decide(rows, sensitive_features, **params)
        groups = self.groups_of(X) if sensitive_features is None else np.asarray(sensitive_features, object)
        known = self._grouped(groups)
        if groups is None or known.all():
            return decide(rows, groups, **params)
        classes = decide == self.oracle.predict
        whole = np.full(len(rows), None, dtype=object) if classes else np.full((len(rows), 2), np.nan)
        if known.any():
            whole[known] = decide(rows[known], groups[known], **params)
        return whole

    def _grouped(self, groups: npt.NDArray[np.object_] | None) -> npt.NDArray[np.bool_]:
        """Which rows have one of the model's groups; a warning counts and numbers the others."""
        if groups is None:
            return np.ones(0, dtype=bool)
        known = np.isin(groups.astype(str), [str(group) for group in self.oracle.groups_])
        known &= np.array([group is not None for group in groups], dtype=bool)
        if len(gone := np.flatnonzero(~known)):
            shown = ", ".join(map(str, gone[:8])) + (f" and {len(gone) - 8:,} more" if len(gone) > 8 else "")
            columns = ", ".join(GroupColumns.from_dict(self.protected_).columns)
            warnings.warn(
                f"{len(gone):,} of {len(groups):,} rows have none of the model's groups in {columns!r}, so "
                f"there is no decision for them (None, or NaN for a probability): rows {shown}, from 0",
                InputWarning,
                stacklevel=4,
            )
        return known

    def predict(self, X: Matrix, sensitive_features: ArrayLike | None = None, **params: Any) -> Any:
        """Predict classes; see :meth:`fairask.oracle.FairOracle.predict`.

        Where decisions need the group, a row without one of the model's groups gets None, and an
        ``InputWarning`` numbers such rows; the others are decided as always.
        """
        return self._decide(self.oracle.predict, X, sensitive_features, **params)

    def predict_proba(self, X: Matrix, sensitive_features: ArrayLike | None = None) -> Any:
        """Probability of deciding for each class; see :meth:`fairask.oracle.FairOracle.predict_proba`.

        NaN for a row without one of the model's groups, where decisions need the group.
        """
        return self._decide(self.oracle.predict_proba, X, sensitive_features)

    def label_proba(self, X: Matrix, sensitive_features: ArrayLike | None = None) -> Any:
        """Estimated probability of each label; see :meth:`fairask.oracle.FairOracle.label_proba`."""
        return self._decide(self.oracle.label_proba, X, sensitive_features)

    def score(
        self,
        X: Matrix,
        y: ArrayLike,
        sensitive_features: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        **params: Any,
    ) -> float:
        """Accuracy of :meth:`predict`, on the rows for which there is a decision."""
        said = self.predict(X, sensitive_features, **params)
        known = np.array([one is not None for one in said], dtype=bool)
        if not known.any():
            raise StudyError("no row has one of the model's groups", "Give rows with the protected columns")
        weights = None if sample_weight is None else np.asarray(sample_weight)[known]
        return float(np.average(said[known] == np.asarray(y)[known], weights=weights))


def load_model(path: str | Path) -> TableModel:
    """Read an exported model; only classes of scikit-learn, numpy and the fair oracle are allowed in it.

    See :class:`fairask_studio.TableModel` for what it takes.

    Examples
    --------
    >>> import tempfile
    >>> from fairask_studio import Study
    >>> pool = {"age": [20, 30, 40, 50], "sex": ["f", "m"] * 2}
    >>> folder = tempfile.mkdtemp()
    >>> with Study.create(f"{folder}/loans", pool, protected="sex", batch_size=4, random_state=0) as study:
    ...     rows = study.ask()
    ...     _ = study.tell(rows, [str(int(row > 1)) for row in rows])
    ...     _ = study.export(f"{folder}/out")
    >>> model = load_model(f"{folder}/out/model.skops")
    >>> model.columns_
    ['age']
    >>> import pandas
    >>> model.predict(pandas.DataFrame(pool)).shape
    (4,)
    """
    from skops import io

    file = Path(path)
    with reading(file.name, "Give model.skops of an export", StudyError):
        content = file.read_bytes()
        check_archive(file.name, content, StudyError)
        model = io.loads(content, trusted=list(TRUSTED))
        if not isinstance(model, TableModel):
            raise StudyError(f"{file.name} holds a {type(model).__name__}", "Give model.skops of an export")
        return model


def model_bytes(model: TableModel) -> bytes:
    """Return the file of a model."""
    from skops import io

    return bytes(io.dumps(model))
