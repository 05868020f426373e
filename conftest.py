"""What every test may rely on."""

import signal
from collections.abc import Iterator
from functools import cache

import pytest
import typer.testing

# A shell that starts the tests in the background makes them ignore Ctrl-C, and their children too; some of
# them test what Ctrl-C does.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest tests: none is then left over for one worker while the others have ended."""
    items.sort(key=lambda item: 0 if item.get_closest_marker("long") else 1 if _slow(item) else 2)


def _slow(item: pytest.Item) -> bool:
    return item.get_closest_marker("slow") is not None


@pytest.fixture(scope="session", autouse=True)
def commands_made_once() -> Iterator[None]:
    """Typer's runner makes all commands anew for each call, which takes longer than most calls."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.testing, "_get_command", cache(typer.main.get_command))
        yield


@pytest.fixture(scope="module")
def few_trees() -> Iterator[None]:
    """Forests of 6 trees where a model does not say how many: for tests whose subject is not the model.

    It holds in this process alone: a test that compares models with those of another process cannot use it.
    """
    from fairask.oracle.linear_forest import LinearForestClassifier

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LinearForestClassifier.__init__, "__defaults__", (6,))
        yield
