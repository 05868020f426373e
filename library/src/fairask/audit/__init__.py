"""Certificates: bounds on a fixed model's gap, and the audit that earns one with few labels.

The files, in the order in which they stand on each other:

1. ``bounds/``: limits of rates from counts alone. ``layout``: what strata are, and the limits of their rates.
   ``plan``: what is to be decided, when it is looked at, and where labels go. ``rows``: a pool's groups,
   decisions and known labels. ``strata``: its rows by group, decision and score, in a random order.
2. ``signature``, ``certificate``: the verdict and how it is written down. ``verification``: is it still so?
3. ``labelled_rows``: a certificate at once. ``simulation``: thousands of audits at once. ``audit``: one, by
   ask and tell.
4. ``tally``, ``predictions``: a table becomes the pool of an audit. ``folder``: the audit of a table on disk,
   step by step.
5. ``watch``, ``watch_folder``: a certified model, month after month; in memory and on disk.
"""

from fairask.audit.audit import Audit
from fairask.audit.certificate import Certificate, check_certificate, issue, json_schema
from fairask.audit.labelled_rows import certify
from fairask.audit.rows import intersect
from fairask.audit.simulation import plan_audit, simulate_audit
from fairask.audit.strata import noise_from_overlap

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
