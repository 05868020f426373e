"""Study: a learner whose every step is kept, for one person or many."""

from __future__ import annotations

import copy
import threading
import time
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, astuple, dataclass, replace
from datetime import datetime
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.sparse import issparse

from fairask.audit import Audit
from fairask.audit.certificate import SIGNED
from fairask.audit.plan import AuditPlan
from fairask.audit.signature import OwnerKey
from fairask.audit.strata import Noise
from fairask.defaults import BUDGET
from fairask.documents import reading
from fairask.errors import FairaskWarning, TableError, suggest
from fairask.learner import FairActiveLearner
from fairask.log import ASKED, LABELLED, LearnerState, Query
from fairask.metrics import encode_groups
from fairask.people import People as Crew
from fairask.pools.sample import SAMPLE
from fairask.report.words import EMBED, decides_sentence, repeats_sentence, safety_sentence, unseen_sentence
from fairask.tables import Encoder, TextColumns, fit_encoder
from fairask.tables.encoder import Vector
from fairask.tables.formats import written_as
from fairask.tables.groups import GroupColumns, MissingGroups, as_specs, group_names, protected_columns
from fairask.tables.leaks import columns_that_tell
from fairask.tables.sheets import check_code, write_whole
from fairask_studio import events as happened
from fairask_studio.advice import advice_of, certificate_of_model, known_gap, story_of
from fairask_studio.columns import MEDIA, ColumnInfo, column_infos, guess_displays
from fairask_studio.config import Config, check_note, check_person, check_reason, check_stop, new_seed
from fairask_studio.errors import SENSELESS, NotYoursError, StudyError, senseless
from fairask_studio.estimates import estimate, model_digest
from fairask_studio.events import SKIP, Cell, Document, now, utc
from fairask_studio.flags import Flag, check_comment
from fairask_studio.gold import (
    GOLD,
    MOST_KNOWN,
    USES,
    KnownRow,
    check_known,
    crew_label_errors,
    crew_of,
    due_row,
    gold_figures,
)
from fairask_studio.pool import PoolSource, from_parquet, read_pool, rows_values, to_parquet, with_groups
from fairask_studio.state import AUDIT, State, pace_of
from fairask_studio.store.postgres import is_url
from fairask_studio.store.store import Store
from fairask_studio.store.transaction import Slot, Transaction
from fairask_studio.tools import AnswerReceiver, Intake, OutsideAnswer

#: Kinds of events after which another model is judged, or a model is judged otherwise.
_JUDGED = {
    kind.kind
    for kind in (
        happened.ModelFitted,
        happened.AuditChanged,
        happened.CertificateIssued,
        happened.AnswersReopened,
        happened.AnswersRestored,
    )
}
#: Looks of an audit at most, and labels that a look is worth.
_LOOKS, _LABELS_PER_LOOK = 5, 40
#: Answers of a tool per transaction: other writers wait for one.
_CHUNK = 200
#: The owners are warned of the same person and limit once in so many seconds.
_SILENCE = 3600.0


@dataclass(frozen=True)
class Receipt:
    """Counts of labels told: new ones, ones told before, ones that replaced another."""

    new: int
    known: int
    corrected: int


@dataclass(frozen=True)
class Reopened:
    """What was reopened; ``event`` is its number, by which it can be restored, None if nothing was."""

    event: int | None
    answers: int
    labels: int  #: answers that were labels, and not skips


@dataclass(frozen=True)
class Restored:
    """How many answers were restored; ``taken`` are those whose rows others have answered meanwhile."""

    answers: int
    taken: int


class Study:
    """A fair active learner on an append-only log, for one process or many.

    Make one with :meth:`create` or :meth:`open`. A study is a folder (``pool.parquet`` and ``study.db``) or a
    PostgreSQL URL. Every method may be called from any thread. When ``tell``, ``correct``, ``skip`` or
    ``withdraw`` has returned, the answer is on disk.

    Attributes
    ----------
    store : Store
        The database: events, queue, people, state of the trainer.
    people : People
        Who may sign in.
    table : pyarrow.Table
        The rows of the pool.
    encoder : Encoder
        What turns columns into features.
    groups : list
        Names of the groups.
    codes : ndarray
        The group of each row, by its position in ``groups``.
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

    def __init__(self, store: Store, state: State, table: pa.Table) -> None:
        self.target, self.table = store.target, table
        self.store, self.people = store, store.people
        self.lock = threading.RLock()
        self._state = state
        self._read = (-1, 0.0)  # what this process had written when the events were last read, and when
        self.encoder = Encoder.from_dict(state.config.encoder or {})
        self.group_columns = GroupColumns.in_table(table, state.config.protected)
        named = np.array(self.group_columns.names)[self.group_columns.codes(table)]
        # The study keeps the budget and the stopping rule itself: its log knows of audits and of changed
        # rules.
        bare = replace(state.config.learner, budget=None, stopping=None)
        self._learner = FairActiveLearner(self.encoder.transform(table), named, **vars(bare))
        self.groups = list(self._learner.groups_)
        self.codes = encode_groups(named)[1]

    # -- making and opening ---------------------------------------------------------------------

    @classmethod
    def create(
        cls,
        target: str | Path,
        pool: PoolSource,
        *,
        protected: str | Sequence[str],
        who: str = "owner",
        hide: Iterable[str] = (),
        keep: Iterable[str] = (),
        words: Mapping[str, Document] | None = None,
        text: TextColumns | None = None,
        missing_groups: MissingGroups | None = None,
        sample: int = SAMPLE,
        random_state: int | None = None,
        **settings: Any,
    ) -> Study:
        """Make a study of a pool.

        Parameters
        ----------
        target : folder or PostgreSQL URL
            Must not hold a study yet.
        pool : path, URL, table or mapping of columns
            The unlabelled rows, which are copied.
        protected : str or list of str
            Column of the protected attribute, or columns whose combinations are the groups; ``"age:30,50"``
            cuts numbers into bands.
        who : str
            Who makes it, for the log.
        hide : iterable of str
            Columns neither shown nor learned from (identifiers, say).
        keep : iterable of str
            Columns to learn from although they look like identifiers or have too many values.
        words : mapping, optional
            Column dictionary: ``{"amount": {"title": "Amount", "unit": "DM", "values": {}}}``; its columns
            are shown first.
        text : TextColumns, optional
            Which columns are free text, besides those that look like it.
        missing_groups : {"drop", "own"}, optional
            Whether rows without a group are left out, or a group of their own (the default). If some are left
            out, rows are numbered anew, and the column ``row in the table`` has each row's number there.
        sample : int
            Most rows of the pool. A larger table is sampled once: the study numbers its rows anew, and its
            column ``row in the table`` has each row's number or key there.
        random_state : int, optional
            Drawn and stored when not given.
        **settings
            See :class:`Config`: ``classes``, ``question``, ``metric``, ``tolerance``, ``budget``,
            ``batch_size``, ``strategy``, ``overlap``, ``lease_seconds``, ``show_protected``, ...
        """
        check_person(who)
        for name in settings.keys() - Config.names():
            raise StudyError(f"{name!r} is not a setting of a study; {suggest(name, Config.names())}")
        seed = new_seed() if random_state is None else random_state
        read = with_groups(read_pool(pool, sample=sample, random_state=seed), protected, missing_groups)
        table, hidden = read.table, [*hide, *([read.key] if read.key else [])]
        try:
            config = _config(table, as_specs(protected), hidden, [*keep], words or {}, text, seed, settings)
        except (ValueError, TypeError) as error:
            raise StudyError(str(error)) from error
        data, sha256 = to_parquet(table)
        config = replace(config, pool_sha256=sha256, sampled_from=read.sampled_from)
        # What is wrong with the pool or a setting is found before anything is written.
        Store.create(str(target), data, happened.StudyCreated(config.to_dict()), who)
        return cls.open(target)

    @classmethod
    def open(cls, target: str | Path) -> Study:
        """Open the study in a folder or at a PostgreSQL URL; one made by a newer version is refused.

        A queue that is not what the events say is rebuilt from them.
        """
        store = Store.open(str(target))
        try:
            with store.read() as turn:
                state = State.replay(turn.each_event())
            study = cls(store, state, from_parquet(store.read_pool(), state.config.pool_sha256))
            study._mend_queue()
        except BaseException as error:
            store.close()
            if isinstance(error, SENSELESS) and not isinstance(error, StudyError):
                raise senseless(error) from error
            raise
        return study

    def _mend_queue(self) -> None:
        with self.store.read() as turn:
            if self._state.agrees(turn.slots()):
                return
        with self.turn() as (turn, state):  # while nobody else can write
            if not state.agrees(turn.slots()):
                turn.rebuild_queue(state.queue())

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
    def written_as(self) -> dict[str, str]:
        """Encoding, delimiter and decimal sign of the text that the pool was read from; empty for others."""
        return written_as(self.table.schema)

    @property
    def config(self) -> Config:
        """The study's settings."""
        return self._state.config

    @contextmanager
    def turn(self) -> Iterator[tuple[Transaction, State]]:
        """Take the turn to write; the state is that of all events, and nobody else can add one."""
        with self.lock, self.store.write() as turn:
            for event in turn.events(self._state.last):
                self._state.apply(event)
            yield turn, self._state

    def row(self, index: int) -> dict[str, Cell]:
        """Return the cells of a row of the pool."""
        return self.rows([index])[0]

    def rows(self, indices: Sequence[int]) -> list[dict[str, Cell]]:
        """Return the cells of several rows, in their order."""
        return rows_values(self.table.take(pa.array(indices, pa.int64())))

    def learner(self, at: int | None = None) -> FairActiveLearner:
        """Return a learner with this study's log; changing the learner does not change the study.

        With ``at``, the learner as it was after that event.
        """
        with self.lock:
            state = self.state()
            if at is not None:
                with self.store.read() as turn:
                    state = State.replay(turn.each_event(0, at))
            return self._learner.with_state(LearnerState(state.log, state.batches, state.history))

    # -- asking ---------------------------------------------------------------------------------

    def draw(self, n: int | None = None, *, uniform: bool = False) -> Query | None:
        """Draw the next ``n`` rows (default: a batch) into the queue, within the budget.

        With ``uniform`` every row that is left is equally likely: no model is fitted, so people who wait get
        rows at once. Returns None when the budget is drawn, or when another process drew first.
        """
        with self.lock:
            learner = None if uniform else self.learner()
            state = self.state() if uniform else self._state  # the learner has read the newest events
            left, start, seen = state.undrawn, len(state.log.entries), state.last
            count = min(n or self.config.learner.batch_size, left)
            proposed = _propose_audit(state)
            if proposed is None and learner is None:
                proposed = propose_uniform(state, count)
        if left < 1:
            return None
        if proposed is None:
            assert learner is not None
            proposed = _propose(learner, count)
        with self.store.write() as turn:
            if not turn.book_batch(replace(proposed, seen=seen), start, self.config.overlap):
                return None
        propensities = np.array(proposed.propensities, np.float64)  # None is NaN
        return Query(proposed.batch, np.array(proposed.rows, np.int64), propensities, proposed.components)

    def lease(self, who: str, count: int = 1, seconds: float | None = None) -> list[int]:
        """Hold up to ``count`` drawn rows for a person, in draw order; those already held come first."""
        return self.store.lease(check_person(who), count, seconds or self.config.lease_seconds)

    def ask(self, n: int | None = None, who: str = "owner", seconds: float = 7 * 86400) -> list[int]:
        """Give a person ``n`` more rows (default: a batch), drawing as many as are missing.

        Rows drawn before and held by nobody come first. They are held for ``seconds``, a week by default.
        Fewer than ``n`` rows come back when the budget or the pool ends.
        """
        n = self.config.learner.batch_size if n is None else n
        if n < 1:
            raise StudyError(f"n={n} must be 1 or more")
        rows = before = self.store.pending(who)
        try:
            while True:
                rows = self.lease(who, len(before) + n, seconds)
                missing = len(before) + n - len(rows)
                if missing <= 0 or (self.draw(missing) is None and not self._somebody_drew()):
                    return [row for row in rows if row not in set(before)]
        except BaseException:
            # A long fit was stopped: nobody was told of the rows that were free before it.
            self.store.release(who, set(rows) - set(before))
            raise

    def _somebody_drew(self) -> bool:
        return self.config.overlap == 1 and not self._state.again and self.store.waiting().free > 0

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
        return self._record(rows, codes, who, notes, correct=correct)

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
        return self._record(rows, [SKIP] * len(rows), who, notes, reason=reason)

    def _record(
        self,
        rows: Sequence[int],
        codes: Sequence[int],
        who: str,
        notes: Sequence[str] | None,
        *,
        correct: bool = False,
        reason: str = "",
    ) -> Receipt:
        config, why = self.config, check_reason(reason) or None
        check_person(who)
        rows = [config.check_row(row) for row in rows]
        texts = [None] * len(rows) if notes is None else [check_note(note) for note in notes]
        if len(set(rows)) < len(rows):
            raise StudyError(f"row {next(r for r in rows if rows.count(r) > 1)} is told more than once")
        said: list[happened.Happening] = []
        known = corrected = 0
        with self.store.write() as turn:
            before = turn.answers_of(who, rows)
            for row, code, note in zip(rows, codes, texts, strict=True):
                if row not in before:
                    turn.answer(row, who, code)
                    skipped = happened.RowSkipped(row, note, reason=why)
                    said.append(skipped if code == SKIP else happened.RowLabelled(row, code, note))
                elif before[row] == code:
                    known += 1
                elif not correct:
                    raise _told_otherwise(config, row, before[row], code)
                else:
                    turn.change_answer(row, who, code)
                    said.append(happened.RowCorrected(row, code, decides=False))
                    corrected += 1
            turn.append(who, *said)
        return Receipt(len(said) - corrected, known, corrected)

    def correct(self, row: int, label: str, who: str = "owner", *, decide: bool = True) -> None:
        """Replace a label: for everybody (``decide``), or this person's own answer only."""
        row, code = self.config.check_row(row), self.config.class_code(label, row)
        check_person(who)
        with self.store.write() as turn:
            if decide and not turn.is_labelled(row):
                raise StudyError(f"row {row} is not labelled, so there is nothing to correct")
            if not decide:
                if not turn.answers_of(who, [row]):
                    raise StudyError(f"{who!r} has not answered row {row}")
                turn.change_answer(row, who, code)
            turn.append(who, happened.RowCorrected(row, code, decides=decide))

    def withdraw(self, row: int, who: str) -> None:
        """Take this person's own answer (or skip) back; they hold the row again."""
        row = self.config.check_row(row)
        with self.store.write() as turn:
            if not turn.answers_of(who, [row]):
                raise StudyError(f"{who!r} has not answered row {row}")
            turn.hold_again(row, who, self.config.lease_seconds)
            turn.append(who, happened.AnswerWithdrawn(row))

    def row_codes(self, rows: Iterable[int]) -> dict[int, str]:
        """Return the check codes of drawn rows, which come back with answers from other tools.

        A code follows from the study and the row's number. It is made of no cell, so it says nothing of the
        protected attribute.
        """
        with self.lock:
            state = self.state()
            made = {"study": f"{state.created} {state.config.pool_sha256}"}
            return {row: check_code(row, made) for row in rows if row in state.log.position}

    def receive(self, link: str, answers: Iterable[OutsideAnswer]) -> Intake:
        """Take answers of a linked tool into the log: each is taken, known already, or refused."""
        waiting, done = list(answers), Intake()
        for start in range(0, len(waiting), _CHUNK):
            part = waiting[start : start + _CHUNK]
            codes = self.row_codes({answer.row for answer in part})
            with self.turn() as (turn, state):
                desk = AnswerReceiver(turn, state, link, codes, done)
                for answer in part:
                    desk.take(answer)
        return done

    # -- asking again ---------------------------------------------------------------------------

    def reopen(
        self,
        name: str | None = None,
        *,
        since: str | None = None,
        until: str | None = None,
        skips: bool = False,
        who: str = "owner",
        look: bool = False,
    ) -> Reopened:
        """Take answers away, and ask for their rows again; rows that an owner decided keep theirs.

        The answers no longer count, their rows are free, and :meth:`restore` gives them back. The model is
        fitted anew when labels were among them.

        Parameters
        ----------
        name : str, optional
            Whose answers; everybody's by default, which is allowed for skips only.
        since, until : str, optional
            Of which time, as ``2026-11-15 14:30``, in UTC.
        skips : bool
            Skipped rows only.
        who : str
            Who takes them away.
        look : bool
            Count only, and change nothing.
        """
        check_person(who)
        begin, end = (None if bound is None else utc(bound) for bound in (since, until))
        if begin is not None and end is not None and begin >= end:
            raise StudyError(f"the time ends at {end}, before it begins at {begin}")
        if name is None and not skips:
            raise StudyError("whose answers?", "Name a person, or ask for skipped rows only")
        with self.turn() as (turn, state):
            found = [
                (row, giver)
                for row, given in state.answers.items()
                for giver, answer in given.items()
                if name in (None, giver)
                and (answer.code == SKIP or not skips)
                and (begin is None or answer.at >= begin)
                and (end is None or answer.at < end)
                and row not in state.decided
            ]
            labels = [row for row, giver in found if state.answers[row][giver].code != SKIP]
            _check_not_audited(state, labels)
            if found and not look:
                turn.open_again(found)
                turn.append(who, happened.AnswersReopened(found, name, begin, end, skips or None))
            return Reopened(turn.last, len(found), len(labels))

    def restore(self, event: int, who: str = "owner") -> Restored:
        """Give the answers back that event ``event`` took away, where nobody else has answered meanwhile."""
        check_person(who)
        with self.turn() as (turn, state):
            taken = state.reopened.get(event)
            if not taken:
                known = [number for number, answers in state.reopened.items() if answers]
                raise StudyError(f"event {event} reopened nothing that could be given back; known: {known}")
            _check_not_audited(state, [row for (row, _), answer in taken.items() if answer.code != SKIP])
            back = [(row, name) for (row, name), a in taken.items() if turn.put_back(row, name, a.code)]
            if back:
                turn.append(who, happened.AnswersRestored(event, back))
            return Restored(len(back), len(taken) - len(back))

    # -- flags ----------------------------------------------------------------------------------

    def flag(self, row: int, text: str, who: str) -> Flag:
        """Ask the owners about a row; while this person's flag of the row is open, add to its thread."""
        check_person(who)
        row, text = self.config.check_row(row), check_comment(text)
        with self.turn() as (turn, state):
            before = [flag.id for flag in state.flags.of_row(row) if flag.who == who and flag.open]
            more = happened.FlagAnswered(before[0], row, text) if before else happened.RowFlagged(row, text)
            turn.append(who, more)
            number = before[0] if before else turn.last or 0
        with self.lock:
            return self.state().flags.known[number]

    def answer_flag(self, number: int, text: str, who: str, *, resolve: bool = False) -> Flag:
        """Write into the thread of a flag and, with ``resolve``, close it; then the text may be empty."""
        check_person(who)
        text = check_comment(text, empty=resolve)
        with self.turn() as (turn, state):
            flag = state.flags.known.get(number)
            if flag is None:
                raise StudyError(f"no flag has the number {number}")
            if resolve and not flag.open:
                raise StudyError(f"flag {number} is resolved already")
            resolved = happened.FlagResolved(number, flag.row, text or None)
            turn.append(who, resolved if resolve else happened.FlagAnswered(number, flag.row, text))
        with self.lock:
            return self.state().flags.known[number]

    # -- rows whose answer is known -------------------------------------------------------------

    def mark_known(self, rows: Sequence[KnownRow], who: str = "owner") -> int:
        """Mark rows with their answers; a row that is marked already is marked anew. All of them, or none.

        Returns the number of known rows.
        """
        check_person(who)
        seen: set[int] = set()
        for known in rows:
            check_known(self.config, known)
            if known.row in seen:
                raise StudyError(f"row {known.row} is marked more than once")
            seen.add(known.row)
        if not rows:
            raise StudyError("no row to mark")
        with self.turn() as (turn, state):
            if len(seen | state.known.rows.keys()) > MOST_KNOWN:
                raise StudyError(f"more than {MOST_KNOWN:,} rows with known answers")
            columns = zip(*(astuple(known) for known in rows), strict=True)
            turn.append(who, happened.KnownMarked(*(list(column) for column in columns)))
        with self.lock:
            return len(self.state().known.rows)

    def unmark_known(self, rows: Sequence[int], who: str = "owner") -> int:
        """Take marks away; answers to these rows stay in the log. Returns the number of known rows left."""
        check_person(who)
        with self.turn() as (turn, state):
            for row in rows:
                if row not in state.known.rows:
                    raise StudyError(f"row {row} has no known answer")
            if rows:
                turn.append(who, happened.KnownRemoved(sorted(set(rows))))
        with self.lock:
            return len(self.state().known.rows)

    def answer_known(
        self, row: int, code: int | None, who: str, note: str = "", *, correct: bool = False
    ) -> KnownRow:
        """Record a person's answer to a known row that is due; None takes it back.

        As with labels, another answer is refused, or replaces the one before with ``correct=True``.
        """
        check_person(who)
        noted = check_note(note)
        with self.turn() as (turn, state):
            before = state.known.answers.get(who, {}).get(row)
            due = None if before is not None else due_row(state, who, row, turn.held(who))
            if before is not None:
                use, number = before.use, before.number
            elif due is not None:
                use, number = due[0].use, due[1]
            else:
                raise NotYoursError(
                    f"row {row} was not given to you, or is with somebody else; load the page again"
                )
            if before is not None and code not in (None, before.code) and not correct:
                raise _told_otherwise(self.config, row, before.code, code or 0)
            known = state.known.rows.get(row) or KnownRow(row, SKIP, use)
            if before is None or before.code != code:
                turn.append(who, happened.KnownAnswered(row, code, use, number, noted))
        return known

    # -- limits on one person -------------------------------------------------------------------

    def check_skips(self, who: str) -> None:
        """Raise StudyError, and warn the owners, if this person may skip no more rows."""
        with self.lock:
            state = self.state()
            most, skips = state.config.most_skips, state.skips[who] + state.known.skips(who)
        if most and skips >= most:
            self._warn("skips", who, skips)
            raise StudyError(
                f"you have skipped {skips} rows, which is the most in this study",
                "Label this row, or ask an owner of the study",
            )

    def is_too_fast(self, who: str) -> bool:
        """Whether this person gave as many answers in a minute as the study allows; warn the owners then."""
        with self.lock:
            state = self.state()
            most, minute, count = state.config.most_per_minute, now(-60.0), 0
            if most:
                for row in reversed(state.recent.get(who, {})):
                    if state.answers[row][who].at < minute or count == most:
                        break
                    count += 1
                known = state.known.answers.get(who, {}).values()
                count += sum(answer.use == GOLD and answer.at >= minute for answer in known)
        if not most or count < most:
            return False
        self._warn("pace", who, count)
        return True

    def check_gold(self, who: str) -> None:
        """Warn the owners if this person answers too few gold rows rightly."""
        with self.lock:
            found = gold_figures(self.state(), who)
        if found is not None and found["below"]:
            self._warn("gold", who, found["asked"] - found["right"])

    def _warn(self, what: str, who: str, count: int) -> None:
        def known(state: State) -> bool:
            last = now(-_SILENCE)
            return any(at > last and (past.what, past.name) == (what, who) for at, past in state.warned)

        with self.lock:
            if known(self.state()):
                return
        with self.turn() as (turn, state):
            if not known(state):
                turn.append("fairask", happened.LimitReached(what, who, count))

    # -- changing, fitting, auditing ------------------------------------------------------------

    def change(
        self,
        *,
        question: str | None = None,
        columns: dict[str, Document] | None = None,
        guidelines: str | None = None,
        skip_reasons: Sequence[str] | None = None,
        address: str | None = None,
        stop: str | None = None,
        most_skips: int | None = None,
        most_per_minute: int | None = None,
        gold_every: int | None = None,
        gold_least: int | None = None,
        budget: int | None = None,
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
        address : str, optional
            Where others reach the studio, for links that invite: ``https://label.example.org``; an empty one
            is the address at which an owner makes the link.
        stop : str, optional
            The rule that ends the study before its budget; an empty one is none.
        most_skips, most_per_minute : int, optional
            Limits on one person in the studio: rows skipped, answers in a minute; 0 is no limit.
        gold_every, gold_least : int, optional
            Of how many answers of a person one is to a gold row, and the per cent of them to be answered
            rightly without a warning to the owners; 0 is never.
        budget : int, optional
            Labels to spend, as many as before or more.
        who : str
            Who changes them.
        """
        limits = happened.LimitsChanged(most_skips, most_per_minute, gold_every, gold_least)
        reasons = None if skip_reasons is None else list(skip_reasons)
        reworded = happened.StudyReworded(question, columns, guidelines, reasons, address)
        changes: list[happened.Happening] = []  # all are checked before one is written
        if limits.to_data():
            self.config.limited(limits)
            changes.append(limits)
        if budget is not None and budget != self.config.budget:
            self.config.with_budget(budget)
            changes.append(happened.BudgetRaised(budget))
        if stop is not None:
            check_stop(stop)
            changes.append(happened.StopRuleChanged(stop))
        if reworded.to_data():
            self.config.reworded(reworded)
            changes.append(reworded)
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
        if asked_by is not None:
            with self.turn() as (turn, state):
                if state.kept is not None:
                    turn.append(check_person(asked_by), happened.FitAsked())
            force = True
        with self.lock:
            state = self.state()
            if state.kept is not None or not (force or state.fit_is_due()):
                return None
            if state.audit is not None:
                raise StudyError("an audit is under way and its labels must not train; end the audit first")
            learner, now_read = self.learner(), self._state  # with what others have written meanwhile
            seen = now_read.last
            if now_read.audit is not None or now_read.kept is not None:
                return None  # another process began to judge the model while the learner was made
        if not len(learner.labelled_indices_):
            return None
        entry = fit_entry(learner, self.encoder.feature_names_out) | {"seen": seen}
        with self.store.write() as turn:
            if any(event.kind in _JUDGED for event in turn.events(seen)):
                return None  # another process fitted first, or began to judge the last model
            turn.append("fairask", happened.ModelFitted(entry))
        return entry

    def start_audit(self, labels: int, who: str = "owner") -> None:
        """Begin to audit the last model with at most ``labels`` labels of rows that are not drawn yet.

        Until :meth:`end_audit` nothing is fitted. The labels do not count against the budget.
        """
        check_person(who)
        while True:
            with self.lock:
                state = self.state()
                if state.model is None:
                    raise StudyError("there is no model to audit yet; label a batch first")
                if state.audit is not None:
                    raise StudyError("an audit is under way already")
                last = state.last  # before the learner reads what others have written since
                errors = crew_label_errors(state, self.crew())
                begun = _begin_audit(state, self.learner(at=state.trained_to), labels, errors)
            with self.store.write() as turn:
                news = {event.kind for event in turn.events(last)}
                if not news & {*_JUDGED, happened.RowsDrawn.kind}:
                    turn.append(who, begun)
                    return

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
        check_person(who)
        with self.turn() as (turn, state):
            under_way = state.audit
            if under_way is None:
                raise StudyError("no audit is under way; start one first")
            if not under_way.done:
                told = f"{under_way.audit.n_labels} of at most {under_way.size} are there"
                raise StudyError(f"the audit waits for labels; {told}")
            entry = next(entry for entry in state.history if entry["seen"] == under_way.seen)
            certificate, count = under_way.audit.certificate(), state.audits[entry["digest"]]
            told = repeats_sentence({"of_model": count}, certificate.delta, "in this study")
            document = {
                **replace(certificate, assumptions=(*certificate.assumptions, told)).to_dict(),
                "audits_of_model": count,
                "model": {
                    **{name: entry[name] for name in ("round", "labels", "digest", "seen")},
                    "protected": state.config.protected,
                    "pool_sha256": state.config.pool_sha256,
                },
            }
            turn.append(who, happened.CertificateIssued(document), happened.AuditChanged(0))
        return document

    def watched(self, document: Document, before: Document | None, who: str = "owner") -> None:
        """Write the certified model's watch into the log, unless it is no longer what it was ``before``."""
        with self.turn() as (turn, state):
            if state.kept is None or state.watch != before:
                raise StudyError("the certificate or its watch has changed meanwhile", "Try again")
            turn.append(check_person(who), happened.ModelWatched(document))

    def crew(self) -> Crew | None:
        """Return what answers and gold rows say of people's errors; None before any answer."""
        with self.lock:
            return crew_of(self.state(), np.array(self.groups, dtype=object)[self.codes])

    def ask_again(self, n: int, who: str = "owner") -> list[int]:
        """Ask other people about ``n`` labelled rows (on average) once more; return the rows.

        Rows are drawn where their label is probably wrong, more in a small group: see
        :meth:`fairask.people.People.second_opinions`. The log keeps how likely each row was. Rows of an
        audit, rows that were decided, and rows that were asked again before are left out. Where the answers
        differ, the first one counts until a reviewer decides.
        """
        check_person(who)
        if n < 1:
            raise StudyError(f"n={n} must be 1 or more")
        crew = self.crew()
        with self.turn() as (turn, state):
            rows = [
                entry.index
                for entry in state.log.labelled()
                if entry.component != AUDIT
                and entry.index not in state.decided
                and entry.index not in state.again
                and len(state.answers.get(entry.index, {})) == state.config.overlap
            ]
            rows = [row for row in rows if crew is not None and row in crew]
            if crew is None or not rows:
                raise StudyError(
                    "no row can be asked again: each is decided, of an audit, or was asked again"
                )
            codes = self.codes[rows]
            chance = crew.second_opinions(rows, n, 1.0 / np.bincount(codes)[codes])
            seed = state.config.learner.random_state
            drawn = np.random.default_rng([seed if isinstance(seed, int) else 0, state.last]).random(
                len(rows)
            )
            asked = [row for row, picked in zip(rows, drawn < chance, strict=True) if picked]
            entries = [(state.log.position[row], state.log.entries[state.log.position[row]]) for row in asked]
            turn.add_slots([Slot(e.index, state.config.overlap, p, e.batch) for p, e in entries])
            turn.append(who, happened.OpinionsAsked(rows, chance.tolist(), asked))
        return asked

    # -- reporting ------------------------------------------------------------------------------

    def export(self, folder: str | Path, *, key: OwnerKey | None = None) -> list[Path]:
        """Write labels (CSV, Parquet, Label Studio's JSON), events, the report and, with labels, the model.

        Parameters
        ----------
        folder : path
            Made if it is not there.
        key : OwnerKey, optional
            Signs the certificate, and a list of the digests of all files and of the last event.

        Returns
        -------
        list of Path
            The files written. Same study, same files.
        """
        from fairask_studio.exports import contents, signed  # reports and models import much

        out = Path(folder)
        out.mkdir(parents=True, exist_ok=True)
        written = []
        for name, content in contents(self, key).items():
            write_whole(out / name, content())
            written.append(out / name)
        if key is not None:
            write_whole(out / SIGNED, signed(self, written, key))
            written.append(out / SIGNED)
        return written

    def status(self) -> Document:
        """Return where the study stands, in plain values."""
        # Events that were changed may lack what is said of them here.
        with reading(f"the study {self.target}", "Look with fairask verify, or restore a backup", StudyError):
            return self._status()

    def _status(self) -> Document:
        waiting = self.store.waiting()
        with self.lock:
            state = self.state()
            config = state.config
            unseen = unseen_columns(config, self.encoder)
            labelled = [entry for entry in state.log.entries if entry.state == LABELLED]
            got = Counter(int(self.codes[entry.index]) for entry in labelled)
            split = Counter((int(self.codes[entry.index]), entry.component) for entry in labelled)
            sizes = np.bincount(self.codes, minlength=len(self.groups)).tolist()
            return {
                "question": config.question,
                "classes": list(config.classes),
                "metric": config.learner.metric,
                "tolerance": config.learner.tolerance,
                "strategy": config.learner.strategy,
                "budget": state.budget,
                "stop_reason": state.stop_reason,
                "stop_rule": config.learner.stopping,
                "batch_size": config.learner.batch_size,
                "overlap": config.overlap,
                "rows": config.rows,
                "sampled_from": config.sampled_from,
                "labels": len(labelled),
                "without_audits": {
                    "labels": sum(entry.component != "audit" for entry in labelled),
                    "budget": config.budget,
                },
                "skipped": state.count("skipped"),
                "open": state.count("asked"),
                "free": waiting.free,
                "held": waiting.held,
                "people_now": waiting.people,
                "batches": state.batches,
                "complete": len(labelled) >= state.budget,
                "positives": sum(entry.label == 1 for entry in labelled),
                "groups": [
                    {
                        "group": str(name),
                        "pool": sizes[code],
                        "labels": got[code],
                        "components": {c: n for (g, c), n in sorted(split.items()) if g == code},
                    }
                    for code, name in enumerate(self.groups)
                ],
                "people": _people(state),
                "skip_reasons": _skip_reasons(state),
                "known": {use: len(state.known.of_use(use)) for use in USES},
                "agreement": _agreement(state.labels_of(row) for row in state.answers),
                "history": list(state.history),
                "story": story_of(state),
                "gap": known_gap(state),
                "advice": asdict(advice_of(state, len(labelled), self.encoder.columns if unseen else None)),
                "safety": _safety(state),
                "unseen": unseen and f"{unseen} {EMBED}",
                "model": model_name(state.model, certified=state.kept is not None),
                "audit": None if state.audit is None else state.audit.to_dict(),
                "certificate": state.certificates[-1] if state.certificates else None,
                "watch": None if state.watch is None else state.watch["standing"],
                "warnings": [{"at": at, **limit.to_data()} for at, limit in state.warned],
                "created": state.created,
                "last_event": state.last,
            }


def _config(
    table: pa.Table,
    protected: Sequence[str],
    hide: Sequence[str],
    keep: Sequence[str],
    words: Mapping[str, Document],
    text: TextColumns | None,
    random_state: int,
    settings: Document,
) -> Config:
    """Return the settings of a study of ``table``; raise StudyError or ValueError if they make no sense."""
    chosen = {"budget": min(BUDGET, table.num_rows), **settings}
    Config.make(protected="", rows=table.num_rows, **chosen)  # before the encoder, which takes long
    grouped = protected_columns(protected, table.column_names)
    for name in [*hide, *words]:
        if name not in table.column_names:
            raise StudyError(f"no column {name!r}; {suggest(name, table.column_names)}")
    with_groups = bool(chosen.get("use_protected", False))
    group_names(table, protected)  # refuses what cannot be groups
    encoder, columns = fit_columns(table, grouped, hide, words, keep=keep, text=text, with_groups=with_groups)
    config = Config.make(
        protected=protected[0] if len(protected) == 1 else tuple(protected),
        columns=columns,
        encoder=encoder.to_dict(),
        rows=table.num_rows,
        random_state=random_state,
        **chosen,
    )
    # Only a learner with the rows knows whether they have groups that its strategy can work with.
    bare = replace(config.learner, budget=None, stopping=None)
    FairActiveLearner(encoder.transform(table), group_names(table, protected), **vars(bare))
    return config


def fit_columns(
    table: pa.Table,
    grouped: Sequence[str],
    hide: Sequence[str],
    words: Mapping[str, Document],
    *,
    keep: Sequence[str] = (),
    text: TextColumns | None = None,
    with_groups: bool = False,
) -> tuple[Encoder, tuple[ColumnInfo, ...]]:
    """Return what turns columns into features, and what each column is for; refuse where none is left.

    ``grouped`` are the protected columns, ``hide`` those left out, ``words`` as in :meth:`Study.create`.
    """
    learned = [n for n in table.column_names if n not in hide and (with_groups or n not in grouped)]
    displays = guess_displays(table)
    displays |= {name: said["display"] for name, said in words.items() if said.get("display")}
    # The name of a file says nothing of what it holds.
    unseen = {name: displays[name] for name in learned if displays[name] in MEDIA}
    try:
        encoder = fit_encoder(table, [name for name in learned if name not in unseen], text, keep=keep)
    except TableError as error:
        if unseen and error.what.startswith("no column is left"):
            raise StudyError(unseen_sentence(unseen, []).rstrip("."), EMBED) from error
        raise
    idle = {*encoder.left_out, *unseen}
    infos = column_infos(table.schema, grouped, hide=hide, words=words, idle=idle, displays=displays)
    return encoder, infos


def unseen_columns(config: Config, encoder: Encoder) -> str | None:
    """Say that the model sees no images or hears no audio of a study; None if there is nothing to say."""
    some = [column for column in config.columns if column.role in ("feature", "shown")]
    unseen = {column.name: column.display for column in some if column.display in MEDIA}
    embedded = any(isinstance(part, Vector) for part in encoder.parts)
    return unseen_sentence(unseen, encoder.columns) if unseen and not embedded else None


def _propose(learner: FairActiveLearner, n: int) -> happened.RowsDrawn:
    """Draw ``n`` rows by the learner's strategy."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", FairaskWarning)
        query = learner.ask(n)
    return happened.RowsDrawn(
        batch=query.batch_id,
        rows=query.indices.tolist(),
        propensities=[None if np.isnan(q) else float(q) for q in query.propensities],
        components=list(query.components),
        pool_sizes=[entry.pool_size for entry in learner.state.log.entries[-len(query) :]],
        warnings=[str(warning.message) for warning in caught],
    )


def propose_uniform(state: State, n: int) -> happened.RowsDrawn:
    """Draw ``n`` rows, each equally likely among those that are left: without a model, and in no time."""
    seed = state.config.learner.random_state
    rng = np.random.default_rng([seed if isinstance(seed, int) else 0, state.batches])
    left = state.config.rows - len(state.log.entries)
    chosen: dict[int, None] = {}
    if 2 * left < state.config.rows:  # guesses would mostly be rows that are drawn
        free = [row for row in range(state.config.rows) if row not in state.log.position]
        chosen = dict.fromkeys(int(row) for row in rng.permutation(free)[:n])
    while len(chosen) < n:
        row = int(rng.integers(state.config.rows))
        if row not in state.log.position:
            chosen[row] = None
    sizes = [left - i for i in range(n)]
    return happened.RowsDrawn(
        batch=state.batches,
        rows=list(chosen),
        propensities=[1.0 / size for size in sizes],
        components=["uniform"] * n,
        pool_sizes=sizes,
        warnings=[],
    )


def _begin_audit(
    state: State, trained: FairActiveLearner, labels: int, errors: Noise | None
) -> happened.AuditChanged:
    """Describe the beginning of an audit of the model ``trained``, or raise StudyError.

    ``errors`` is how often labels are wrong, where gold rows say it.
    """
    left = state.config.rows - len(state.log.entries)
    if not 1 <= labels <= left:
        raise StudyError(f"labels={labels} must be from 1 to the {left} rows that are left in the pool")
    config = state.config.learner
    # Another seed for each audit of a study. It does not depend on what people do besides labelling: nobody
    # steers which rows are audited, and the same labels are audited with the same rows wherever they were
    # given.
    seed = np.random.SeedSequence([trained.random_state, len(state.history), state.audits.total()])
    plan = AuditPlan(
        metric=config.metric,
        tolerance=config.tolerance,
        budget=labels,
        looks=min(_LOOKS, max(1, labels // _LABELS_PER_LOOK)),
        random_state=int(seed.generate_state(1)[0]),
    )
    # Rows that trained the model count whole; those without a label, at their worst.
    known = {entry.index: entry.label for entry in state.log.entries}
    audit = Audit.of_pool(trained.pool, trained.current_model(), plan, known=known, noise=errors or 0.0)
    return happened.AuditChanged(labels, dict(audit.to_dict()))


def _propose_audit(state: State) -> happened.RowsDrawn | None:
    """Draw the rows that the audit under way asks for now; None if it waits for labels or is over."""
    if state.audit is None or not state.audit.audit.ready:
        return None
    asked = copy.deepcopy(state.audit.audit).ask()  # the state changes by events only
    new = np.array([row not in state.log.position for row in asked.indices.tolist()], dtype=bool)
    left, drawn = state.config.rows - len(state.log.entries), asked.indices[new].tolist()
    return happened.RowsDrawn(
        batch=state.batches,
        rows=drawn,
        propensities=asked.propensities[new].tolist(),
        components=[AUDIT] * len(drawn),
        pool_sizes=[left - i for i in range(len(drawn))],
        warnings=[],
        look=asked.look,
    )


def fit_entry(learner: FairActiveLearner, features: Sequence[str]) -> Document:
    """Fit on all labels of ``learner`` and describe the model in plain values.

    ``features`` are the names of the columns of its rows: those that give the label away are in the entry.
    """
    entry = learner.record_round()
    rates = learner.current_model().rates_
    return {name: _plain(value) for name, value in entry.items()} | {
        "answered": sum(drawn.state != ASKED for drawn in learner.state.log.entries),
        "digest": model_digest(learner),
        "rates": [
            {"condition": condition, "group": str(group), "rate": _plain(rate)}
            for (condition, group), rate in rates.items()
        ],
        "estimate": estimate(learner),
        "telling": _telling(learner, features),
    }


def _telling(learner: FairActiveLearner, features: Sequence[str]) -> dict[str, float]:
    rows = learner.labelled()
    if issparse(rows.X):
        return {}
    return columns_that_tell(np.asarray(rows.X, np.float64), rows.y.astype(np.int64), features)


def _plain(value: object) -> object:
    value = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(value, float) and not np.isfinite(value) else value


def _check_not_audited(state: State, rows: list[int]) -> None:
    """Raise if an audit under way counts on the labels of these rows."""
    if state.audit is None:
        return
    entries = [state.log.entries[state.log.position[row]] for row in rows]
    known = [e.index for e in entries if e.component != AUDIT or e.batch < state.audit.batch]
    if known:
        raise StudyError(
            f"the audit under way counts on {len(known)} of these labels, row {known[0]} for example",
            "End the audit first",
        )


def _safety(state: State) -> str | None:
    """Say what the owner of the model must know; of an audited one's gap the audit knows better."""
    if not state.history:
        return None
    if certificate_of_model(state) is not None:
        return decides_sentence(state.history[-1])
    tolerance, rows = state.config.learner.tolerance, state.config.rows
    return safety_sentence(state.history[-1], tolerance, rows, in_points=True)


def model_name(entry: Document | None, *, certified: bool) -> Document | None:
    """Return what names a model: round, labels, digest, the event up to which it was trained."""
    if entry is None:
        return None
    return {**{name: entry[name] for name in ("round", "labels", "digest", "seen")}, "certified": certified}


def _told_otherwise(config: Config, row: int, before: int, code: int) -> StudyError:
    return StudyError(
        f"row {row} was told as {config.class_name(before)!r} before and is {config.class_name(code)!r} now; "
        "if that is meant, tell it with --correct (correct=True)"
    )


def _skip_reasons(state: State) -> list[Document]:
    """Count skips by their reason, most frequent first; an empty one is none."""
    counts = Counter(a.reason for given in state.answers.values() for a in given.values() if a.code == SKIP)
    return [{"reason": reason, "skips": skips} for reason, skips in counts.most_common()]


def _people(state: State) -> list[Document]:
    """Count answers and skips, and the median seconds between answers of each person."""
    times: dict[str, list[float]] = {}
    counts: Counter[tuple[str, bool]] = Counter()
    for row in state.answers.values():
        for who, answer in row.items():
            counts[who, answer.code == SKIP] += 1
            times.setdefault(who, []).append(datetime.fromisoformat(answer.at).timestamp())
    return [
        {
            "who": who,
            "labels": counts[who, False],
            "skips": counts[who, True],
            "seconds": pace_of(times[who])[0],
        }
        for who in sorted(times)
    ]


def _agreement(answers: Iterable[Sequence[int]]) -> dict[str, float | int | None]:
    """Return the share of pairs of answers that agree, and Krippendorff's alpha, which corrects for chance.

    Parameters
    ----------
    answers : iterable of sequences
        The labels each row was given, one sequence per row.

    Examples
    --------
    >>> _agreement([[1, 1], [0, 0], [1, 0], [1]])
    {'rows': 3, 'share': 0.6666666666666666, 'alpha': 0.4444444444444444}
    """
    rows = [list(row) for row in answers if len(row) > 1]
    if not rows:
        return {"rows": 0, "share": None, "alpha": None}
    pairs = [(a, b) for row in rows for a, b in combinations(row, 2)]
    values = [value for row in rows for value in row]
    # Observed disagreement weighs each row by its pairs over (answers - 1); expected pairs all values.
    observed = (
        sum(sum(a != b for a, b in combinations(row, 2)) / (len(row) - 1) for row in rows) * 2 / len(values)
    )
    ones = sum(values)
    expected = 2 * ones * (len(values) - ones) / (len(values) * (len(values) - 1))
    return {
        "rows": len(rows),
        "share": sum(a == b for a, b in pairs) / len(pairs),
        "alpha": 1 - observed / expected if expected else None,
    }
