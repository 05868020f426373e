"""The certificate's page: audits and what they buy, all certificates, the model that they are about."""

from __future__ import annotations

from dataclasses import asdict
from functools import lru_cache
from typing import Annotated

import numpy as np
from fastapi import APIRouter, HTTPException, Request
from pydantic import Field

from fairask.audit import plan_audit
from fairask.audit.plan import QUESTIONS, AuditPlan
from fairask.audit.simulation import chances_to_certify
from fairask.report.words import AUDIT_MORE, audit_size_sentence, gap_sentence, verdict_sentence
from fairask_studio import Study
from fairask_studio.advice import known_gap, next_step
from fairask_studio.estimates import positive_probability
from fairask_studio.events import Document
from fairask_studio.pages.access import Me
from fairask_studio.pages.api import Strict, study_of
from fairask_studio.pages.desk import ask, desk_of


class AuditSize(Strict):
    """How many labels an audit asks for."""

    labels: Annotated[int, Field(ge=1, le=2**31 - 1)]


router = APIRouter(tags=["certificate"])


@router.get("/certificates")
def all_certificates(request: Request, me: Me) -> Document:
    """All certificates, latest first, and the model that is the study's now."""
    return ask(request, certificates)


@router.get("/audit")
def budgets(request: Request, me: Me) -> Document:
    """What audits of several sizes would buy, by simulation, and the size to begin with."""
    return ask(request, audit_budgets)


@router.post("/audit", status_code=201)
def start(request: Request, size: AuditSize, me: Me) -> Document:
    """Begin to audit the last model; nothing is trained until the audit ends."""
    desk_of(request).do(Study.start_audit, size.labels, me.name)
    return {"size": size.labels}


@router.delete("/audit")
def end(request: Request, me: Me) -> Document:
    """End the audit; its labels may train from now on."""
    study_of(request).end_audit(me.name)
    return {"size": 0}


@router.post("/certificate", status_code=201)
def certify(request: Request, me: Me) -> Document:
    """Issue the certificate once the audit is decided or its budget is spent; this ends the audit.

    The audit looks at its labels on a schedule fixed beforehand. To look in between would break the promise.
    """
    found = desk_of(request).do(certificates)["audit"]
    if found is None:
        raise HTTPException(409, "start an audit first")
    if not found["done"]:
        raise HTTPException(
            409, f"the audit has {found['labels']} of its {found['size']} labels; wait for the rest"
        )
    return desk_of(request).do(Study.certify, me.name)


#: Sizes of audits that are played, how often each, and the chance of a verdict that is worth its labels.
_BUDGETS, _AUDITS, _CHANCE = (60, 120, 250, 500, 1000, 2000), 60, 0.8

_USUAL = 200


def certificates(study: Study) -> Document:
    """Return all certificates, latest first, the study's model, the audit under way, and what to do next."""
    with study.lock:
        state, status = study.state(), study.status()
        model, kept = state.model, state.kept is not None
        return {
            "certificates": [
                {**c, "said": verdict_sentence(c["verdict"], c["lower"], c["upper"], c["delta"])}
                for c in reversed(state.certificates)
            ],
            "model": None
            if model is None
            else {**{name: model[name] for name in ("round", "labels", "digest")}, "certified": kept},
            "audit": None if state.audit is None else state.audit.to_dict(),
            "left": state.config.rows - len(state.log.entries),
            "tolerance": state.config.learner.tolerance,
            "advice": status["advice"],
            "next": asdict(next_step(status)),
            "gap_is": gap_sentence(state.config.learner.metric, state.config.classes),
        }


def audit_budgets(study: Study) -> Document:
    """Return what audits of several sizes would buy, by simulation, and the size to begin with.

    The size is that with which four in five audits certify a model with the estimated gap. Where none does,
    half the allowed gap tells, and the words say how few certify at the estimated one.
    """
    with study.lock:
        state = study.state()
        model, left = state.model, state.config.rows - len(state.log.entries)
        last = state.certificates[-1] if state.certificates else None
        gap = known_gap(state)
    if model is None or left < 1:
        return {"suggested": None, "budgets": [], "why": ""}
    found = None if gap is None else float(gap["value"])
    budgets = _planned(study, model["seen"], left, found)
    about_model = last is not None and last.get("model", {}).get("digest") == model["digest"]
    more = last["more_labels"] if last is not None and about_model else None
    if more:
        return {"budgets": budgets, "suggested": min(more, left), "why": AUDIT_MORE}
    if not budgets:
        return {"budgets": budgets, "suggested": min(_USUAL, left), "why": ""}
    chance = "certifies_half" if found is None else "certifies_estimate"
    enough = [row for row in budgets if row[chance] >= _CHANCE]
    told = enough[0] if enough else budgets[-1]
    size = next((row for row in [*enough, *budgets] if row["certifies_half"] >= _CHANCE), budgets[-1])
    why = audit_size_sentence(found, told["labels"], told[chance])
    return {"budgets": budgets, "suggested": (enough[0] if enough else size)["labels"], "why": why}


@lru_cache(maxsize=1)
def _planned(study: Study, trained_to: int, left: int, gap: float | None) -> list[Document]:
    learner = study.learner(at=trained_to)
    config = study.config.learner
    if not QUESTIONS[config.metric].labels:
        return []
    decided = (positive_probability(learner) >= 0.5).astype(int)
    if len(np.unique(decided)) < 2:
        return []
    plan = AuditPlan(metric=config.metric, tolerance=config.tolerance)
    budgets = sorted({min(budget, left) for budget in _BUDGETS})
    groups = [str(study.groups[code]) for code in learner.pool.groups]
    table = plan_audit(decided, groups, plan, budgets=budgets, n_audits=_AUDITS, pos_label=1)
    likely: list[float | None] = [None] * len(budgets)
    if gap is not None:
        likely[:] = chances_to_certify(decided, groups, plan, gap, budgets, n_audits=_AUDITS, pos_label=1)
    return [
        {
            "labels": row.budget,
            "certifies_alike": row.certify_alike,
            "certifies_half": row.certify_half,
            "certifies_estimate": chance,
            "refutes": row.refute_beyond,
        }
        for row, chance in zip(table.rows, likely, strict=True)
    ]
