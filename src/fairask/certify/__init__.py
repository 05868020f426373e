"""Certificates: bounds on a fixed model's violation, and the audit that earns one with few labels."""

from fairask.certify.audit import Audit, AuditPlan, AuditQuery, AuditSimulation, simulate_audit
from fairask.certify.bounds import METHODS
from fairask.certify.certificate import Certificate
from fairask.certify.labelled import certify

__all__ = [
    "METHODS",
    "Audit",
    "AuditPlan",
    "AuditQuery",
    "AuditSimulation",
    "Certificate",
    "certify",
    "simulate_audit",
]
