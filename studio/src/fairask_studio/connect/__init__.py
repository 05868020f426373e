"""Connectors: drawn rows go to the tool where people label, and their answers come back into the study's log.

A connector has no state of its own. What was sent and what came back is in the log, so a connector that is
killed at any instant goes on where it was.
"""

from fairask_studio.connect.webhook import new_secret, received_rows, send_answers

__all__ = [
    "new_secret",
    "received_rows",
    "send_answers",
]
