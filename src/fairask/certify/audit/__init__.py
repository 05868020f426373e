"""The audit of a frozen model: strata, plan, sequential audit, simulation; and its folder on disk."""

from fairask.certify.audit.audit import Audit
from fairask.certify.audit.draws import AuditQuery
from fairask.certify.audit.plan import TARGETS, AuditPlan
from fairask.certify.audit.saved import AuditState
from fairask.certify.audit.simulate import AuditSimulation, simulate_audit
from fairask.certify.audit.strata import Strata

__all__ = [
    "TARGETS",
    "Audit",
    "AuditPlan",
    "AuditQuery",
    "AuditSimulation",
    "AuditState",
    "Strata",
    "simulate_audit",
]
