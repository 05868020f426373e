"""Certificates: bounds on a fixed model's violation, and the audit that earns one with few labels."""

from fairask.certify.audit import Audit, AuditPlan, AuditQuery, AuditSimulation, simulate_audit
from fairask.certify.audit.inputs import intersect, noise_from_overlap
from fairask.certify.audit.planner import BudgetTable, plan_audit
from fairask.certify.bounds import METHODS
from fairask.certify.certificate import Certificate, GroupComparison
from fairask.certify.labelled import certify
from fairask.certify.signature import check_certificate, json_schema, sign

__all__ = [
    "METHODS",
    "Audit",
    "AuditPlan",
    "AuditQuery",
    "AuditSimulation",
    "BudgetTable",
    "Certificate",
    "GroupComparison",
    "certify",
    "check_certificate",
    "intersect",
    "json_schema",
    "noise_from_overlap",
    "plan_audit",
    "sign",
    "simulate_audit",
]
