"""A filesystem ``slow://`` on which every read of a file takes a while; known to what imports this module.

Reads are announced on standard error, one line each.
"""

from __future__ import annotations

import os
import time
from typing import Any

import fsspec
from fsspec.implementations.local import LocalFileSystem


class Slow(LocalFileSystem):
    """This machine's files, slowly."""

    protocol = "slow"

    def _open(self, path: str, *rest: Any, **options: Any) -> Any:
        os.write(2, b"read\n")  # in one piece, whatever other threads write
        time.sleep(0.02)
        return super()._open(path, *rest, **options)

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        return super()._strip_protocol(str(path).removeprefix("slow://"))


fsspec.register_implementation("slow", Slow)
