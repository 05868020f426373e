"""What owners' pages ask about a study. Each function runs at the :class:`~fairask.studio._desk.Desk`."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fairask.learner.state import DrawnRow
from fairask.rules import LinearProbability, LinearRule, PlugInRule, Rule
from fairask.study import Study, StudyError, export
from fairask.study.events import SKIP, Document
from fairask.study.exporting import model_bytes
from fairask.study.state import Answer

__all__ = [
    "RowFilter",
    "certificate_state",
    "certify",
    "file_bytes",
    "fit_again",
    "model_members",
    "row_page",
    "start_audit",
    "status",
]


@dataclass(frozen=True)
class RowFilter:
    """Which drawn rows are wanted; None for all."""

    state: str | None = None
    group: str | None = None
    component: str | None = None
    who: str | None = None
    disagree: bool = False

    def fits(self, entry: DrawnRow, group: str, given: dict[str, Answer]) -> bool:
        """Whether a row is wanted."""
        return (
            self.state in (None, entry.state)
            and self.component in (None, entry.component)
            and self.group in (None, group)
            and (self.who is None or self.who in given)
            and (not self.disagree or len({a.code for a in given.values() if a.code != SKIP}) > 1)
        )


def status(study: Study) -> Document:
    """Return where the study stands."""
    return study.status()


def row_page(study: Study, wanted: RowFilter, offset: int, limit: int) -> Document:
    """Return the rows of one page, latest first, and how many fit; other rows are only counted."""
    with study.lock:
        state = study.state()
        found: list[Document] = []
        total = 0
        for entry in reversed(state.log.entries):
            given = state.answers.get(entry.index, {})
            group = str(study.groups[study.rows.codes[entry.index]])
            if wanted.fits(entry, group, given):
                if offset <= total < offset + limit:
                    found.append(_row(study, entry, group, given, state.decided_by.get(entry.index)))
                total += 1
    return {"total": total, "rows": found}


def _row(
    study: Study, entry: DrawnRow, group: str, given: dict[str, Answer], decided_by: str | None
) -> Document:
    return {
        "row": entry.index,
        "group": group,
        "label": None if entry.label is None else study.config.classes[entry.label],
        "state": entry.state,
        "batch": entry.batch,
        "component": entry.component,
        "propensity": None if np.isnan(entry.propensity) else float(entry.propensity),
        "by": ", ".join([*given, *([f"{decided_by} (decided)"] if decided_by else [])]),
        "at": max((answer.at for answer in given.values()), default=None),
        "note": "; ".join(answer.note for answer in given.values() if answer.note),
        "answers": {name: study.config.class_name(answer.code) for name, answer in given.items()},
    }


def certificate_state(study: Study) -> Document:
    """Return the last certificate, and the audit under way."""
    with study.lock:
        state = study.state()
        audit = None if state.audit is None else state.audit.to_dict()
        return {
            "certificate": state.certificates[-1] if state.certificates else None,
            "audit": audit,
            "audited": 0 if audit is None else audit["labels"],
            "left": state.config.rows - len(state.log.entries),
            "fitted": bool(state.history),
            "tolerance": state.config.learner.tolerance,
            "metric": state.config.learner.metric,
        }


def start_audit(study: Study, labels: int, who: str) -> None:
    """Begin an audit."""
    study.start_audit(labels, who)


def fit_again(study: Study, who: str) -> Document:
    """Fit on all labels, and give up a certified model that was kept."""
    return {"fitted": study.refit(asked_by=who)}


def certify(study: Study, who: str) -> Document:
    """Issue the certificate of the audit under way."""
    return study.certify(who)


def model_members(study: Study) -> Document:
    """Return the study's model (round, digest, members with weights), and the history of rounds."""
    with study.lock:
        state = study.state()
        history, model, kept = list(state.history), state.model, state.kept is not None
    if model is None:
        return {"history": [], "members": [], "features": [], "model": None}
    fitted = study.learner(at=study.state().trained_to).current_model()
    names = _feature_names(study)
    members = [
        {"probability": float(weight), "weights": _weights(rule, names)}
        for rule, weight in zip(fitted.members_, fitted.weights_, strict=True)
    ]
    return {"history": history, "members": members, "features": names, "model": {**model, "certified": kept}}


def _feature_names(study: Study) -> list[str]:
    """Return names of the encoder's features, in the words of the study."""
    columns = {column.name: column for column in study.config.columns}
    pretty = []
    encoder = study.rows.encoder
    for name in encoder.feature_names_out:
        # The longest column that the feature begins with: names may hold "=" themselves.
        column = columns[max((c for c in encoder.columns if name.startswith(c)), key=len)]
        mark = name.removeprefix(column.name)
        level = "missing" if mark == " is missing" else mark.removeprefix("=")
        title = column.title or column.name
        pretty.append(f"{title}: {column.values.get(level, level)}" if level else title)
    return pretty


def _weights(rule: Rule, names: list[str]) -> list[Document]:
    """Return the twelve largest weights of a linear member; none for others."""
    linear = rule.probability if isinstance(rule, PlugInRule) else rule
    if not isinstance(linear, LinearRule | LinearProbability):
        return []
    beta = linear.beta
    order = np.argsort(-np.abs(beta[:-1]))[:12]
    return [{"feature": names[i], "weight": float(beta[i])} for i in order]


def file_bytes(study: Study, name: str) -> bytes:
    """Return a file of the study."""
    if name == "model.skops":
        return model_bytes(study)
    with tempfile.TemporaryDirectory() as folder:
        if not export(study, folder, only=name):
            raise StudyError(f"there is no {name} yet")
        return (Path(folder) / name).read_bytes()
