"""What owners' pages ask about a study. Each function runs at the ``Desk``."""

from __future__ import annotations

import numpy as np

from fairask.rules import LinearProbability, LinearRule, PlugInRule, Rule
from fairask_studio import Study, StudyError
from fairask_studio.events import Document
from fairask_studio.exports import contents


def status(study: Study) -> Document:
    """Return where the study stands."""
    return study.status()


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
    encoder = study.encoder
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
    found = contents(study)
    if name not in found:
        raise StudyError(f"there is no {name} yet")
    return found[name]()
