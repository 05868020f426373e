"""Everything of a study that talks to a database."""

from fairask_studio.store.database import UNREACHABLE, Outage, why_unreachable
from fairask_studio.store.people import ROLES, TOKEN_SECONDS, Attempts, People, Person, Session
from fairask_studio.store.postgres import Server, is_server, is_url
from fairask_studio.store.store import Store, Training
from fairask_studio.store.transaction import Slot, Transaction, Waiting

__all__ = [
    "ROLES",
    "TOKEN_SECONDS",
    "UNREACHABLE",
    "Attempts",
    "Outage",
    "People",
    "Person",
    "Server",
    "Session",
    "Slot",
    "Store",
    "Training",
    "Transaction",
    "Waiting",
    "is_server",
    "is_url",
    "why_unreachable",
]
