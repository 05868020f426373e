"""Everything of a study that talks to a database."""

from fairask.study.store._chain import START, link
from fairask.study.store._database import is_url
from fairask.study.store._repair import Repair
from fairask.study.store.attempts import Attempts
from fairask.study.store.people import People, Person, Session
from fairask.study.store.server import Server, is_server
from fairask.study.store.store import Store, Training
from fairask.study.store.transaction import Transaction, Waiting

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
