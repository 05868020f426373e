"""Connectors: drawn rows go to the tool where people label, and their answers come back into the study's log.

A connector has no state of its own. What was sent and what came back is in the log, so a connector that is
killed at any instant goes on where it was.
"""

from fairask_studio.connect.connector import Connector, Tool
from fairask_studio.connect.webhook import Webhooks, WebhookTool, received_rows, send_answers

__all__ = [
    "Connector",
    "Tool",
    "WebhookTool",
    "Webhooks",
    "received_rows",
    "send_answers",
]
