"""The certificate's part of the API."""

from __future__ import annotations

from fastapi import APIRouter, HTTPException, Request

from fairask_studio.events import Document
from fairask_studio.pages._access import Me
from fairask_studio.pages._certified import audit_budgets, certificates
from fairask_studio.pages._desk import desk_of
from fairask_studio.pages._labelling import study_of
from fairask_studio.pages._models import AuditSize
from fairask_studio.pages._questions import certificate_state, start_audit
from fairask_studio.pages._questions import certify as ask_certify

router = APIRouter(tags=["certificate"])


@router.get("/certificate")
def certificate(request: Request, me: Me) -> Document:
    """The last certificate, and the audit under way."""
    return desk_of(request).ask(certificate_state)


@router.get("/certificates")
def all_certificates(request: Request, me: Me) -> Document:
    """All certificates, latest first, and the model that is the study's now."""
    return desk_of(request).ask(certificates)


@router.get("/audit")
def budgets(request: Request, me: Me) -> Document:
    """What audits of several sizes would buy, by simulation, and the size to begin with."""
    return desk_of(request).ask(audit_budgets)


@router.post("/audit", status_code=201)
def start(request: Request, size: AuditSize, me: Me) -> Document:
    """Begin to audit the last model; nothing is trained until the audit ends."""
    desk_of(request).do(start_audit, size.labels, me.name)
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
    found = desk_of(request).do(certificate_state)["audit"]
    if found is None:
        raise HTTPException(409, "start an audit first")
    if not found["done"]:
        raise HTTPException(
            409, f"the audit has {found['labels']} of its {found['size']} labels; wait for the rest"
        )
    return desk_of(request).do(ask_certify, me.name)
