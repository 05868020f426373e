"""Connectors: drawn rows go to the tool where people label, and their answers come back into the study's log.

A connector has no state of its own. What was sent and what came back is in the log, so a connector that is
killed at any instant goes on where it was.
"""

from fairask_studio.connect.connector import (
    Connector,
    Link,
    OutgoingRow,
    Tool,
    ToolUnreachable,
    ensure_link,
    finish,
    link_counts,
    outgoing_rows,
)
from fairask_studio.connect.webhook import (
    SignatureError,
    Webhooks,
    WebhookTool,
    new_secret,
    received_rows,
    send_answers,
    sign,
    verify_signature,
)

__all__ = [
    "Connector",
    "Link",
    "OutgoingRow",
    "SignatureError",
    "Tool",
    "ToolUnreachable",
    "WebhookTool",
    "Webhooks",
    "ensure_link",
    "finish",
    "link_counts",
    "new_secret",
    "outgoing_rows",
    "received_rows",
    "send_answers",
    "sign",
    "verify_signature",
]
