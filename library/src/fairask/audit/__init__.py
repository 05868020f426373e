"""Certificates: bounds on a fixed model's gap, and the audit that earns one with few labels."""

from fairask.audit.audit import Audit
from fairask.audit.certificate import Certificate, check_certificate, issue, json_schema
from fairask.audit.labelled_rows import certify
from fairask.audit.simulation import plan_audit, simulate_audit
from fairask.audit.strata import intersect, noise_from_overlap

__all__ = [
    "Audit",
    "Certificate",
    "certify",
    "check_certificate",
    "intersect",
    "issue",
    "json_schema",
    "noise_from_overlap",
    "plan_audit",
    "simulate_audit",
]
