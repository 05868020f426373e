"""Calls to other programs, none of which reaches this machine or its network unless the owner names it.

Whoever answers at a public address could otherwise lead the studio to what only this machine can reach: by a
redirect, or by a name that is resolved to another address after it was checked. So each connection goes to an
address that was resolved once and checked, wherever the request leads. Proxies of the environment are not
used: they would resolve names themselves.
"""

from __future__ import annotations

import ipaddress
import os
import socket
import ssl
import time
from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import urlsplit

import httpcore
import httpx

from fairask_studio.errors import StudyError

#: The variable with hosts of this machine or its network that may be reached: ``labels.corp, 10.0.0.5:8080``.
ALLOWED = "FAIRASK_ALLOWED_HOSTS"

#: Networks in whose addresses IPv4 addresses hide, with the place of these.
_NAT64 = ipaddress.ip_network("64:ff9b::/96")


def is_public(address: str) -> bool:
    """Whether an address is on the internet: none of this machine, its network or a special use.

    Examples
    --------
    >>> is_public("93.184.216.34"), is_public("2606:2800:220:1::1"), is_public("::ffff:10.0.0.5")
    (True, True, False)
    >>> [is_public(a) for a in ("127.0.0.1", "10.0.0.5", "169.254.169.254", "::1", "0.0.0.0", "224.0.0.1")]
    [False, False, False, False, False, False]
    """
    found = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(found, ipaddress.IPv6Address):
        inner = found.ipv4_mapped or found.sixtofour or (found.teredo or (None, None))[1]
        if found in _NAT64:
            inner = ipaddress.IPv4Address(int(found) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(str(inner))
    return found.is_global and not found.is_multicast


def check_address(address: str, option: str = "") -> None:
    """Raise StudyError unless a client can call an address; otherwise it would end what calls it, later.

    Examples
    --------
    >>> check_address("https://example.org:8443/hook")
    >>> check_address("http://example.org:http", "--webhook")
    Traceback (most recent call last):
    fairask_studio.errors.StudyError: --webhook 'http://example.org:http' is not an address; Give...
    """
    try:
        port = urlsplit(address).port  # an error beyond 65,535, which httpx takes
        found = httpx.URL(address)
        right = found.scheme in ("http", "https") and bool(found.host) and port != 0
    except (httpx.InvalidURL, ValueError):
        right = False
    if not right:
        what = f"{option} {address!r}".lstrip()
        raise StudyError(f"{what} is not an address", "Give one as in https://example.org/path")


def named_hosts(addresses: Iterable[str]) -> frozenset[str]:
    """Return the hosts that whoever gave these addresses has named as local, and those of the environment.

    An address that is written as a number, or as localhost, says itself where it leads; a name does not.

    Examples
    --------
    >>> sorted(named_hosts(["http://localhost:8080/", "http://10.0.0.5/x", "https://labels.example.org"]))
    ['10.0.0.5:80', 'localhost:8080']
    """
    found = set(os.environ.get(ALLOWED, "").replace(",", " ").lower().split())
    for address in addresses:
        parts = urlsplit(address)
        host = (parts.hostname or "").lower()
        if host == "localhost" or _is_number(host):
            found.add(f"{host}:{parts.port or (443 if parts.scheme == 'https' else 80)}")
    return frozenset(found)


def _is_number(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


#: How many times as long as one part of a reply all of it may take, and its bytes as they are sent.
_PARTS, _MOST_BYTES = 2.0, 1 << 28


class _Bounded(httpcore.NetworkStream):
    """A connection on which a reply has an end: a byte now and then would keep its reader for ever."""

    def __init__(self, stream: httpcore.NetworkStream, seconds: float) -> None:
        self._stream, self._seconds = stream, seconds
        self._begin()

    def _begin(self) -> None:
        self._until, self._bytes = time.monotonic() + self._seconds, 0

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Read a part of a reply."""
        left = self._until - time.monotonic()
        if left <= 0 or self._bytes > _MOST_BYTES:
            amount = f"{self._seconds:.0f} s" if left <= 0 else f"{_MOST_BYTES >> 20} MB"
            raise httpcore.ReadTimeout(f"the reply had no end after {amount}")
        data = self._stream.read(max_bytes, left if timeout is None else min(timeout, left))
        self._bytes += len(data)
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Write a part of a request; the reply to it may take its time again."""
        self._stream.write(buffer, timeout)
        self._begin()

    def close(self) -> None:
        """Close the connection."""
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        """Go on in TLS."""
        return _Bounded(self._stream.start_tls(ssl_context, server_hostname, timeout), self._seconds)

    def get_extra_info(self, info: str) -> Any:
        """Say what is known of the connection."""
        return self._stream.get_extra_info(info)


class _Checked(httpcore.NetworkBackend):
    """Connects to addresses that were resolved once, and are public or named."""

    def __init__(self, named: frozenset[str], seconds: float) -> None:
        self._named, self._plain, self._seconds = named, httpcore.SyncBackend(), seconds

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        """Connect to the first address of the host that answers; none unless all may be reached."""
        try:
            found = list(
                dict.fromkeys(str(a[4][0]) for a in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
            )
        except (OSError, UnicodeError) as error:
            raise httpcore.ConnectError(f"{host} is unknown") from error
        if not {host.lower(), f"{host.lower()}:{port}"} & self._named:
            for address in found:
                if not is_public(address):
                    raise httpcore.ConnectError(
                        f"{host} leads to {address}, an address of this machine or its network; "
                        f"if that is meant: export {ALLOWED}={host}"
                    )
        for address in found:
            try:
                made = self._plain.connect_tcp(address, port, timeout, local_address, socket_options)
                return _Bounded(made, self._seconds)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                if address == found[-1]:
                    raise
        raise httpcore.ConnectError(f"{host} has no address")


def outside_client(
    addresses: Sequence[str], timeout: float, *, follow_redirects: bool = False
) -> httpx.Client:
    """Make a client for calls to addresses that the owner gave; a reply takes twice ``timeout`` at most.

    Examples
    --------
    >>> with outside_client(["https://example.org"], 5.0) as client:
    ...     client.get("http://127.0.0.1:1/")
    Traceback (most recent call last):
    httpx.ConnectError: 127.0.0.1 leads to 127.0.0.1, an address of this machine or its network; if ...
    """
    transport = httpx.HTTPTransport()
    # httpx has no argument for it; without it, tests of this module fail.
    transport._pool._network_backend = _Checked(named_hosts(addresses), _PARTS * timeout)
    return httpx.Client(transport=transport, timeout=timeout, follow_redirects=follow_redirects)
