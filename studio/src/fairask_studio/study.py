"""Study: a learner whose every step is kept, for one person or many."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fairask.errors import UserError
from fairask.learner import FairActiveLearner
from fairask.log import LABELLED, LearnerState, Query
from fairask.pools.runners import ProgressCallback
from fairask.tables import TextColumns
from fairask_studio import _answering
from fairask_studio import events as happened
from fairask_studio._answering import Receipt
from fairask_studio._drawing import ask, draw
from fairask_studio._errors import SENSELESS, StudyError, senseless
from fairask_studio._fitting import make_learner
from fairask_studio._judging import certify, refit, start_audit
from fairask_studio._making import StudyRequest, read_stored
from fairask_studio._rows import StudyTable, placed, rows_of
from fairask_studio._settings import checked_changes
from fairask_studio._status import status_of
from fairask_studio.config import Config, check_person
from fairask_studio.events import SKIP, Cell, Document
from fairask_studio.snapshot import keep_snapshot, read_state
from fairask_studio.state import State
from fairask_studio.store import Store, Transaction, is_url

__all__ = ["Receipt", "Study"]


class Study:
    """A fair active learner on an append-only log, for one process or many.

    Make one with :meth:`create` or :meth:`open`. A study is a folder (``pool.parquet`` and ``study.db``) or a
    PostgreSQL URL; a large pool stays where it is (:func:`refer`). Every method may be called from any
    thread. When ``tell``, ``correct``, ``skip`` or ``withdraw`` has returned, the answer is on disk.

    Attributes
    ----------
    store : Store
        The database: events, queue, people, state of the trainer.
    people : People
        Who may sign in.
    rows : StudyRows
        The rows of the pool.
    groups : list
        Names of the groups.
    lock : threading.RLock
        Hold it while you read :meth:`state` in a program with several threads.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> pool = {"age": [20, 30, 40, 50, 60, 70], "sex": ["f", "m"] * 3}
    >>> with Study.create(f"{folder}/loans", pool, protected="sex", classes=("bad", "good"),
    ...                   budget=4, batch_size=2, random_state=0) as study:
    ...     rows = study.ask(2, who="ada")
    ...     study.tell(rows, ["good", "bad"], who="ada")
    Receipt(new=2, known=0, corrected=0)
    >>> with Study.open(f"{folder}/loans") as study:
    ...     study.status()["labels"]
    2
    """

    def __init__(self, store: Store, state: State, table: StudyTable, device: str | None = None) -> None:
        self.target, self.table = store.target, table
        self.store, self.people = store, store.people
        self.lock = threading.RLock()
        self.rows = rows_of(table, state.config)
        self._state = state
        self._read = (-1, 0.0)  # what this process had written when the events were last read, and when
        self._learner = make_learner(self.rows, state.config, device)
        self.groups = list(self._learner.groups_)

    # -- making and opening ---------------------------------------------------------------------

    @classmethod
    def create(
        cls,
        target: str | Path,
        table: StudyTable | Mapping[str, Sequence[object]],
        *,
        protected: str | Sequence[str],
        who: str = "owner",
        hide: Iterable[str] = (),
        words: Mapping[str, Document] | None = None,
        text: TextColumns | None = None,
        random_state: int | None = None,
        **settings: Any,
    ) -> Study:
        """Make a study of a pool.

        Parameters
        ----------
        target : folder or PostgreSQL URL
            Must not hold a study yet.
        table : pyarrow.Table, mapping of columns, or PoolReference
            The unlabelled rows; see :func:`read_pool` for files, and :func:`refer` for a pool that is not
            to be copied.
        protected : str or list of str
            Column of the protected attribute, or columns whose combinations are the groups; ``"age:30,50"``
            cuts numbers into bands.
        who : str
            Who makes it, for the log.
        hide : iterable of str
            Columns neither shown nor learned from (identifiers, say).
        words : mapping, optional
            Column dictionary: ``{"amount": {"title": "Amount", "unit": "DM", "values": {}}}``; its columns
            are shown first.
        text : TextColumns, optional
            Which columns are free text, besides those that look like it.
        random_state : int, optional
            Drawn and stored when not given.
        **settings
            See :class:`Config`: ``classes``, ``question``, ``metric``, ``tolerance``, ``budget``,
            ``batch_size``, ``strategy``, ``overlap``, ``lease_seconds``, ``show_protected``, ...
        """
        asked = StudyRequest(protected, tuple(hide), words or {}, text, random_state, settings)
        asked.write(str(target), table, check_person(who))
        return cls.open(target)

    @classmethod
    def open(
        cls,
        target: str | Path,
        *,
        pool: str | None = None,
        moved_by: str | None = None,
        progress: ProgressCallback | None = None,
        device: str | None = None,
    ) -> Study:
        """Open a study; one made by an older version is migrated, one made by a newer version refused.

        Parameters
        ----------
        target : folder or PostgreSQL URL
        pool : path or URL, optional
            Where the pool is now, if it is not copied and has moved; its files are compared with the record
            in the log.
        moved_by : str, optional
            Write ``pool`` into the log as the pool's new place, in the name of this person.
        progress : callable, optional
            Called with a :class:`fairask.pools.PassProgress` during passes over a pool that is not copied.
        device : str, optional
            Draw batches on this device of PyTorch instead of the study's own, or on ``"none"``.
        """
        store = Store.open(str(target))
        try:
            state, table = read_stored(store)
            study = cls(store, state, placed(table, pool, progress), device)
            keep_snapshot(store, state)
            if moved_by is not None and state.pool is not None and study.table.uri != state.pool["uri"]:
                store.append(check_person(moved_by), happened.PoolMoved(study.table.uri))
        except BaseException as error:
            store.close()
            if isinstance(error, SENSELESS) and not isinstance(error, UserError):
                raise senseless(error) from error
            raise
        return study

    def close(self) -> None:
        """Close the database."""
        self.store.close()

    def __enter__(self) -> Study:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        name = "postgresql" if is_url(self.target) else Path(self.target).name
        return f"<Study {name}: {self.state().count(LABELLED)} labels of {self.config.budget}>"

    # -- state ----------------------------------------------------------------------------------

    def state(self, max_age: float = 0.0) -> State:
        """Return the state after all events so far. It belongs to the study: read it under ``lock``.

        What other processes wrote may be missing for ``max_age`` seconds.
        """
        with self.lock:
            written, now = self.store.written, time.monotonic()
            if max_age == 0.0 or self._read[0] != written or now - self._read[1] > max_age:
                for event in self.store.events(self._state.last):
                    self._state.apply(event)
                self._read = (written, now)
            return self._state

    @property
    def last_state(self) -> State:
        """The state after the events that were read last; read it under ``lock``, as :meth:`state`."""
        return self._state

    @property
    def config(self) -> Config:
        """The study's settings."""
        return self._state.config

    def status(self) -> Document:
        """Return where the study stands, in plain values."""
        waiting = self.store.waiting()
        with self.lock:
            state = self.state()
            self.rows.cache_drawn_rows(state)
            return status_of(state, self.rows, self.groups, waiting)

    def row(self, index: int) -> dict[str, Cell]:
        """Return the cells of a row of the pool."""
        known = index in self._state.log.position  # then no newer event says more about its cells
        return self.rows.row(index, self._state if known else self.state())

    def learner(self, at: int | None = None) -> FairActiveLearner:
        """Return a learner with this study's log; changing the learner does not change the study.

        With ``at``, the learner as it was after that event.
        """
        with self.lock:
            state = self.state()
            self.rows.cache_drawn_rows(state)
            if at is not None:
                with self.store.read() as turn:
                    state = read_state(turn, at)
            now = LearnerState(state.log, state.batches, state.history)
            return self._learner.with_state(now, background=self.rows.sample)

    # -- asking ---------------------------------------------------------------------------------

    def draw(self, n: int | None = None, *, uniform: bool = False) -> Query | None:
        """Draw the next ``n`` rows (default: a batch) into the queue, within the budget.

        With ``uniform`` every row that is left is equally likely: no model is fitted, so people who wait get
        rows at once. Returns None when the budget is drawn, or when another process drew first.
        """
        return draw(self, n, uniform=uniform)

    def lease(self, who: str, count: int = 1, seconds: float | None = None) -> list[int]:
        """Hold up to ``count`` drawn rows for a person, in draw order; those already held come first."""
        return self.store.lease(check_person(who), count, seconds or self.config.lease_seconds)

    def ask(self, n: int | None = None, who: str = "owner", seconds: float = 7 * 86400) -> list[int]:
        """Give a person ``n`` more rows (default: a batch), drawing as many as are missing.

        Rows drawn before and held by nobody come first. They are held for ``seconds``, a week by default.
        Fewer than ``n`` rows come back when the budget or the pool ends.
        """
        return ask(self, n, who, seconds)

    # -- answering ------------------------------------------------------------------------------

    def tell(
        self,
        rows: Sequence[int],
        labels: Sequence[str],
        who: str = "owner",
        *,
        notes: Sequence[str] | None = None,
        correct: bool = False,
    ) -> Receipt:
        """Record labels: all of them or, when one cannot be recorded, none.

        Telling the same again changes nothing. Another label for a row this person answered before is
        refused, or replaces it with ``correct=True``.
        """
        codes = [self.config.class_code(label, row) for row, label in zip(rows, labels, strict=True)]
        return _answering.record(self.store, self.config, rows, codes, who, notes, correct=correct)

    def skip(
        self,
        rows: Sequence[int],
        who: str = "owner",
        *,
        notes: Sequence[str] | None = None,
        reason: str = "",
    ) -> Receipt:
        """Record that rows cannot be labelled, and why; with overlap, others may still label them.

        The reason is one of the study's ``skip_reasons`` or the person's own words.
        """
        codes = [SKIP] * len(rows)
        return _answering.record(self.store, self.config, rows, codes, who, notes, reason=reason)

    def correct(self, row: int, label: str, who: str = "owner", *, decide: bool = True) -> None:
        """Replace a label: for everybody (``decide``), or this person's own answer only."""
        row = self.config.check_row(row)
        _answering.correct(self.store, row, self.config.class_code(label, row), who, decide)

    def withdraw(self, row: int, who: str) -> None:
        """Take this person's own answer (or skip) back; they hold the row again."""
        _answering.withdraw(self.store, self.config.check_row(row), who, self.config.lease_seconds)

    # -- changing, fitting, auditing ------------------------------------------------------------

    def change(
        self,
        *,
        question: str | None = None,
        columns: dict[str, Document] | None = None,
        guidelines: str | None = None,
        skip_reasons: Sequence[str] | None = None,
        stop: str | None = None,
        most_skips: int | None = None,
        most_per_minute: int | None = None,
        gold_every: int | None = None,
        gold_least: int | None = None,
        who: str = "owner",
    ) -> None:
        """Change settings on which no label or weight depends.

        Parameters
        ----------
        question : str, optional
            What annotators are asked.
        columns : dict, optional
            Words for columns, as in :meth:`create`.
        guidelines : str, optional
            How to label, in Markdown; the log keeps every version.
        skip_reasons : sequence of str, optional
            Reasons that annotators choose from when they skip a row; with none, they are not asked.
        stop : str, optional
            The rule that ends the study before its budget; an empty one is none.
        most_skips, most_per_minute : int, optional
            Limits on one person in the studio: rows skipped, answers in a minute; 0 is no limit.
        gold_every, gold_least : int, optional
            Of how many answers of a person one is to a gold row, and the per cent of them to be answered
            rightly without a warning to the owners; 0 is never.
        who : str
            Who changes them.
        """
        limits = happened.LimitsChanged(most_skips, most_per_minute, gold_every, gold_least)
        reasons = None if skip_reasons is None else list(skip_reasons)
        words = happened.StudyReworded(question, columns, guidelines, reasons)
        changes = checked_changes(self.config, limits, stop, words)  # raises before anything is written
        self.store.append(check_person(who), *changes)
        self.state()

    def refit(self, force: bool = False, *, asked_by: str | None = None) -> Document | None:
        """Fit and record a model when a batch of rows was answered since the last one.

        Parameters
        ----------
        force : bool
            Fit on any labels.
        asked_by : str, optional
            An owner who asks for another model on any labels: a certified model is no longer kept. Otherwise
            nothing is fitted while one is.

        Returns
        -------
        dict or None
            The new entry of the history; None when no fit is due.
        """
        return refit(self, force, asked_by)

    @contextmanager
    def turn(self) -> Iterator[tuple[Transaction, State]]:
        """Take the turn to write; the state is that of all events, and nobody else can add one."""
        with self.lock, self.store.write() as turn:
            for event in turn.events(self._state.last):
                self._state.apply(event)
            yield turn, self._state

    def start_audit(self, labels: int, who: str = "owner") -> None:
        """Begin to audit the last model with at most ``labels`` labels of rows that are not drawn yet.

        Until :meth:`end_audit` nothing is fitted. The labels do not count against the budget.
        """
        start_audit(self, labels, check_person(who))

    def end_audit(self, who: str = "owner") -> None:
        """End the audit; its labels may train from now on."""
        with self.turn() as (turn, state):
            if state.audit is None:
                raise StudyError("no audit is under way")
            turn.append(check_person(who), happened.AuditChanged(0))

    def certify(self, who: str = "owner") -> Document:
        """Issue the certificate of the audit under way, write it into the log, and end the audit.

        The certificate names the model by round and digest. A certified model stays the study's model
        until an owner asks for another one: :meth:`refit`.
        """
        return certify(self, check_person(who))
