"""The connector: sends drawn rows, takes answers, waits and tries again where the tool cannot be reached."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Protocol

from fairask.log import ASKED
from fairask_studio import Study
from fairask_studio.connect.errors import ToolUnreachable
from fairask_studio.connect.links import Link
from fairask_studio.connect.outgoing import OutgoingRow, outgoing_rows, unsent_rows
from fairask_studio.events import Document, RowsSent
from fairask_studio.tools import Intake, OutsideAnswer

#: First and longest pause after a failure, in seconds.
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 300.0


class Tool(Protocol):
    """Where people label. Each method raises ToolUnreachable for what passes, UserError for what does not."""

    link: Link
    most: int  #: rows per call of ``send``

    def send(self, rows: Sequence[OutgoingRow]) -> None:
        """Make sure that the tool has these rows; it may have some of them already."""
        ...

    def answers(self) -> Sequence[OutsideAnswer]:
        """Return answers that are new or may be new; all of them from time to time."""
        ...

    def missing(self, rows: Sequence[int]) -> Sequence[int]:
        """Return those of the rows that were sent and are no longer in the tool."""
        ...


class Connector:
    """Keeps a tool and a study in step.

    Parameters
    ----------
    study : Study
    tool : Tool
    seconds : float
        Pause between two looks at the tool.
    say : callable
        Told what happens, in words.
    """

    def __init__(
        self,
        study: Study,
        tool: Tool,
        *,
        seconds: float = 5.0,
        say: Callable[[str], object] = lambda words: None,
    ) -> None:
        self.study, self.tool, self.seconds, self.say = study, tool, seconds, say
        self.failures = 0  #: attempts that failed since the last success

    def step(self) -> Intake:
        """Take the answers that are there, and send the rows that wait."""
        done = self.collect()
        self.send()
        return done

    def collect(self) -> Intake:
        """Take the answers that are there."""
        done = self.study.receive(self.tool.link.name, self.tool.answers())
        for reason in done.refused:
            self.say(f"refused: {reason}")
        return done

    def send(self) -> int:
        """Send rows that were drawn and not sent, or that the tool has lost; return how many."""
        name, count = self.tool.link.name, 0
        for part in unsent_rows(self.study, name, self.tool.most):
            self._send(part)
            self.study.store.append("fairask", RowsSent(name, part))
            count += len(part)
        with self.study.lock:
            log = self.study.state().log
            still = [entry.index for entry in log.entries if entry.state == ASKED]
        lost = self.tool.missing(still)
        for start in range(0, len(lost), self.tool.most):
            self._send(lost[start : start + self.tool.most])
        if count + len(lost):
            self.say(f"sent {count + len(lost)} rows")
        return count + len(lost)

    def _send(self, rows: Sequence[int]) -> None:
        self.tool.send(outgoing_rows(self.study, rows, self.tool.link.protected))

    def try_step(self) -> float:
        """Do a step; return the seconds to wait before the next one, more after each failure."""
        try:
            self.step()
        except ToolUnreachable as error:
            self.failures += 1
            pause = min(_FIRST_PAUSE * 2.0 ** (self.failures - 1), _LONGEST_PAUSE)
            wait = max(pause * random.uniform(0.5, 1.0), error.wait)  # not all at once after an outage
            self.say(f"{error}; trying again in {wait:.0f} s")
            return wait
        self.failures = 0
        return self.seconds

    def run(self, wait: Callable[[float], bool]) -> None:
        """Work until ``wait(seconds)``, which waits, returns true."""
        while not wait(self.try_step()):
            pass


def finish(study: Study, labels: int, who: str) -> Document | None:
    """Go on from labels to a certificate: begin the audit, then certify; return the certificate when there.

    ``labels`` is the most that the audit may ask for. Nothing happens while rows wait for answers or a fit is
    due. Calling it again and again is safe.
    """
    with study.lock:
        state = study.state()
        audit, certificates = state.audit, state.certificates
        waiting = state.undrawn > 0 or state.answered < len(state.log.entries) or state.fit_is_due()
        ready = state.model is not None and not waiting
    if certificates:
        return certificates[-1]
    if audit is not None:
        return study.certify(who) if audit.done else None
    if ready:
        study.start_audit(labels, who)
    return None
