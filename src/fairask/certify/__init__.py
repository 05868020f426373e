"""Certificates: bounds on a fixed model's violation, and the audit that earns one with few labels."""

from fairask.certify._api import certify
from fairask.certify._audit import Audit, AuditQuery
from fairask.certify._certificate import Certificate
from fairask.certify._methods import METHODS
from fairask.certify._simulate import AuditSimulation, simulate_audit

__all__ = ["METHODS", "Audit", "AuditQuery", "AuditSimulation", "Certificate", "certify", "simulate_audit"]
