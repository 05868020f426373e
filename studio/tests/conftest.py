from __future__ import annotations

from collections.abc import Iterator

import pytest

from fairask_studio.pages.guard import Limits


@pytest.fixture(scope="session", autouse=True)
def unhurried() -> Iterator[None]:
    """A request may take longer on a busy machine than a studio allows; test_guard tests the limits."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Limits.__init__, "__defaults__", (60.0, 120.0, 240.0))
        yield
