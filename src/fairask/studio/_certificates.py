"""The certificate's part of the API. Certificates come from fairask.certify, where that is there."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

from fastapi import APIRouter, HTTPException, Request

from fairask.studio._access import Owner
from fairask.studio._labelling import study_of
from fairask.studio._models import AuditSize, Document

__all__ = ["available", "router"]

router = APIRouter(tags=["certificate"])


def available() -> bool:
    """Whether this installation can certify."""
    return find_spec("fairask.certify") is not None


@router.get("/certificate")
def certificate(request: Request, me: Owner) -> Document:
    """The last certificate, and the audit under way."""
    study = study_of(request)
    sample = study.audit_sample()
    with study.lock:
        state = study.state()
        return {
            "available": available(),
            "certificate": state.certificates[-1] if state.certificates else None,
            "audit": None if state.audit is None else {"size": state.audit.size},
            "audited": 0 if sample is None else len(sample["y"]),
            "left": state.config.rows - len(state.log.entries),
            "fitted": bool(state.history),
            "tolerance": state.config.tolerance,
            "metric": state.config.metric,
        }


@router.post("/audit", status_code=201)
def start(request: Request, size: AuditSize, me: Owner) -> Document:
    """Draw the next rows to judge the last model, and train nothing meanwhile."""
    study_of(request).start_audit(size.labels, me.name)
    return {"size": size.labels}


@router.delete("/audit")
def end(request: Request, me: Owner) -> Document:
    """End the audit; its labels may train from now on."""
    study_of(request).end_audit(me.name)
    return {"size": 0}


@router.post("/certificate", status_code=201)
def certify(request: Request, me: Owner) -> Document:
    """Certify the audited model on the audit's labels, once all are there; this ends the audit.

    Their number was fixed beforehand. To look earlier, or again after some more, would break the promise.
    """
    if not available():
        raise HTTPException(409, "this installation has no fairask.certify; upgrade fairask")
    study = study_of(request)
    sample, audit = study.audit_sample(), study.state().audit
    if sample is None or audit is None:
        raise HTTPException(409, "start an audit first")
    if len(sample["y"]) < audit.size:
        raise HTTPException(
            409, f"the audit has {len(sample['y'])} of its {audit.size} labels; wait for the rest"
        )
    if len(set(sample["groups"])) < len(study.groups):
        raise HTTPException(409, "the audit has no labels of some groups; end it and start a larger one")
    made = import_module("fairask.certify").certify(
        metric=study.config.metric, alpha=study.config.tolerance, **sample
    )
    document: Document = made.to_dict()
    study.record_certificate(document, me.name)
    study.end_audit(me.name)
    return document
