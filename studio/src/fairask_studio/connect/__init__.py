"""Connectors: drawn rows go to the tool where people label, and their answers come back into the study's log.

A connector has no state of its own. What was sent and what came back is in the log, so a connector that is
killed at any instant goes on where it was.
"""

from fairask_studio.connect.errors import ToolUnreachable
from fairask_studio.connect.links import Link, LinkCounts, ensure_link, is_token, link_counts
from fairask_studio.connect.outgoing import OutgoingRow, outgoing_rows
from fairask_studio.connect.receiver import received_rows, send_answers
from fairask_studio.connect.signing import SignatureError, new_secret, sign, verify_signature
from fairask_studio.connect.webhook import WebhookTool
from fairask_studio.connect.worker import Connector, Tool, finish

__all__ = [
    "Connector",
    "Link",
    "LinkCounts",
    "OutgoingRow",
    "SignatureError",
    "Tool",
    "ToolUnreachable",
    "WebhookTool",
    "ensure_link",
    "finish",
    "is_token",
    "link_counts",
    "new_secret",
    "outgoing_rows",
    "received_rows",
    "send_answers",
    "sign",
    "verify_signature",
]
