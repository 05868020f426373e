"""What a study gives to others: labels, log, model and model card, and the report."""

from __future__ import annotations

import dataclasses
import json
import platform
import shlex
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import make_url

from fairask.audit.certificate import seal, written
from fairask.audit.signature import OwnerKey
from fairask.log import LABELLED, DrawnRow
from fairask.oracle import CalibratedFairOracle
from fairask.report.figures import draw_drawn_rows
from fairask.report.pages import StudyReport, render_card, render_certificate, render_study
from fairask.report.words import visible
from fairask.tables.formats import file_digest
from fairask.tables.groups import as_specs
from fairask.tables.sheets import csv_text
from fairask_studio.advice import next_step
from fairask_studio.columns import learned_columns
from fairask_studio.config import Config
from fairask_studio.errors import StudyError
from fairask_studio.events import Document
from fairask_studio.files import parquet_file, task_data
from fairask_studio.model import TableModel, model_bytes
from fairask_studio.state import Answer, State
from fairask_studio.store.postgres import is_url
from fairask_studio.study import Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLUMNS = (
    "row", "group", "label", "state", "batch", "component", "propensity", "pool_size",
    "risk_weight", "fairness_weight", "by", "at", "note", "reason", "answers",
)  # fmt: skip
Given = Mapping[str, Answer]
RowValue = Callable[[Study, State, DrawnRow, Given], Any]
#: What is known of a drawn row, given the answers to it: in the file of labels, and in the grid of rows.
OF_ROW: dict[str, RowValue] = {
    "row": lambda study, state, entry, given: entry.index,
    "group": lambda study, state, entry, given: str(study.groups[study.codes[entry.index]]),
    "label": lambda study, state, entry, given: (
        None if entry.label is None else study.config.classes[entry.label]
    ),
    "state": lambda study, state, entry, given: entry.state,
    "batch": lambda study, state, entry, given: entry.batch,
    "component": lambda study, state, entry, given: entry.component,
    "propensity": lambda study, state, entry, given: (
        None if np.isnan(entry.propensity) else float(entry.propensity)
    ),
    "by": lambda study, state, entry, given: ", ".join([*given, *_decider(state, entry.index)]),
    "at": lambda study, state, entry, given: max((answer.at for answer in given.values()), default=None),
    "note": lambda study, state, entry, given: "; ".join(a.note for a in given.values() if a.note),
    "reason": lambda study, state, entry, given: "; ".join(a.reason for a in given.values() if a.reason),
}


def _decider(state: State, row: int) -> list[str]:
    return [f"{state.decided_by[row]} (decided)"] if row in state.decided_by else []


def contents(study: Study, key: OwnerKey | None = None) -> dict[str, Callable[[], bytes]]:
    """Return the names of a study's files, and what makes each; a key signs the certificate."""
    rows = label_table(study)
    flat = [{**row, "answers": json.dumps(row["answers"], ensure_ascii=False)} for row in rows]
    files: dict[str, Callable[[], bytes]] = {
        "labels.csv": lambda: csv_text(*_with_data(study, flat)).encode(),
        "labels.parquet": lambda: parquet_file(*_with_data(study, flat)),
        "labels-label-studio.json": lambda: _json(_label_studio(study, rows)),
        "events.jsonl": lambda: "".join(
            visible(json.dumps(dataclasses.asdict(event), ensure_ascii=False)) + "\n"
            for event in study.store.events()
        ).encode(),
        "study.json": lambda: _json({"config": study.config.to_dict(), "status": study.status()}),
        "report.html": lambda: report_html(study).encode(),
    }
    if study.state().certificates:
        issued = seal(study.state().certificates[-1])
        files["certificate.json"] = lambda: written(issued if key is None else key.sign(issued)).encode()
        files["certificate.html"] = lambda: certificate_html(study).encode()
    if any(row["state"] == "labelled" for row in rows):
        if study.state().model is not None:
            files["model-card.html"] = lambda: card_html(study).encode()
        files["model.skops"] = lambda: model_bytes(table_model(study))
    return files


def signed(study: Study, files: Sequence[Path], key: OwnerKey) -> bytes:
    """Return what is signed of a study: its pool, model, files and log, by the last event's hash."""
    events, last_hash, broken = study.store.check_chain()
    if broken is not None:
        raise StudyError(broken)
    state = study.state()
    document = {
        "schema": "fairask-study",
        "version": 1,
        "events": events,
        "hash": last_hash,
        "pool_sha256": study.config.pool_sha256,
        "model": state.model["digest"] if state.model else None,
        "files": {path.name: file_digest(path, hidden=False) for path in files},
    }
    return written(key.sign(document)).encode()


# -- labels --------------------------------------------------------------------------------------


def label_table(study: Study) -> list[Document]:
    """Return every drawn row in draw order: label, component, propensity, weights, who answered and when."""
    with study.lock:
        state, learner = study.state(), study.learner()
        table = []
        for entry in state.log.entries:
            given = state.answers.get(entry.index, {})
            known = {name: value(study, state, entry, given) for name, value in OF_ROW.items()}
            answers = {name: study.config.class_name(answer.code) for name, answer in given.items()}
            table.append({**known, "pool_size": entry.pool_size, "answers": answers})
    rows = learner.labelled_indices_.tolist()
    risk = dict(zip(rows, learner.risk_weights_.tolist(), strict=True))
    fairness = dict(zip(rows, learner.fairness_weights_.tolist(), strict=True))
    return [
        {**row, "risk_weight": risk.get(row["row"]), "fairness_weight": fairness.get(row["row"])}
        for row in table
    ]


def _json(data: object) -> bytes:
    # What JSON leaves as it is, such as the marks that turn the direction of writing, is written as \uXXXX.
    return visible(json.dumps(data, ensure_ascii=False, indent=1)).encode()


def _with_data(study: Study, rows: list[Document]) -> tuple[list[str], list[list[object]]]:
    """Return names and rows of the file of labels: what is known of each row, then the pool's own columns.

    A column of the pool with the name of one of the file's own columns is renamed, as in sheets to fill in.
    """
    data = [column.name for column in study.config.columns]
    names = [*_COLUMNS, *(f"{name} (pool)" if name in _COLUMNS else name for name in data)]
    cells = study.rows([int(row["row"]) for row in rows]) if rows else []
    table = zip(rows, cells, strict=True)
    return names, [
        [*(row[name] for name in _COLUMNS), *(found[name] for name in data)] for row, found in table
    ]


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
    cells = dict(zip(drawn, study.rows(drawn), strict=True))
    return [
        {
            "data": task_data(row["row"], cells[row["row"]], cells[row["row"]]),
            "meta": {name: row[name] for name in ("batch", "component", "propensity")},
            "annotations": [annotation(who, label) for who, label in row["answers"].items()],
        }
        for row in rows
    ]


# -- the model ------------------------------------------------------------------------------------


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
    whole = TableModel([("encode", study.encoder), ("model", model)])
    whole.columns_, whole.fairask_ = list(study.encoder.columns), study.status()["model"]
    whole.protected_ = study.group_columns.to_dict()
    return whole


# -- the report ----------------------------------------------------------------------------------

#: Rows of the pool in the figure.
_MOST_POINTS = 2500
_NAMES = {"pool_sha256": "sha256 of the pool", "random_state": "seed", "rows": "rows of the pool"}
#: Settings that ``fairask new`` has an option for, with its name.
_OPTIONS = {
    "question": "question", "metric": "metric", "tolerance": "tolerance", "budget": "budget",
    "batch_size": "batch", "strategy": "strategy", "profile": "profile", "promise": "promise",
    "stopping": "stop", "overlap": "overlap", "lease_seconds": "lease", "random_state": "seed",
}  # fmt: skip


def report_html(study: Study) -> str:
    """Return the report on a study as one HTML page."""
    return render_study(_report(study, _drawn(study)))


def card_html(study: Study) -> str:
    """Return the model card of a study as one HTML page."""
    return render_card(_report(study))


def certificate_html(study: Study) -> str:
    """Return the last certificate of a study as a page to print and sign."""
    return render_certificate(_report(study))


def _report(study: Study, drawn: Callable[..., Figure] | None = None) -> StudyReport:
    status, config = study.status(), study.config
    learns, not_learned = learned_columns(config.columns, study.encoder)
    step = next_step(status)
    return StudyReport(
        title=_title(study.target),
        question=config.question,
        protected=_word(config, config.grouped_by),
        status=status,
        moments=_moments(study),
        drawn=drawn,
        settings=_settings(config, status),
        commands=_commands(study, status),
        action=f"{step.words}: {step.why[0].lower()}{step.why[1:].rstrip('.')}",
        columns=[*((name, "learned from") for name in learns), *not_learned],
        learns=learns,
        not_learned=not_learned,
        inputs=[column.name for column in config.columns if column.role == "feature"],
    )


def _title(target: str) -> str:
    if is_url(target):  # not the whole URL: it may hold a password
        return make_url(target).database or "study"
    return Path(target).resolve().name


def _word(config: Config, name: str) -> str:
    return next((c.title for c in config.columns if c.name == name and c.title), name)


def _moments(study: Study) -> list[float]:
    """Return when each labelled row had its first answer."""
    with study.lock:
        state = study.state()
        rows = [entry.index for entry in state.log.entries if entry.state == LABELLED]
        given = [min(a.at for a in state.answers[row].values()) for row in rows if state.answers.get(row)]
    return [datetime.fromisoformat(at).timestamp() for at in given]


def _drawn(study: Study) -> Callable[..., Figure] | None:
    learner = study.learner()
    by: dict[str, list[int]] = {}
    for entry in learner.state.log.entries:
        by.setdefault(entry.component, []).append(entry.index)
    if not by:
        return None
    take = learner.pool.take
    rows = learner.pool.n_rows
    some = np.unique(np.linspace(0, rows - 1, min(_MOST_POINTS, rows)).astype(np.int64))
    return partial(draw_drawn_rows, take(some), {name: take(np.sort(found)) for name, found in by.items()})


def _settings(config: Config, status: Document) -> dict[str, str]:
    told = {k: v for k, v in config.to_dict().items() if k not in ("columns", "encoder")}
    told["classes"] = f"{config.classes[0]}, {config.classes[1]} (the last is the positive one)"
    # What was not given is what the profile chose.
    chosen = config.learner.parts()
    told |= {"margin": chosen.margin, "risk_weights": chosen.risk_weights}
    if isinstance(chosen.oracle, CalibratedFairOracle):
        told["level"] = chosen.oracle.level
    learned = sum(column.role == "feature" for column in config.columns)
    out = {_NAMES.get(k, k.replace("_", " ")): _plain(v) for k, v in told.items()}
    out["columns"] = f"{len(config.columns):,}, of which {learned:,} are learned from"
    if (model := status["model"]) is not None:
        kind = "certified, kept" if model["certified"] else "the last one fitted"
        out["model"] = f"model {model['round'] + 1}, on {model['labels']} labels ({kind})"
        out["digest of the model"] = model["digest"]
    out["events"] = f"{status['last_event']:,}, the first on {status['created']}"
    packages = ("fairask", "numpy", "scipy", "scikit-learn")
    versions = [f"Python {platform.python_version()}", *(f"{name} {version(name)}" for name in packages)]
    return out | {"versions": ", ".join(versions)}


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return ", ".join(f"{k} = {v}" for k, v in value.items()) or "default"
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _commands(study: Study, status: Document) -> list[tuple[str, str]]:
    config = study.config
    mine, defaults = config.to_dict(), Config.make(protected=config.protected).to_dict()
    named = [word for spec in as_specs(config.protected) for word in ("--protected", spec)]
    words = ["fairask", "new", "POOL", *named, "--classes", ",".join(config.classes)]
    for name, option in _OPTIONS.items():
        value = mine[name]
        if value != defaults[name] or name == "random_state":
            words += [f"--{option}", f"{value:g}" if isinstance(value, float) else str(value)]
    for column in config.columns:
        words += ["--drop", column.name] if column.role == "hidden" else []
    words += ["--show-protected"] * config.show_protected + ["--use-protected"] * config.use_protected
    words += ["--randomized"] * config.learner.randomized
    where = "URL" if is_url(study.target) else shlex.quote(_title(study.target))
    commands = [
        ("A study with these settings:", shlex.join(words)),
        ("This report, the labels with their propensities and the log of events:", f"fairask export {where}"),
    ]
    if (last := status["model"]) is not None:
        place = "URL" if is_url(study.target) else repr(_title(study.target))
        commands.append(
            (
                "Labels came from people, so the model is replayed from the log, not made again; "
                "its predictions have the digest above:",
                "from fairask_studio import Study\n"
                f"model = Study.open({place}).learner(at={last['seen']}).current_model()",
            )
        )
    return commands
