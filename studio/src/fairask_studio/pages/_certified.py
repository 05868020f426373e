"""What the certificate page asks: all certificates, the model that they are about, what an audit buys."""

from __future__ import annotations

import numpy as np

from fairask.audit import AuditPlan, plan_audit
from fairask.audit.plan import QUESTIONS
from fairask.oracle import decision_probability
from fairask.pools import Pool
from fairask_studio import Study
from fairask_studio.events import Document

#: Sizes of audits that are played, how often each, and the chance of a verdict that is worth its labels.
_BUDGETS, _AUDITS, _CHANCE = (60, 120, 250, 500, 1000, 2000), 60, 0.8
_USUAL = 200
_PLANNED: dict[tuple[str, str, int], Document] = {}


def certificates(study: Study) -> Document:
    """Return all certificates, latest first, the study's model, the audit under way, and what it is about."""
    with study.lock:
        state = study.state()
        model, kept = state.model, state.kept is not None
        return {
            "certificates": list(reversed(state.certificates)),
            "model": None
            if model is None
            else {**{name: model[name] for name in ("round", "labels", "digest")}, "certified": kept},
            "estimate": None if model is None else model["estimate"],
            "audit": None if state.audit is None else state.audit.to_dict(),
            "left": state.config.rows - len(state.log.entries),
            "tolerance": state.config.learner.tolerance,
            "metric": state.config.learner.metric,
            "classes": list(state.config.classes),
        }


def audit_budgets(study: Study) -> Document:
    """Return what audits of several sizes would buy, by simulation, and the size to begin with.

    Computed once per model. Of a pool that is not in memory, only the usual size.
    """
    with study.lock:
        state = study.state()
        model, left = state.model, state.config.rows - len(state.log.entries)
        last = state.certificates[-1] if state.certificates else None
    if model is None or left < 1:
        return {"suggested": None, "budgets": [], "why": ""}
    key = (study.target, str(model["digest"]), left)
    if key not in _PLANNED:
        _PLANNED.clear()
        _PLANNED[key] = {"budgets": _planned(study, left)}
    found = _PLANNED[key]
    more = (
        None
        if last is None or last.get("model", {}).get("digest") != model["digest"]
        else last["more_labels"]
    )
    if more:
        return {
            **found,
            "suggested": min(more, left),
            "why": "the last audit says that so many more would likely decide",
        }
    enough = [row["labels"] for row in found["budgets"] if row["certifies_half"] >= _CHANCE]
    if enough:
        return {
            **found,
            "suggested": enough[0],
            "why": "four in five such audits certify a model with half the allowed gap",
        }
    return {
        **found,
        "suggested": min(_USUAL if not found["budgets"] else found["budgets"][-1]["labels"], left),
        "why": "",
    }


def _planned(study: Study, left: int) -> list[Document]:
    with study.lock:
        model = study.state().model
    learner = study.learner(at=None if model is None else model["seen"])
    config = study.config.learner
    if not isinstance(learner.pool, Pool) or not QUESTIONS[config.metric].labels:
        return []
    codes = learner.pool.groups
    groups = np.array([*learner.groups_, None], dtype=object)[:-1][codes]
    decided = (decision_probability(learner.current_model(), learner.pool.X, groups) >= 0.5).astype(int)
    if len(np.unique(decided)) < 2:
        return []
    plan = AuditPlan(metric=config.metric, tolerance=config.tolerance)
    budgets = sorted({min(budget, left) for budget in _BUDGETS})
    table = plan_audit(
        decided, [str(g) for g in groups], plan, budgets=budgets, n_audits=_AUDITS, pos_label=1
    )
    return [
        {
            "labels": row.budget,
            "certifies_alike": row.certify_alike,
            "certifies_half": row.certify_half,
            "refutes": row.refute_beyond,
        }
        for row in table.rows
    ]
