"""Is a certificate about this model and this pool? Compute the model's decisions again and compare."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from fairask.certify.audit.predictions import scores_of
from fairask.certify.audit.table import digest_of
from fairask.data import group_names, read_table
from fairask.metrics import Float
from fairask.study._errors import StudyError
from fairask.study.estimating import decisions_digest
from fairask.study.events import Document
from fairask.study.exporting import load_model
from fairask.study.model import TableModel

__all__ = ["CertificateCheck", "check_certificate"]


@dataclass(frozen=True)
class CertificateCheck:
    """Whether a certificate is about a model and a pool, and why not."""

    verdict: str  #: of the certificate
    model: str  #: the model in words
    problems: tuple[str, ...]

    @property
    def sound(self) -> bool:
        """Whether the certificate is about this model on this pool."""
        return not self.problems


def check_certificate(certificate: str | Path, model: str | Path, pool: str | Path) -> CertificateCheck:
    """Compute the decisions of a model on a pool again, and compare them with those that were certified.

    Parameters
    ----------
    certificate : path
        ``certificate.json`` of a study's export, or of ``fairask audit``.
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
    fairask.study._errors.StudyError: c.json does not name the model that it is about...
    """
    file = Path(certificate)
    try:
        found = json.loads(file.read_text("utf-8"))
    except OSError as error:
        raise StudyError(f"{file}: {error.strerror}; give the JSON file of a certificate") from error
    except ValueError as error:
        raise StudyError(f"{file.name} is no JSON file of a certificate: {error}") from error
    if isinstance(found, dict) and "model" in found:
        return _of_study(found, _loaded(model), read_table(Path(pool)))
    if isinstance(found, dict) and "made_from" in found:
        return _of_audit(found, _loaded(model), Path(pool))
    raise StudyError(f"{file.name} does not name the model that it is about; export it with this version")


def _loaded(model: str | Path) -> TableModel:
    try:
        return load_model(model)
    except Exception as error:  # a damaged zip, schema or array: skops raises what it meets
        raise StudyError(f"{Path(model).name} cannot be read as a model: {error}") from error


def _positive(model: TableModel, table: pa.Table, protected: str) -> Float:
    for name in (*model.columns_, protected):
        if name not in table.column_names:
            raise StudyError(f"the pool has no column {name!r}; give the table that the study was made with")
    return model.oracle.decision_probability(model.encoded(table), group_names(table, protected))


def _of_study(found: Document, model: TableModel, table: pa.Table) -> CertificateCheck:
    about = found["model"]
    rows = about["digest_of_rows"]
    if rows is not None and max(rows, default=0) < table.num_rows:
        table = table.take(pa.array(rows, pa.int64()))
    digest = decisions_digest(_positive(model, table, about["protected"]))
    problems = []
    if digest != about["digest"]:
        problems.append(
            f"this model's decisions on this pool have digest {digest[:12]}, the certified ones "
            f"{about['digest'][:12]}"
        )
    words = f"round {about['round']} on {about['labels']} labels, digest {about['digest'][:12]}"
    return CertificateCheck(found["verdict"], words, tuple(problems))


def _of_audit(found: Document, model: TableModel, pool: Path) -> CertificateCheck:
    made, problems = found["made_from"], []
    known = {value for name, value in made.items() if name.startswith("sha256")}
    if digest_of(pool) not in known:
        problems.append(f"{pool.name} is not the table that was audited: its sha256 differs")
    column, _, rest = made["predictions"].partition(" (positive: ")
    table = read_table(pool)
    for name in (column, made["groups"]):
        if name not in table.column_names:
            raise StudyError(f"{pool.name} has no column {name!r}; give the table that was audited")
    said, _ = scores_of(table.column(column), column, _classes_in(rest.removesuffix(")")), False)
    positive = _positive(model, table, made["groups"])
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
