"""The certificate's part of the API. Certificates come from fairask.certify, where that is there."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from fastapi import APIRouter, HTTPException, Request

from fairask.studio._access import Owner
from fairask.studio._labelling import study_of
from fairask.studio._models import Document
from fairask.study import Study

__all__ = ["available", "router"]

router = APIRouter(tags=["certificate"])


def available() -> bool:
    """Whether this installation can certify."""
    return find_spec("fairask.certify") is not None


def fresh_labels(study: Study) -> dict[str, Any] | None:
    """Labels given after the last fit, which the model has not seen, with its predictions on them."""
    state = study.state()
    if not state.history:
        return None
    learner = study.learner(at=state.history[-1]["seen"])
    now = study.learner()
    trained = set(learner.labelled_indices_.tolist())
    keep = [i for i, row in enumerate(now.labelled_indices_.tolist()) if row not in trained]
    rows = now.labelled_indices_[keep]
    positive = study.config.classes[1]
    return {
        "y": (now.labels_[keep] == positive).astype(int),
        "pred": learner.current_model().predict_proba(learner.X[rows])[:, 1],
        "groups": [study.groups[code] for code in study.group_codes[rows]],
        "propensities": now.propensities_[keep],
        "indices": rows,
        "trained_on": learner.labelled_indices_,
    }


@router.get("/certificate")
def certificate(request: Request, me: Owner) -> Document:
    """The last certificate and what a new one could rest on."""
    study = study_of(request)
    state = study.state()
    last = state.certificates[-1] if state.certificates else None
    fresh = 0
    if state.history:
        fresh = state.answered - state.skipped - state.history[-1]["labels"]
    return {
        "available": available(),
        "certificate": last,
        "fresh": max(fresh, 0),
        "fitted": bool(state.history),
        "tolerance": study.config.tolerance,
        "metric": study.config.metric,
    }


@router.post("/certificate", status_code=201)
def certify(request: Request, me: Owner) -> Document:
    """Certify the last fitted model on labels given after it was fitted."""
    if not available():
        raise HTTPException(409, "this installation has no fairask.certify; upgrade fairask")
    study = study_of(request)
    sample = fresh_labels(study)
    if sample is None or len(set(sample["groups"])) < 2:
        raise HTTPException(409, "labels of two groups, given after the last fit, are needed first")
    made = import_module("fairask.certify").certify(
        metric=study.config.metric, alpha=study.config.tolerance, **sample
    )
    document: Document = made.to_dict()
    study.record_certificate(document, me.name)
    return document
