"""Certificates: bounds on a fixed model's violation, and the audit that earns one with few labels."""

from fairask.audit.audit import Audit
from fairask.audit.bounds import METHODS
from fairask.audit.certificate import Certificate, GroupComparison
from fairask.audit.draws import AuditQuery
from fairask.audit.inputs import intersect, noise_from_overlap
from fairask.audit.labelled import certify
from fairask.audit.plan import TARGETS, AuditPlan
from fairask.audit.planner import BudgetTable, plan_audit
from fairask.audit.saved import AuditState
from fairask.audit.signature import check_certificate, json_schema, sign
from fairask.audit.simulate import AuditSimulation, simulate_audit
from fairask.audit.strata import Strata

__all__ = [
    "METHODS",
    "TARGETS",
    "Audit",
    "AuditPlan",
    "AuditQuery",
    "AuditSimulation",
    "AuditState",
    "BudgetTable",
    "Certificate",
    "GroupComparison",
    "Strata",
    "certify",
    "check_certificate",
    "intersect",
    "json_schema",
    "noise_from_overlap",
    "plan_audit",
    "sign",
    "simulate_audit",
]
