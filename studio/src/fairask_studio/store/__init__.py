"""Everything of a study that talks to a database."""

from fairask_studio.store._chain import START, link
from fairask_studio.store._database import is_url
from fairask_studio.store._repair import Repair
from fairask_studio.store.attempts import Attempts
from fairask_studio.store.people import People, Person, Session
from fairask_studio.store.server import Server, is_server
from fairask_studio.store.store import Store, Training
from fairask_studio.store.transaction import Transaction, Waiting

__all__ = [
    "START",
    "Attempts",
    "People",
    "Person",
    "Repair",
    "Server",
    "Session",
    "Store",
    "Training",
    "Transaction",
    "Waiting",
    "is_server",
    "is_url",
    "link",
]
