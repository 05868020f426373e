"""Failed sign-ins by address and account, counted in the database: one limit for all processes."""

from __future__ import annotations

import ipaddress

from sqlalchemy import Connection, delete, insert, select

from fairask_studio.store._database import Database, clock
from fairask_studio.store._schema import attempts

#: Attempts that are kept, over all addresses.
MOST_KEPT = 10_000


def place_of(address: str) -> str:
    """Return what an address counts as: one IPv4 address, or the IPv6 network of one customer.

    Examples
    --------
    >>> place_of("192.0.2.7"), place_of("2001:db8::1:2"), place_of("testclient")
    ('192.0.2.7', '2001:db8::/64', 'testclient')
    """
    try:
        known = ipaddress.ip_address(address)
    except ValueError:
        return address[:64]
    if known.version == 4:
        return str(known)
    return str(known.ipv4_mapped or ipaddress.ip_network((known, 64), strict=False))


class Attempts:
    """A limit on wrong tokens per minute, for each address and each account.

    Only failures are counted, so any number of people may sign in from one address, and somebody with a right
    token is let in whatever others at the address guess. Tokens are 192 random bits: the limit keeps guesses
    from filling the log and the database. It holds for all processes together.
    """

    def __init__(self, database: Database, most: int = 8, seconds: float = 60.0) -> None:
        self._db, self.most, self.seconds = database, most, seconds

    def fail(self, address: str, account: str | None = None) -> float:
        """Count a wrong token; return 0, or the seconds to wait when the limit was reached before.

        An expired token has an account: its failures count together, whatever address they come from.
        """
        place = place_of(address) if account is None else f"account {account}"[:64]
        with self._db.read() as connection:  # one over the limit costs no write
            wait = self._wait(connection, place, clock(connection))
        if wait > 0:
            return wait
        with self._db.write(durable=False) as connection:
            now = clock(connection)
            wait = self._wait(connection, place, now)
            if wait > 0:
                return wait
            added = connection.execute(
                insert(attempts).values(address=place, at=now).returning(attempts.c.id)
            ).scalar_one()
            connection.execute(
                delete(attempts).where(
                    (attempts.c.at < now - self.seconds) | (attempts.c.id <= added - MOST_KEPT)
                )
            )
        return 0.0

    def _wait(self, connection: Connection, place: str, now: float) -> float:
        recent = connection.execute(
            select(attempts.c.at)
            # An attempt in the future is of before the clock was put back.
            .where(attempts.c.address == place, attempts.c.at.between(now - self.seconds, now + 1.0))
            .order_by(attempts.c.at.desc())
            .limit(self.most)
        ).scalars()
        times = list(recent)
        return times[-1] + self.seconds - now if len(times) >= self.most else 0.0
