"""Is a certificate about this model and this pool? Compute the model's decisions again and compare."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike

from fairask.audit.certificate import (
    CertificateCheck,
    broken_seal,
    changes,
    other_table,
    read_certificate,
    verdict_of,
)
from fairask.audit.table import scores_of
from fairask.metrics import Float
from fairask.tables import group_names, read_table
from fairask_studio._errors import StudyError
from fairask_studio.estimating import decisions_digest
from fairask_studio.events import Document
from fairask_studio.exporting import load_model
from fairask_studio.model import TableModel


def check_certificate(certificate: str | Path, model: str | Path, pool: str | Path) -> CertificateCheck:
    """Compute the decisions of a model on a pool again, and compare them with those that were certified.

    Parameters
    ----------
    certificate : path
        ``certificate.json`` of a study's export, or of ``fairask audit``; or the folder of an audit.
    model : path
        ``model.skops`` of a study's export.
    pool : path
        The table of the study or of the audit.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> _ = Path(folder, "c.json").write_text("{}")
    >>> check_certificate(f"{folder}/c.json", "model.skops", "pool.csv")
    Traceback (most recent call last):
    fairask_studio._errors.StudyError: c.json does not name the model that it is about...
    """
    found, name = read_certificate(certificate)
    if "model" in found:
        return _of_study(found, _loaded(model), read_table(Path(pool)))
    if "made_from" in found:
        return _of_audit(found, _loaded(model), Path(pool))
    raise StudyError(f"{name} does not name the model that it is about; export it with this version")


def _loaded(model: str | Path) -> TableModel:
    try:
        return load_model(model)
    except Exception as error:  # a damaged zip, schema or array: skops raises what it meets
        raise StudyError(f"{Path(model).name} cannot be read as a model: {error}") from error


def _positive(model: TableModel, table: pa.Table, protected: str | Sequence[str]) -> Float:
    """Return the probability of a positive decision per row; the model knows its own groups since 0.2.0."""
    for name in model.columns_:
        if name not in table.column_names:
            raise StudyError(f"the pool has no column {name!r}; give the table that the study was made with")
    groups: ArrayLike | None = model.groups_of(table) if model.oracle.needs_groups else None
    if groups is None and model.oracle.needs_groups:
        groups = group_names(table, protected)
    return model.oracle.decision_probability(model.encoded(table), groups)


def _of_study(found: Document, model: TableModel, table: pa.Table) -> CertificateCheck:
    about = found["model"]
    rows = about["digest_of_rows"]
    if rows is not None and max(rows, default=0) < table.num_rows:
        table = table.take(pa.array(rows, pa.int64()))
    digest = decisions_digest(_positive(model, table, about["protected"]))
    problems = broken_seal(found)
    if found["verdict"] != verdict_of(found["lower"], found["upper"], found["tolerance"]):
        problems.append("its verdict is not that of its bounds")
    if digest != about["digest"]:
        problems.append(
            f"this model's decisions on this pool have digest {digest[:12]}, the certified ones "
            f"{about['digest'][:12]}"
        )
    words = f"round {about['round']} on {about['labels']} labels, digest {about['digest'][:12]}"
    return CertificateCheck(found["verdict"], words, tuple(problems))


def _of_audit(found: Document, model: TableModel, pool: Path) -> CertificateCheck:
    made, problems = found["made_from"], changes(found) + other_table(found, pool)
    column, _, rest = made["predictions"].partition(" (positive: ")
    table = read_table(pool)
    if column not in table.column_names:
        raise StudyError(f"{pool.name} has no column {column!r}; give the table that was audited")
    said, _ = scores_of(table.column(column), column, _classes_in(rest.removesuffix(")")), False)
    positive = _positive(model, table, _specs_in(made["groups"], table.column_names))
    other = int((np.abs(said - positive) > 1e-6).sum())
    if other and set(np.unique(said)) <= {0.0, 1.0}:
        other = int((said != (positive > 0.5)).sum())
    if other:
        problems.append(f"this model decides otherwise than {column!r} in {other:,} of {len(said):,} rows")
    return CertificateCheck(found["verdict"], f"predictions {column}", tuple(problems))


def _classes_in(text: str) -> list[str]:
    """The positive classes as a certificate names them: one as it is, several in quotes.

    Examples
    --------
    >>> _classes_in('"passed", "distinction"'), _classes_in("0, 1"), _classes_in("")
    (['passed', 'distinction'], ['0, 1'], [])
    """
    try:
        several = json.loads(f"[{text}]")
    except ValueError:
        several = []
    quoted = len(several) > 1 and all(isinstance(one, str) for one in several)
    return several if quoted else [text] if text else []


def _specs_in(text: str, names: Sequence[str]) -> list[str]:
    """The protected columns as a certificate names them, separated by a comma and a blank.

    Examples
    --------
    >>> _specs_in("sex, age:30,50", ["sex", "age"]), _specs_in("sex, at birth", ["sex, at birth"])
    (['sex', 'age:30,50'], ['sex, at birth'])
    """
    return [text] if text in names else text.split(", ")
