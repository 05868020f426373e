"""Everything of a study that talks to a database."""

from fairask_studio.study.store._chain import START, link
from fairask_studio.study.store._database import is_url
from fairask_studio.study.store._repair import Repair
from fairask_studio.study.store.attempts import Attempts
from fairask_studio.study.store.people import People, Person, Session
from fairask_studio.study.store.server import Server, is_server
from fairask_studio.study.store.store import Store, Training
from fairask_studio.study.store.transaction import Transaction, Waiting

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
