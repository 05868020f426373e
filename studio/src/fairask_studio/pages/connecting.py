"""A connector and the trainer beside it: people label in another tool, rows are drawn and fitted here."""

from __future__ import annotations

import threading
from collections.abc import Callable

from fairask_studio import Study
from fairask_studio.connect import Connector, Tool, finish
from fairask_studio.pages._trainer import Trainer


def step_once(study: Study, tool: Tool, *, train: bool, say: Callable[[str], object]) -> str:
    """Draw, fit, send and take what is due; return the counts in words."""
    trainer = Trainer(study)
    while train and trainer.step():
        pass
    done = Connector(study, tool, say=say).step()
    return ", ".join(f"{count} {kind}" for kind, count in done.counts().items())


def keep_in_step(
    study: Study,
    tool: Tool,
    *,
    seconds: float,
    train: bool,
    audit: int,
    who: str,
    say: Callable[[str], object],
) -> None:
    """Send and take rows until the study is certified, or for ever without an audit.

    Parameters
    ----------
    study : Study
    tool : Tool
    seconds : float
        Pause between two looks at the tool.
    train : bool
        Whether to draw and fit here too.
    audit : int
        Most labels of an audit that begins when the budget is labelled; 0 for none.
    who : str
        Who begins the audit.
    say : callable
        Told what happens, in words.
    """
    connector, trainer = Connector(study, tool, seconds=seconds, say=say), Trainer(study)
    ended = threading.Event()

    def wait(pause: float) -> bool:
        certificate = finish(study, audit, who) if audit else None
        if certificate is not None:
            say(f"certificate: {certificate['verdict']}")
            return True
        return ended.wait(pause)

    if train:
        trainer.start()
    try:
        connector.run(wait)
    finally:
        ended.set()
        if train:
            trainer.stop()
