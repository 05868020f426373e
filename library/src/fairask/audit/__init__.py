"""Certificates: bounds on a fixed model's gap, and the audit that earns one with few labels."""

from fairask.audit.audit import Audit
from fairask.audit.certificate import Certificate, check_certificate, json_schema, sign
from fairask.audit.labelled_rows import certify
from fairask.audit.simulation import plan_audit, simulate_audit
from fairask.audit.strata import intersect, noise_from_overlap

__all__ = [
    "Audit",
    "Certificate",
    "certify",
    "check_certificate",
    "intersect",
    "json_schema",
    "noise_from_overlap",
    "plan_audit",
    "sign",
    "simulate_audit",
]
