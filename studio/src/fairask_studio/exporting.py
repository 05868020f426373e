"""Write everything that a study holds to files that other tools read."""

from __future__ import annotations

import dataclasses
import importlib
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fairask.audit.certificate import seal
from fairask.tables.sheets import check_code
from fairask.tables.sheets import csv_text
from fairask_studio._errors import StudyError
from fairask_studio._report import report_html
from fairask_studio.encoder_0_1_0 import FirstEncoder
from fairask_studio.events import Document
from fairask_studio.model import TableModel
from fairask_studio.modelcard import model_card

if TYPE_CHECKING:
    from fairask_studio.study import Study

#: Classes of fairask that a model file may hold, besides scikit-learn's and numpy's own.
TRUSTED = (
    "fairask.tables.encoder.Encoder",
    "fairask.oracle.calibrated.CalibratedFairOracle",
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
#: Names of classes in model files of version 0.1.0, and their present names.
MOVED = {
    "fairask.oracle._calibrated.CalibratedFairOracle": "fairask.oracle.calibrated.CalibratedFairOracle",
    "fairask.oracle._estimator.EmpiricalFairOracle": "fairask.oracle.empirical.EmpiricalFairOracle",
    "fairask.oracle._learners.ConstantRule": "fairask.rules.ConstantRule",
    "fairask.oracle._learners.LinearRule": "fairask.rules.LinearRule",
    "fairask.oracle._plugin.PlugInRule": "fairask.rules.PlugInRule",
    "fairask.oracle._probability.Calibration": "fairask.oracle.probability.Calibration",
    "fairask.oracle._probability.LinearProbability": "fairask.rules.LinearProbability",
    "fairask.oracle._probability.Scaling": "fairask.rules.Scaling",
}
_COLUMNS = (
    "row", "group", "label", "state", "batch", "component", "propensity", "pool_size",
    "risk_weight", "fairness_weight", "by", "at", "note", "reason", "answers",
)  # fmt: skip


def label_table(study: Study) -> list[Document]:
    """Return every drawn row in draw order: label, component, propensity, weights, who answered and when."""
    learner = study.learner()
    weights = dict(
        zip(
            learner.labelled_indices_.tolist(),
            zip(learner.risk_weights_.tolist(), learner.fairness_weights_.tolist(), strict=True),
            strict=True,
        )
    )
    with study.lock:
        state = study.state()
        answers = {row: dict(given) for row, given in state.answers.items()}
        decided_by = dict(state.decided_by)
    table = []
    for entry in learner.state.log.entries:
        given = answers.get(entry.index, {})
        who = decided_by.get(entry.index)
        risk, fairness = weights.get(entry.index, (None, None))
        values = (
            entry.index,
            str(study.groups[study.rows.codes[entry.index]]),
            None if entry.label is None else study.config.classes[entry.label],
            entry.state,
            entry.batch,
            entry.component,
            None if np.isnan(entry.propensity) else entry.propensity,
            entry.pool_size,
            risk,
            fairness,
            ", ".join([*given, *([f"{who} (decided)"] if who else [])]),
            max((answer.at for answer in given.values()), default=None),
            "; ".join(answer.note for answer in given.values() if answer.note),
            "; ".join(answer.reason for answer in given.values() if answer.reason),
            {name: study.config.class_name(answer.code) for name, answer in given.items()},
        )
        table.append(dict(zip(_COLUMNS, values, strict=True)))
    return table


def export(study: Study, folder: str | Path, *, only: str | None = None) -> list[Path]:
    """Write labels (CSV, Parquet, Label Studio's JSON), events, the report and, with labels, model and card.

    Parameters
    ----------
    study : Study
    folder : path
        Made if it is not there.
    only : str, optional
        One file's name, to write just that.

    Returns
    -------
    list of Path
        The files written. Same study, same files.

    Examples
    --------
    >>> import tempfile
    >>> from fairask_studio import Study
    >>> pool = {"age": [20, 30, 40, 50], "sex": ["f", "m"] * 2}
    >>> folder = tempfile.mkdtemp()
    >>> with Study.create(f"{folder}/loans", pool, protected="sex") as study:
    ...     [path.name for path in export(study, f"{folder}/out", only="labels.csv")]
    ['labels.csv']
    """
    out = Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    rows = label_table(study)
    flat = [{**row, "answers": json.dumps(row["answers"], ensure_ascii=False)} for row in rows]
    writers: dict[str, Callable[[], str | bytes]] = {
        "labels.csv": lambda: csv_text(*_with_data(study, flat)),
        "labels.parquet": lambda: _labels_parquet(*_with_data(study, flat)),
        "labels-label-studio.json": lambda: _json(_label_studio(study, rows)),
        "events.jsonl": lambda: "".join(
            json.dumps(dataclasses.asdict(event), ensure_ascii=False) + "\n" for event in study.store.events()
        ),
        "study.json": lambda: _json({"config": study.config.to_dict(), "status": study.status()}),
        "report.html": lambda: report_html(study),
    }
    if study.state().certificates:
        writers["certificate.json"] = lambda: _json(seal(study.state().certificates[-1]))
    if any(row["state"] == "labelled" for row in rows):
        writers["model-card.md"] = lambda: model_card(study, table_model(study))
        writers["model.skops"] = lambda: model_bytes(study)
    written = []
    for name, content in writers.items():
        if only in (None, name):
            data = content()
            (out / name).write_bytes(data if isinstance(data, bytes) else data.encode())
            written.append(out / name)
    return written


def _json(data: object) -> str:
    return json.dumps(data, ensure_ascii=False, indent=1)


def _with_data(study: Study, rows: list[Document]) -> tuple[list[str], list[list[object]]]:
    """Return names and rows of the file of labels: what is known of each row, then the pool's own columns.

    A column of the pool with the name of one of the file's own columns is renamed, as in sheets to fill in.
    """
    data = [column.name for column in study.config.columns]
    names = [*_COLUMNS, *(f"{name} (pool)" if name in _COLUMNS else name for name in data)]
    cells = study.rows.rows([int(row["row"]) for row in rows], study.state()) if rows else []
    table = zip(rows, cells, strict=True)
    return names, [
        [*(row[name] for name in _COLUMNS), *(found[name] for name in data)] for row, found in table
    ]


def _labels_parquet(names: list[str], rows: list[list[object]]) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.table({name: [row[i] for row in rows] for i, name in enumerate(names)}), buffer)
    return buffer.getvalue()


def _label_studio(study: Study, rows: list[Document]) -> list[Document]:
    def annotation(who: str, label: str) -> Document:
        choice = {
            "from_name": "label",
            "to_name": "row",
            "type": "choices",
            "value": {"choices": [] if label == "skipped" else [label]},
        }
        return {"completed_by": who, "was_cancelled": label == "skipped", "result": [choice]}

    drawn = [int(row["row"]) for row in rows]
    cells = dict(zip(drawn, study.rows.rows(drawn, study.state()), strict=True))
    return [
        {
            "data": {
                **cells[row["row"]],
                "fairask_row": row["row"],
                "fairask_check": check_code(row["row"], cells[row["row"]]),
            },
            "meta": {name: row[name] for name in ("batch", "component", "propensity")},
            "annotations": [annotation(who, label) for who, label in row["answers"].items()],
        }
        for row in rows
    ]


def table_model(study: Study) -> TableModel:
    """The study's model with its encoder.

    It is the certified model while that is kept, else the one fitted last; its ``fairask_`` says which.
    """
    learner = study.learner(at=study.state().trained_to)
    if not len(learner.labelled_indices_):
        raise StudyError("no labels yet, so there is no model to export")
    model = learner.current_model().bare()
    # skops writes JSON keys.
    named = {f"{condition}, {group}": rate for (condition, group), rate in model.rates_.items()}
    model.__dict__["rates_"] = named
    encoder = study.rows.encoder
    kept = encoder.pipeline if isinstance(encoder, FirstEncoder) else encoder
    whole = TableModel([("encode", kept), ("model", model)])
    whole.columns_, whole.fairask_ = list(encoder.columns), study.status()["model"]
    whole.protected_ = None if study.rows.groups is None else study.rows.groups.to_dict()
    return whole


def model_bytes(study: Study) -> bytes:
    """The study's model as a skops file: loading it runs no code of the file."""
    return bytes(_skops().dumps(table_model(study)))


def load_model(path: str | Path) -> TableModel:
    """Read an exported model; only classes of scikit-learn, numpy and the fair oracle are allowed in it.

    See :class:`fairask_studio.TableModel` for what it takes.

    Examples
    --------
    >>> import tempfile
    >>> from fairask_studio import Study, export
    >>> pool = {"age": [20, 30, 40, 50], "sex": ["f", "m"] * 2}
    >>> folder = tempfile.mkdtemp()
    >>> with Study.create(f"{folder}/loans", pool, protected="sex", batch_size=4, random_state=0) as study:
    ...     rows = study.ask()
    ...     _ = study.tell(rows, [str(int(row > 1)) for row in rows])
    ...     _ = export(study, f"{folder}/out")
    >>> model = load_model(f"{folder}/out/model.skops")
    >>> model.columns_
    ['age']
    >>> import pandas
    >>> model.predict(pandas.DataFrame(pool)).shape
    (4,)
    """
    model = _skops().loads(_with_present_names(Path(path)), trusted=list(TRUSTED))
    if isinstance(model, TableModel):
        return model
    whole = TableModel(model.steps)  # version 0.1.0 wrote a plain pipeline
    whole.__dict__.update({name: value for name, value in vars(model).items() if name.endswith("_")})
    return whole


def _with_present_names(path: Path) -> bytes:
    """Return the file's bytes with moved classes under their present names."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(buffer, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name == "schema.json":
                data = json.dumps(json.loads(data, object_hook=_present_name)).encode()
            new.writestr(name, data)
    return buffer.getvalue()


def _present_name(node: Document) -> Document:
    """Rename the class of one node of a skops schema, if it has moved."""
    now = MOVED.get(f"{node.get('__module__')}.{node.get('__class__')}")
    if now is not None:
        node["__module__"], _, node["__class__"] = now.rpartition(".")
    return node


def _skops() -> Any:
    try:
        return importlib.import_module("skops.io")
    except ImportError as error:  # pragma: no cover - depends on the installation
        raise StudyError("models are kept through skops: pip install 'fairask-studio'") from error
