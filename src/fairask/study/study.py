"""Study: a learner that lasts. People ask, tell, correct and skip; the log remembers."""

from __future__ import annotations

import copy
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fairask.learner import FairActiveLearner, Query
from fairask.learner.log import LABELLED, DrawLog
from fairask.pools.runners import ProgressCallback
from fairask.study import _answering, _drawing, _events, _fitting, _queue
from fairask.study._answering import Receipt
from fairask.study._audit import audit_sample, check_audit
from fairask.study._errors import StudyError
from fairask.study._open import create_store, open_store
from fairask.study._pool import table_of
from fairask.study._repair import Repair, repair
from fairask.study._rows import placed, rows_of, with_sample
from fairask.study._settings import make_config
from fairask.study.config import Config, check_person, check_stop
from fairask.study.database import Database, is_url
from fairask.study.people import People
from fairask.study.state import SKIP, State
from fairask.study.training import Training, read_training, write_training

__all__ = ["Receipt", "Study"]


class Study:
    """A fair active learner on an append-only log, for one process or many.

    Make one with :meth:`create` or :meth:`open`. A study is a folder (``pool.parquet`` and
    ``study.db``) or a PostgreSQL URL; a large pool stays where it is (:func:`refer`). Every method may be
    called from any thread; what ``tell``, ``correct``, ``skip`` and ``withdraw`` return for is on disk.

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

    def __init__(self, target: str, database: Database, state: State, table: Any) -> None:
        self.target, self.table = target, table
        self._db, self._state = database, state
        self._lock = threading.RLock()
        self.people = People(database)
        self._people_now = (float("-inf"), 0)
        self._rows, config = rows_of(table, state), state.config
        self.encoder = self._rows.encoder
        self._template = FairActiveLearner(
            *self._rows.given,
            strategy=config.strategy,
            strategy_params=config.strategy_params,
            metric=config.metric,
            tolerance=config.tolerance,
            profile=config.profile,
            blind=config.profile == "calibrated" and not config.use_protected,
            margin=config.margin,
            risk_weights=config.risk_weights,
            fairness_weights=config.fairness_weights,
            batch_size=config.batch_size,
            classes=config.classes,
            random_state=config.random_state,
        )

    # -- making and opening ---------------------------------------------------------------------

    @classmethod
    def create(
        cls,
        target: str | Path,
        table: Any,
        *,
        protected: str,
        who: str = "owner",
        hide: Iterable[str] = (),
        words: Mapping[str, Mapping[str, Any]] | None = None,
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
        protected : str
            Column of the protected attribute.
        who : str
            Who makes it, for the log.
        hide : iterable of str
            Columns neither shown nor learned from (identifiers, say).
        words : mapping, optional
            Column dictionary: ``{"amount": {"title": "Amount", "unit": "DM", "values": {}}}``; its columns
            are shown first.
        random_state : int, optional
            Drawn and stored when not given.
        **settings
            See :class:`Config`: ``classes``, ``question``, ``metric``, ``tolerance``, ``budget``,
            ``batch_size``, ``strategy``, ``overlap``, ``lease_seconds``, ``show_protected``, ...
        """
        table = table_of(table) if isinstance(table, Mapping) else table
        # Everything that can be wrong with the pool or a setting is found before anything is written.
        try:
            config, table = make_config(table, protected, hide, words or {}, random_state, settings)
            trial = cls(str(target), None, State(config, DrawLog(config.rows)), table)  # type: ignore[arg-type]
        except (ValueError, TypeError) as error:
            raise StudyError(str(error)) from error
        table = with_sample(table, trial._template)
        create_store(str(target), table, config, check_person(who))
        return cls.open(target)

    @classmethod
    def open(
        cls, target: str | Path, *, pool: str | None = None, progress: ProgressCallback | None = None
    ) -> Study:
        """Open a study; one made by an older version is migrated, by a newer one refused.

        Parameters
        ----------
        target : folder or PostgreSQL URL
        pool : path or URL, optional
            Where the pool is now, if it is not copied and has moved; it is compared with what is known of
            it. :meth:`relocate` makes that last.
        progress : callable, optional
            Called with a :class:`fairask.pools.PassProgress` during passes over a pool that is not copied.
        """
        database, state, table = open_store(str(target))
        try:
            return cls(str(target), database, state, placed(table, pool, progress))
        except BaseException:
            database.close()
            raise

    def stop_by(self, rule: str, who: str = "owner") -> None:
        """Change the rule that ends the study before its budget; an empty one is none."""
        check_stop(rule)
        with self._db.write() as connection:
            _events.append(connection, check_person(who), [("stopping", {"rule": rule})])

    def relocate(self, who: str = "owner") -> None:
        """Write the place that the study was opened with into the log, if it is another one."""
        known = self.state().pool
        if known is not None and (place := self.table.uri) != known["uri"]:
            with self._db.write() as connection:
                _events.append(connection, check_person(who), [("relocated", {"uri": place})])

    def close(self) -> None:
        """Close the database."""
        self._db.close()

    def __enter__(self) -> Study:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        name = "postgresql" if is_url(self.target) else Path(self.target).name
        return f"<Study {name}: {self.state().count(LABELLED)} labels of {self.config.budget}>"

    # -- state ----------------------------------------------------------------------------------

    def state(self) -> State:
        """The state now. It belongs to the study: read it, and not while another thread writes."""
        with self._lock, self._db.read() as connection:
            for event in _events.read_after(connection, self._state.last):
                self._state.apply(event)
            return self._state

    @property
    def config(self) -> Config:
        """The study's settings."""
        return self._state.config

    @property
    def groups(self) -> list[Any]:
        """Names of the groups."""
        return list(self._template.groups_)

    @property
    def group_codes(self) -> Any:
        """Group of each row of the pool, as a position in ``groups``, by row number."""
        with self._lock:
            self._rows.know(self.state())
        return self._rows.codes

    @property
    def group_sizes(self) -> list[int]:
        """Rows of each group in the pool, in the order of ``groups``."""
        return self._rows.sizes

    def learner(self, at: int | None = None) -> FairActiveLearner:
        """A learner of its own with this study's log: changing it changes nothing here.

        With ``at``, the learner as it was after that event.
        """
        return self._snapshot(at)[0]

    def _snapshot(self, at: int | None = None) -> tuple[FairActiveLearner, int]:
        with self._lock:
            state = self.state() if at is None else self._replayed(at)
            self._rows.know(self.state())
            log = copy.copy(state.log)
            log.entries = [copy.copy(entry) for entry in log.entries]
            log.position = dict(log.position)
            learner = copy.copy(self._template)
            learner._log, learner._batches, learner._history = log, state.batches, list(state.history)
            seen = state.last
        learner._fitted, learner._audit, learner._caught = None, None, []
        learner._sample = self._rows.sample
        return learner, seen

    def _replayed(self, at: int) -> State:
        first, *rest = self.events()
        state = State.begin(first)
        for event in rest:
            if event.id <= at:
                state.apply(event)
        return state

    def row(self, index: int) -> dict[str, Any]:
        """The cells of a row of the pool."""
        return self._rows.row(index, self.state())

    def events(self, after: int = 0) -> list[_events.Event]:
        """The log, from an event on."""
        with self._db.read() as connection:
            return _events.read_after(connection, after)

    # -- asking ---------------------------------------------------------------------------------

    def draw(self, n: int | None = None) -> Query | None:
        """Draw the next ``n`` rows (default: a batch) into the queue, as far as the budget goes.

        Returns None when the budget is drawn, or when another process drew first.
        """
        return _drawing.draw(self, n)

    def undrawn(self) -> int:
        """Rows that may still be drawn within the budget (or the audit) and the pool."""
        with self._lock:
            return self.state().undrawn

    def lease(self, who: str, count: int = 1, seconds: float | None = None) -> list[int]:
        """Hold up to ``count`` drawn rows for a person, in draw order; those already held come first."""
        check_person(who)
        with self._db.write(durable=False) as connection:
            return _queue.lease(connection, who, count, time.time(), seconds or self.config.lease_seconds)

    def ask(self, n: int | None = None, who: str = "owner", seconds: float = 7 * 86400) -> list[int]:
        """Give a person ``n`` more rows (default: a batch), drawing as many as are missing.

        Rows drawn before and held by nobody come first. They are held for a week unless ``seconds``
        says otherwise; fewer than ``n`` come back when the budget or the pool ends.
        """
        return _drawing.ask(self, n, who, seconds)

    def pending(self, who: str) -> list[int]:
        """Rows this person holds and has not answered."""
        with self._db.read() as connection:
            return _queue.held(connection, who, time.time())

    def waiting(self) -> _queue.Waiting:
        """How the queue stands."""
        with self._db.read() as connection:
            return _queue.waiting(connection, time.time())

    def people_now(self) -> int:
        """How many people hold a row; counted once a second at most."""
        counted, people = self._people_now
        if time.monotonic() - counted > 1.0:
            people = self.waiting().people
            self._people_now = (time.monotonic(), people)
        return people

    def active(self, seconds: float = 30.0) -> int:
        """How many people have answered within the last ``seconds``."""
        since = _events.now(-seconds)
        with self._lock:
            return sum(at >= since for at in self.state().seen.values())

    def release(self, who: str) -> None:
        """Give back the rows a person holds."""
        with self._db.write(durable=False) as connection:
            _queue.release(connection, who)

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
        """Record labels: all of them or, when one cannot be, none.

        Telling the same again changes nothing. Another label for a row this person answered before is
        refused, or replaces it with ``correct=True``.
        """
        codes = [self._code(label, row) for row, label in zip(rows, labels, strict=True)]
        return _answering.record(self, rows, codes, who, notes, correct)

    def skip(self, rows: Sequence[int], who: str = "owner", *, notes: Sequence[str] | None = None) -> Receipt:
        """Say that rows cannot be labelled; with overlap, others may still label them."""
        return _answering.record(self, rows, [SKIP] * len(rows), who, notes, False)

    def correct(self, row: int, label: str, who: str = "owner", *, decide: bool = True) -> None:
        """Replace a label: for everybody (``decide``), or this person's own answer only."""
        _answering.correct(self, row, label, who, decide)

    def withdraw(self, row: int, who: str) -> None:
        """Take this person's own answer (or skip) back; they hold the row again."""
        _answering.withdraw(self, row, who)

    def reword(
        self,
        question: str | None = None,
        columns: dict[str, dict[str, Any]] | None = None,
        who: str = "owner",
    ) -> None:
        """Change the question or the column dictionary; nothing that a label or weight depends on."""
        self.config.reworded(question, columns)  # raises before anything is written
        with self._db.write() as connection:
            _events.append(
                connection, who, [("configured", {"question": question, "columns": columns or {}})]
            )
        self.state()

    def _index(self, row: int) -> int:
        if isinstance(row, bool) or not isinstance(row, (int, np.integer)) or not 0 <= row < self.config.rows:
            raise StudyError(f"no row {row!r}; the pool has rows 0 to {self.config.rows - 1}")
        return int(row)

    def _code(self, label: str, row: int) -> int:
        classes = self.config.classes
        if label not in classes:
            raise StudyError(f"label {label!r} of row {row} is not one of the classes {list(classes)}")
        return classes.index(label)

    def _name(self, code: int) -> str:
        return "skipped" if code == SKIP else self.config.classes[code]

    # -- fitting --------------------------------------------------------------------------------

    def answered(self) -> int:
        """Rows that are labelled or skipped."""
        return self.state().answered

    def due(self) -> bool:
        """Whether a batch's worth of rows, or all that are out, was answered since the last fit."""
        return _fitting.due(self)

    def refit(self, force: bool = False) -> dict[str, Any] | None:
        """Fit and record a model when a batch's worth of rows was answered since the last one.

        Returns the new entry of the history, or None when none is due; ``force`` fits on any labels.
        """
        return _fitting.refit(self, force)

    def start_audit(self, labels: int, who: str = "owner") -> None:
        """Draw the next ``labels`` rows to judge the last model, uniformly within groups.

        Until :meth:`end_audit` nothing is fitted, and the labels come on top of the budget.
        """
        with self._lock:
            check_audit(self.state(), labels)
        with self._db.write() as connection:
            _events.append(connection, check_person(who), [("audit", {"size": labels})])

    def end_audit(self, who: str = "owner") -> None:
        """End the audit; its labels may train from now on."""
        if self.state().audit is None:
            raise StudyError("no audit is under way")
        with self._db.write() as connection:
            _events.append(connection, check_person(who), [("audit", {"size": 0})])

    def audit_sample(self) -> dict[str, Any] | None:
        """What :func:`fairask.certify.certify` needs of the audit under way: labels, predictions, groups."""
        with self._lock:
            audit = self.state().audit
            return None if audit is None else audit_sample(audit, self.learner(at=audit.seen), self.learner())

    def record_certificate(self, certificate: dict[str, Any], who: str = "owner") -> None:
        """Write a certificate (as ``Certificate.to_dict()`` gives it) into the log."""
        with self._db.write() as connection:
            _events.append(connection, check_person(who), [("certified", certificate)])

    # -- telling what is ------------------------------------------------------------------------

    def repair(self, *, change: bool = True) -> Repair:
        """Rebuild the queue from the events, and return what was wrong with it.

        Leases that still make sense are kept. With ``change=False`` it only looks.
        """
        return repair(self._db, time.time(), change=change)

    def training(self) -> Training:
        """What the trainer of the studio does now, in whatever process."""
        return read_training(self._db)

    def say_training(self, now: Training) -> None:
        """Tell all processes what the trainer does."""
        write_training(self._db, now)

    def status(self) -> dict[str, Any]:
        """Where the study stands, in plain values."""
        from fairask.study._status import status

        return status(self)
