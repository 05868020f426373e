"""A certificate and an audit as cards in a notebook."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from fairask.audit._page import VERDICT_COLOURS, draw_bounds
from fairask.cards import card

if TYPE_CHECKING:
    from fairask.audit.audit import Audit
    from fairask.audit.certificate import Certificate


def certificate_card(certificate: Certificate) -> str:
    """Return the verdict, the bounds as a chart, and what they rest on."""
    facts = {
        "estimate": "unknown" if math.isnan(certificate.estimate) else f"{certificate.estimate:.3f}",
        "bounds": f"{certificate.lower:.3f} to {certificate.upper:.3f}",
        "labels": f"{certificate.n_labels:,}",
        "about": certificate.target,
    }
    return card(
        certificate.headline(), certificate.advice(), facts, _bounds(certificate),
        ("What it rests on", certificate.assumptions),
    )  # fmt: skip


def audit_card(audit: Audit) -> str:
    """Return how far an audit is and, with labels, what it can say."""
    plan, n = audit.plan, audit.n_labels
    words = (
        f"{n:,} labels of {plan.budget:,}, in {plan.looks} looks; {'done' if audit.done else 'not done yet'}"
    )
    facts = {"goal": f"{plan.metric} at most {plan.tolerance:g}", "pool": f"{audit.pool_size:,} rows"}
    if not n:
        return card("Audit", words, facts)
    certificate = audit.certificate()
    facts["so far"] = certificate.headline()
    return card("Audit", words, facts, _bounds(certificate))


def _bounds(certificate: Certificate) -> str:
    return f'<div style="--c:{VERDICT_COLOURS[certificate.verdict]}">{draw_bounds(certificate)}</div>'
