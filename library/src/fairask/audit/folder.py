"""An audit of a table on disk: what ``fairask audit`` writes and reads between its steps.

``audit.json`` is the state: the table's name, digest and groups, the columns, and the whole audit, so that
the table is read through once. It is written first. Sheets of rows (``rows-1.csv``, ...) and the certificate
(``certificate.html``, ``.txt`` and ``.json``) follow from it, and are made again if they are missing.
"""

from __future__ import annotations

import dataclasses
import json
import math
import shlex
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Self

import numpy as np

from fairask.audit.audit import SKIPPED, Audit, AuditQuery
from fairask.audit.certificate import (
    CERTIFICATE,
    STATE,
    Certificate,
    digest_of_settings,
    is_sealed,
    issue,
    joint_verdict,
    pages_of,
    seal,
    written,
)
from fairask.audit.plan import QUESTIONS, TARGETS, AuditPlan
from fairask.audit.predictions import AuditTable, Classes, key, open_audit_table
from fairask.audit.signature import OwnerKey, fingerprint
from fairask.audit.tally import Tally
from fairask.documents import read_json, reading
from fairask.errors import TableError, UserError
from fairask.metrics import Int
from fairask.pools.engine import Engine
from fairask.pools.files import Files, local_path, name_of
from fairask.pools.source import open_table, table_digest
from fairask.report.words import one_line, repeats_sentence
from fairask.tables import TableFormat, read_table
from fairask.tables.arrow import Arrow
from fairask.tables.cells import texts
from fairask.tables.formats import file_digest
from fairask.tables.groups import as_specs, protected_columns
from fairask.tables.labels import check_columns, refuse_labels
from fairask.tables.sheets import (
    CHECK,
    ReturnedRow,
    check_code,
    check_returned,
    csv_text,
    read_sheet,
    write_next,
    write_whole,
)

_FORMAT = 3
_PARTS = ("pool", "columns", "audit", "shown", "corrections", "register")
_ROW, _LABEL = "row", "label"
_LIMITS = ("value", "low", "high")
_OWN = (_ROW, _LABEL, CHECK)
_RESTORE = "Restore it from a copy, or begin another audit with --out"
#: The label of a row that nobody can label.
_SKIP = "skip"
#: Rows of each decision that a column must separate before it counts as the model's score.
_FEWEST = 8


class AuditError(UserError):
    """An audit cannot be begun or continued as asked."""


@dataclass(frozen=True)
class RowsAwaited:
    """Rows that are to be labelled next."""

    sheet: Path
    rows: int
    look: int
    looks: int
    labels: int
    certificate: Certificate | None
    answers: str  #: what to write into the column of labels
    command: str  #: tells the labels

    def headline(self) -> str:
        """Return what to do now, in one sentence."""
        batch = f"(batch {self.look} of at most {self.looks})"
        return f"Label {self.rows:,} rows of {self.sheet} {batch}: in the column label, {self.answers}."

    def details(self) -> str:
        """Return what is known so far, and the next command."""
        known = [] if self.certificate is None else [self.certificate.headline()]
        return "\n".join([*known, f"Then: {self.command}"])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "status": "labels awaited",
            "labels": self.labels,
            "awaited": self.rows,
            "look": self.look,
            "looks": self.looks,
            "rows_file": str(self.sheet),
            "certificate": self.certificate.to_dict() if self.certificate else None,
        }


@dataclass(frozen=True)
class Decided:
    """The certificates of an audit that is over, the one that decided first, and how they were made."""

    labels: int
    certificates: dict[str, Certificate]
    facts: dict[str, str]
    folder: Path
    digests: dict[str, str]  #: of the table, the decisions, the labels and, if it asked, the audit's log
    tally: Tally
    accuracy: tuple[float, float, float] | None = None  #: on the table, with limits of 95 % confidence
    register: dict[str, Any] | None = None  #: what the register of the owner's key said when it was begun
    key: OwnerKey | None = None

    @property
    def first(self) -> Certificate:
        """The certificate about the target of the audit."""
        return next(iter(self.certificates.values()))

    @property
    def verdict(self) -> str:
        """The verdict on all claims about the target: refuted if any is, certified if all are."""
        verdicts = {name: certificate.verdict for name, certificate in self.certificates.items()}
        return joint_verdict(verdicts, next(iter(self.certificates)))

    def headline(self) -> str:
        """Return the verdict in one sentence."""
        return self.first.headline()

    def details(self) -> str:
        """Return the rest of the certificates, and where they were written."""
        first, *others = map(str, self.certificates.values())
        page = self.folder / "certificate.html"
        return "\n\n".join([first.partition("\n")[2], *others, f"certificate: {page} (and .txt, .json)"])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {"status": "done", "labels": self.labels, **self.result()}

    def result(self) -> dict[str, Any]:
        """Return the content of the file CERTIFICATE, signed if there is a key."""
        said = {
            "schema": "fairask-audit",
            "version": 1,
            "verdict": self.verdict,
            "target": next(iter(self.certificates)),
            "certificates": {t: issue(c) for t, c in self.certificates.items()},
            "made_from": self.facts,
            "digests": self.digests,
            "register": self.register,
            "decisions": self.tally.to_dict(),
            "accuracy": None if self.accuracy is None else dict(zip(_LIMITS, self.accuracy, strict=True)),
        }
        said["made_from"] = {**self.facts, "issued": self._issued(said)}
        sealed = seal(said)
        return sealed if self.key is None else self.key.sign(sealed)

    def _issued(self, said: dict[str, Any]) -> str:
        """When this was issued: of a file that says the same, the moment that it has."""
        try:
            before = json.loads((self.folder / CERTIFICATE).read_text("utf-8"))
            moment: str = before["made_from"].pop("issued")
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            moment, before = "", {}
        same = {name: value for name, value in before.items() if name not in ("sealed", "signature")}
        plain = json.loads(json.dumps(said, allow_nan=False))
        return moment if same == plain else datetime.now(UTC).isoformat(timespec="seconds")

    def write(self) -> None:
        """Write the certificates as text, JSON and a page."""
        document = self.result()
        for name, content in ({CERTIFICATE: written(document)} | pages_of(document)).items():
            write_whole(self.folder / name, content)


@dataclass
class AuditFolder:
    """An audit of a table, kept in a folder.

    Attributes
    ----------
    place : str
        Path or URL of the table.
    folder : Path
    state : dict
        What ``audit.json`` holds.
    source : Files or Engine
        The table, of which rows are taken.
    audit : Audit
    hints : list of str
        What was recognised in the table when the audit began.
    encoding : str or None
        Of sheets that come back; recognised if None.
    shown : set of str
        Columns that are in sheets although they could sway whoever labels.
    key : OwnerKey or None
        Signs the certificate.
    before : bytes or None
        ``audit.json`` as it was last read or written.
    """

    place: str
    folder: Path
    state: dict[str, Any]
    source: Files | Engine
    audit: Audit
    encoding: str | None = None
    shown: set[str] = field(default_factory=set)
    hints: list[str] = field(default_factory=list)
    key: OwnerKey | None = None
    before: bytes | None = None

    @classmethod
    def open(
        cls,
        place: str,
        columns: Mapping[str, Any],
        settings: Mapping[str, Any],
        *,
        folder: Path | None = None,
        form: TableFormat | None = None,
        show: Collection[str] = (),
        begin: bool = True,
        key: OwnerKey | None = None,
    ) -> Self:
        """Go on with the audit in the folder or, if there is none and ``begin``, begin one.

        Parameters
        ----------
        place : str
            Path or URL of the table.
        columns : mapping
            ``predictions``, ``protected`` and more, as :func:`open_audit_table` takes them; None where not
            given.
        settings : mapping
            Fields of :class:`AuditPlan` that were given.
        folder : Path, optional
            Default ``NAME.audit`` beside the table.
        form : TableFormat, optional
            How the file is written; what is not said is recognised.
        show : collection of str
            Columns that are in sheets although they could sway whoever labels.
        begin : bool
        key : OwnerKey, optional
            Signs the certificate, and its register counts the audit when it begins.
        """
        home = folder or default_folder(place)
        form = form or TableFormat()
        before = (home / STATE).read_bytes() if (home / STATE).is_file() else None
        state, hints = read_state(home), []
        if state is not None:
            source, audit = _resume(place, columns, settings, form, state, home)
            _check_signer(state["register"], key, home)
        elif not begin:
            raise AuditError(
                f"there is no audit in {home}", "Begin it without --tell, or name its folder with --out"
            )
        else:
            _check_place(columns, home)
            plan = AuditPlan(**settings)
            given, table = _read_table(place, columns, form, plan)
            audit, source, hints = table.audit(plan), table.source, table.hints
            pool = _pool_state(place, table, form)
            state = {"format": _FORMAT, "pool": pool, "columns": given, "shown": [*show], "corrections": []}
            state["register"] = _register(key, pool, "", given, plan)
        check_columns(source.schema.names, [("show", name) for name in show])
        shown = {*state["shown"], *show}
        opened = cls(place, home, state, source, audit, form.encoding, shown, hints, key, before)
        if "audit" not in state:
            home.mkdir(exist_ok=True)
            opened._write()
        return opened

    @property
    def classes(self) -> Classes:
        """Names of the classes."""
        return Classes(**{name: tuple(found) for name, found in self.state["pool"]["classes"].items()})

    @property
    def notes(self) -> list[str]:
        """What the table's owner should know."""
        found: list[str] = self.state["pool"]["notes"]
        return found

    def _write(self) -> None:
        self.state["audit"] = self.audit.to_dict()
        # Sealed as it will be read: JSON makes lists of tuples, and texts of numbers that are keys.
        sealed = seal(json.loads(json.dumps(self.state)))
        text = json.dumps(sealed, indent=1) + "\n"
        self.before = write_next(self.folder / STATE, text.encode(), self.before)

    def tell(self, file: Path, *, unchecked: bool = False, correct: bool = False) -> tuple[int, int]:
        """Tell what is new in a file of labels, all of it or none; return how many are new and changed.

        Rows are compared with the table by their check codes and cells, unless ``unchecked``. With
        ``correct``, labels that differ from those told before replace them, and the state keeps a record.
        """
        sheet = read_labels(file, self.classes, self.encoding)
        told = sheet.labels
        before = dict(zip(self.state["audit"]["rows"], self.state["audit"]["labels"], strict=True))
        before |= dict.fromkeys(self.state["audit"]["skipped"], SKIPPED)
        awaited = set() if self.audit.done else set(self.audit.ask().indices.tolist())
        new: dict[int, int] = {}
        changed: dict[int, int] = {}
        for number, value in told.items():
            if number in before:
                if before[number] != value and not correct:
                    raise AuditError(
                        f"{file.name}: row {number} has another label than the one it was told with before",
                        "If that one was wrong, give --correct: the change is recorded and named in the "
                        "certificate",
                    )
                if before[number] != value:
                    changed[number] = value
            elif number in awaited:
                new[number] = value
            else:
                raise AuditError(
                    f"{file.name}: row {number} was never asked for",
                    "Label only the rows that were written: an audit of other rows would prove nothing",
                )
        if not told:
            raise AuditError(f"{file.name} has no labels yet", "Fill in its column 'label'")
        if not unchecked:
            rows = np.array(sorted(told), dtype=np.int64)
            cells = dict(zip(rows.tolist(), self.source.take(rows).to_pylist(), strict=True))
            check_returned(file.name, sheet.rows, cells)
        for row, value in changed.items():
            self.state["corrections"].append({
                "row": row, "from": before[row], "to": value,
                "after_labels": self.audit.n_labels, "at": datetime.now(UTC).isoformat(timespec="seconds"),
            })  # fmt: skip
            self.audit.revise(row, None if value == SKIPPED else value)
            if value == SKIPPED:
                self.audit.skip(row)
        self.audit.skip([row for row, value in new.items() if value == SKIPPED])
        if labelled := {row: value for row, value in new.items() if value != SKIPPED}:
            self.audit.tell(list(labelled), list(labelled.values()))
        if new or changed:
            self._write()
        return len(new), len(changed)

    def advance(self) -> RowsAwaited | Decided:
        """Write the next rows to label, or the certificate if the audit is over."""
        return self._finish() if self.audit.done else self._ask()

    def _ask(self) -> RowsAwaited:
        query = self.audit.ask()
        sheet = self._sheet(query)
        found, names = self.audit.certificate(), self.classes.names
        words = " or ".join(reversed(names)) if len(names) <= 5 else "its class"
        named = [] if self.folder == default_folder(self.place) else ["--out", str(self.folder)]
        named += [] if self.key is None else ["--sign", str(self.key.file)]
        then = ["fairask", "audit", self.place, "--tell", str(sheet)]
        return RowsAwaited(
            sheet=sheet,
            rows=len(query.indices),
            look=query.look,
            looks=len(self.audit.schedule.totals),
            labels=self.audit.n_labels,
            certificate=found if found.n_labels else None,
            answers=words,
            command=shlex.join(then + named),
        )

    def _sheet(self, query: AuditQuery) -> Path:
        """Return the first sheet with rows that wait for a label; write one for rows that are in none."""
        awaited = query.indices
        first, part = None, 1
        while (sheet := self.folder / sheet_name(query.look, part)).exists():
            # An existing sheet is never overwritten: somebody may be filling it in.
            named = np.isin(awaited, list(_rows_in(sheet)))
            first = first or (sheet if named.any() else None)
            awaited, part = awaited[~named], part + 1
        if len(awaited):
            write_sheet(sheet, self.source, awaited, self._hidden(awaited))
        return first or sheet

    def _hidden(self, rows: Int) -> set[str]:
        """Return the columns that could sway whoever labels: prediction, score, protected attribute."""
        columns = self.state["columns"]
        telling = telling_columns(self.source.take(rows), columns["predictions"])
        groups = protected_columns(columns["protected"], self.source.schema.names)
        judged = [
            name for spec in as_specs(columns.get("judge") or ()) for name in (spec, *spec.rsplit(",", 1))
        ]
        return {columns["predictions"], *groups, *telling, *judged} - self.shown

    def _finish(self) -> Decided:
        made = {target: self.audit.certificates(target) for target in TARGETS}
        pool, register = self.state["pool"], self.state["register"]
        told = sorted(zip(self.state["audit"]["rows"], self.state["audit"]["labels"], strict=True))
        told += [(row, SKIPPED) for row in sorted(self.state["audit"]["skipped"])]
        digests = {
            "table": pool["sha256"],
            "model": pool["decisions"],
            "labels": digest_of_settings({"known": pool["labels"], "told": told}),
            "log": file_digest(self.folder / STATE, hidden=False),
        }
        decided = Decided(
            self.audit.n_labels,
            _by_target(made, self.audit.plan, pool, register),
            self._facts(),
            self.folder,
            digests,
            Tally.from_dict(pool["tally"]),
            self._accuracy(),
            register,
            self.key,
        )
        decided.write()
        return decided

    def _accuracy(self) -> tuple[float, float, float] | None:
        """The accuracy, where labels were asked for, are right and reach all strata."""
        columns = self.state["columns"]
        if not self.audit.schedule.claims or columns.keys() & {"noise", "answers", "observed"}:
            return None
        found = self.audit.accuracy()
        return None if math.isnan(found[0]) else found

    def about(self) -> str:
        """Return the table in one line: rows, columns, sizes of the groups."""
        return _about(self.place, self.state["pool"], self.state["columns"])

    def _facts(self) -> dict[str, str]:
        """How the certificates were made, for a table at their end."""
        plan = self.audit.plan
        facts = _facts_of(self.place, self.source, self.state["pool"], self.state["columns"])
        if self.audit.schedule.claims:  # selection rates need no labels
            facts["budget"] = f"{plan.budget:,} labels in at most {plan.looks} batches"
        facts["seed"] = str(plan.random_state)
        if n := len(self.state["corrections"]):
            facts["corrections"] = f"{n:,}, listed in {STATE}"
        if self.audit.schedule.claims:
            worst = self.audit.calibration(random_state=plan.random_state)
            facts["error replayed"] = (
                f"{worst:.1%} of 1,000 such audits certify at the worst pools with a gap of exactly "
                f"{plan.tolerance:g} that these labels do not rule out"
            )
        return facts | _signer_fact(self.key)


@dataclass(frozen=True)
class KnownLabels:
    """A table whose labels exist already, all of them or a random part: it is decided at once."""

    place: str
    folder: Path
    table: AuditTable
    columns: dict[str, Any]
    pool: dict[str, Any]  #: as in the state of an audit that asks
    plan: AuditPlan
    key: OwnerKey | None = None

    @classmethod
    def open(
        cls,
        place: str,
        columns: Mapping[str, Any],
        settings: Mapping[str, Any],
        *,
        folder: Path | None = None,
        form: TableFormat | None = None,
        key: OwnerKey | None = None,
    ) -> Self:
        """Read a table; arguments as of :meth:`AuditFolder.open`. Its target is the population by default."""
        home, form = folder or default_folder(place), form or TableFormat()
        if (home / STATE).exists():
            raise AuditError(
                f"there is an audit in {home} that asks for labels",
                "Name another folder with --out, or go on with it: leave out --known",
            )
        _check_place(columns, home)
        plan = AuditPlan(**{"target": "population", **settings})
        given, table = _read_table(place, columns, form, plan)
        table.source.close()
        return cls(place, home, table, given, _pool_state(place, table, form), plan, key)

    def about(self) -> str:
        """Return the table in one line."""
        return _about(self.place, self.pool, self.columns)

    def decide(self) -> Decided:
        """Write the certificates."""
        made = {target: self.table.certify(self.plan, target) for target in TARGETS}
        register = _register(self.key, self.pool, self.pool["labels"], self.columns, self.plan)
        self.folder.mkdir(exist_ok=True)
        digests = {
            "table": self.pool["sha256"], "model": self.pool["decisions"], "labels": self.pool["labels"],
        }  # fmt: skip
        facts = _facts_of(self.place, self.table.source, self.pool, self.columns)
        labels = int(self.table.pool.counts[self.table.pool.label >= 0].sum())
        decided = Decided(
            labels,
            _by_target(made, self.plan, self.pool, register),
            facts | _signer_fact(self.key),
            self.folder,
            digests,
            self.table.tally,
            self.table.accuracy(),
            register,
            self.key,
        )
        decided.write()
        return decided


def _read_table(
    place: str, columns: Mapping[str, Any], form: TableFormat, plan: AuditPlan
) -> tuple[dict[str, Any], AuditTable]:
    """Read the table of an audit that begins; return the columns that were given, and what it says."""
    given = {name: value for name, value in columns.items() if value is not None}
    # Where no label is asked for, a small group costs nothing and is counted like the others.
    free = not any(claim.question.labels for claim in plan.claims())
    table = open_audit_table(place, form=form, seed=plan.random_state, any_size=free, **given)
    # A class that was recognised is kept like one that was named: the certificate says which it is.
    given.setdefault("positive", (table.classes.positive or (None,))[0])
    return given, table


def _pool_state(place: str, table: AuditTable, form: TableFormat) -> dict[str, Any]:
    """What an audit keeps of its table."""
    said = {name: value for name, value in vars(form).items() if value is not None}
    digests = table.digests()
    return {
        "name": name_at(place), "rows": table.rows, "sha256": table_digest(place, table.source),
        "encoding": said.pop("encoding", "utf-8"), "form": said, "groups": table.group_rows,
        "classes": dataclasses.asdict(table.classes), "notes": table.notes,
        "decisions": digests["model"], "labels": digests["labels"], "tally": table.tally.to_dict(),
    }  # fmt: skip


def _register(
    key: OwnerKey | None, pool: Mapping[str, Any], labels: str, columns: Mapping[str, Any], plan: AuditPlan
) -> dict[str, Any] | None:
    """Count an audit that begins in the register of its owner's key."""
    if key is None:
        return None
    asked = digest_of_settings({"columns": columns, "plan": plan.to_dict()})
    found = key.register.begin(table=pool["sha256"], model=pool["decisions"], labels=labels, asked=asked)
    return {"key": key.public, **found}


def _check_signer(register: Mapping[str, Any] | None, key: OwnerKey | None, folder: Path) -> None:
    """Raise AuditError where an audit is to be signed by a key that did not count it when it began."""
    if key is not None and (register is None or register["key"] != key.public):
        begun = "without --sign" if register is None else "with another key"
        raise AuditError(
            f"the audit in {folder} was begun {begun}, so that the register of {key.file} did not count it",
            "Leave out --sign, or begin another audit with --sign and --out",
        )


def _signer_fact(key: OwnerKey | None) -> dict[str, str]:
    return {} if key is None else {"signed by": fingerprint(key.public)}


def _by_target(
    made: Mapping[str, list[Certificate]],
    plan: AuditPlan,
    pool: Mapping[str, Any],
    register: Mapping[str, Any] | None,
) -> dict[str, Certificate]:
    """Name the certificates by target and metric, the plan's target first; add what they rest on."""
    found, notes = {}, [f"Of the table, {note}." for note in pool["notes"]]
    repeats = repeats_sentence(register, plan.delta)
    for target in sorted(made, key=lambda t: t != plan.target):
        for number, one in enumerate(made[target]):
            needs = QUESTIONS[one.metric].labels and one.valid != "known"
            found[target if not number else f"{target}: {one.metric}"] = dataclasses.replace(
                one,
                # What is computed finds the same whenever it is repeated.
                assumptions=(*one.assumptions, *notes, *([repeats] if needs else [])),
                groups=tuple(str(group) for group in one.groups),
                digests={**one.digests, "pool": pool["sha256"]},
            )
    return found


def _about(place: str, pool: Mapping[str, Any], columns: Mapping[str, Any]) -> str:
    sizes = ", ".join(f"{g} {n:,}" for g, n in sorted(pool["groups"].items()))
    return one_line(
        f"{name_at(place)}: {pool['rows']:,} rows, predictions "
        f"{columns['predictions']}, groups by {', '.join(as_specs(columns['protected']))} ({sizes})"
    )


def _facts_of(
    place: str, source: Files | Engine, pool: Mapping[str, Any], columns: Mapping[str, Any]
) -> dict[str, str]:
    """What a certificate says of its table."""
    what = "table"
    if isinstance(source, Engine):
        what = "columns, number of rows and keys"
    elif local_path(place) is None:
        what = "files' names, sizes and footers"
    several = json.dumps(columns["positive"], ensure_ascii=False)[1:-1]
    named = columns["positive"] if isinstance(columns["positive"], str) else several
    positive = f" (positive: {named})" if columns["positive"] else ""
    facts = {
        "table": f"{pool['name']}, {pool['rows']:,} rows",
        f"sha256 of the {what}": pool["sha256"],
        "predictions": f"{columns['predictions']}{positive}",
        "groups": ", ".join(as_specs(columns["protected"])),
        "version": f"fairask {version('fairask')}",
    }
    names = ("score", "cost", "known", "observed", "missing", "noise", "answers")
    facts |= {name: str(columns[name]) for name in names if columns.get(name)}
    return facts | ({"judge": "; ".join(as_specs(columns["judge"]))} if columns.get("judge") else {})


def default_folder(place: str) -> Path:
    """Return the folder of an audit: beside a local table, here for one elsewhere."""
    local = local_path(place)
    if local is None:
        return Path(f"{name_of(place)}.audit")
    # "." and ".." have no name of their own.
    named = local.resolve() if local.name in ("", "..") else local
    return named.with_name(f"{named.stem if named.is_file() else named.name}.audit")


def name_at(place: str) -> str:
    """The last part of a path or URL, or the name of a table.

    Examples
    --------
    >>> name_at("s3://bucket/people.parquet"), name_at("data/people/"), name_at("duckdb:///a.db#people")
    ('people.parquet', 'people', 'people')
    """
    if "://" in place and "#" in place:
        return name_of(place)
    return place.rstrip("/").rpartition("/")[2] or place


def _check_place(columns: Mapping[str, Any], folder: Path) -> None:
    """Raise AuditError where an audit cannot begin."""
    if columns["predictions"] is None or columns["protected"] is None:
        raise AuditError(
            "--predictions and --protected are needed to begin an audit",
            f"Name the two columns (there is no audit in {folder} to go on with)",
        )
    if folder.exists() and not folder.is_dir():
        raise AuditError(f"{folder} is a file", "Name a folder with --out")
    if not folder.parent.is_dir():
        raise AuditError(f"there is no folder {folder.parent}", f"Make it first: mkdir -p {folder.parent}")
    if folder.is_dir() and (old := sorted(folder.glob(sheet_name(0).replace("0", "*")))):
        raise AuditError(
            f"{folder} has {old[0].name} of an audit, but no {STATE}",
            "Restore that file, or name another folder with --out",
        )


def read_state(folder: Path) -> dict[str, Any] | None:
    """Read the state of the audit in a folder; None if there is none."""
    file = folder / STATE
    if not file.exists():
        return None
    try:
        state: dict[str, Any] = read_json(file, remedy=_RESTORE, kind=AuditError)
        found = state["format"]
        if found == _FORMAT and all(isinstance(state[part], dict) for part in _PARTS[:3]):
            if not is_sealed(state):
                raise AuditError(f"{file} was changed after it was written", _RESTORE)
            return {part: state[part] for part in ("format", *_PARTS)}
    except (KeyError, TypeError):
        found = _FORMAT
    if found != _FORMAT:
        raise AuditError(
            f"{file} has format {found!r}, and this version reads format {_FORMAT}",
            "Use the version of fairask that began the audit, or begin another with --out",
        )
    raise AuditError(f"{file} is damaged", _RESTORE)


def _resume(
    place: str,
    columns: Mapping[str, Any],
    settings: Mapping[str, Any],
    form: TableFormat,
    state: dict[str, Any],
    folder: Path,
) -> tuple[Files | Engine, Audit]:
    """Open the table again, of which only the rows that are asked for are read, and go on with its audit."""
    plan, pool = AuditPlan(**state["audit"]["settings"]), state["pool"]
    written = TableFormat(
        **{"encoding": None if pool["encoding"] == "utf-8" else pool["encoding"], **pool["form"]}
    )
    begun = {**state["columns"], **plan.to_dict()}
    begun |= {n: v or ("utf-8" if n == "encoding" else "none") for n, v in vars(written).items()}
    for name, value in {**columns, **settings, **vars(form)}.items():
        if value is not None and value != begun.get(name):
            was = "no" if begun.get(name) is None else begun[name]
            option = {"random_state": "seed"}.get(name, name.replace("_", "-"))
            raise AuditError(
                f"--{option} {value}: the audit in {folder} was begun with {was}",
                f"Leave out --{option} to go on with it, or begin another with --out",
            )
    source, _ = open_table(place, written)
    if table_digest(place, source) != pool["sha256"]:
        raise AuditError(
            f"{place} has changed since the audit in {folder} was begun, or is another file",
            "Restore it: labels belong to row numbers. Or begin another audit with --out",
        )
    with reading(str(folder / STATE), _RESTORE, AuditError):
        audit = Audit.from_dict(state["audit"])
        audit.certificate()  # numbers of rows that do not belong together are noticed here
        return source, audit


# -- sheets: rows to label, and the labels that come back ----------------------------------------


@dataclass(frozen=True)
class SheetLabels:
    """Labels that came back: by row number, and with what is needed to check their rows."""

    labels: dict[int, int]
    rows: list[ReturnedRow]


def sheet_name(look: int, part: int = 1) -> str:
    """Return the name of the file with the rows of a look; later parts are in place of skipped rows.

    Examples
    --------
    >>> sheet_name(2), sheet_name(2, 3)
    ('rows-2.csv', 'rows-2-3.csv')
    """
    return f"rows-{look}.csv" if part == 1 else f"rows-{look}-{part}.csv"


def _rows_in(path: Path) -> set[int]:
    """Return the rows that a sheet names, counted from 0."""
    text = path.read_bytes().decode("utf-8-sig", "replace")
    named = (cells.get(_ROW) for cells in read_sheet(text))
    return {int(row) for row in named if row is not None and _is_row(row)}


def _is_row(text: str) -> bool:
    """Whether a text is the number of a row; keys of a database may be below zero."""
    return text.removeprefix("-").isdecimal()


def _heading(name: str) -> str:
    """Return the name of a column in the sheet; one with a name of ours is renamed."""
    return f"{name} (table)" if name in _OWN else name


def telling_columns(table: Arrow, predictions: str) -> list[str]:
    """Return the columns that give the model's decision away, such as its score.

    These are columns whose value, or whose side of some threshold, decides the prediction in all rows given.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"age": [3, 3, 2, 2] * 8, "score": [.1, .9, .2, .8] * 8, "said": [0, 1, 0, 1] * 8})
    >>> telling_columns(table, "said")
    ['score']
    """
    said = np.array(texts(table.column(predictions)), dtype=object).astype(str)
    values, codes, counts = np.unique(said, return_inverse=True, return_counts=True)
    if len(values) > 2:
        try:  # probabilities: what they decide
            codes = (said.astype(float) >= 0.5).astype(np.int64)
        except ValueError:
            return []
        counts = np.bincount(codes, minlength=2)
    if len(counts) != 2 or counts.min() < _FEWEST:
        return []
    found = []
    for name in table.column_names:
        if name == predictions:
            continue
        cells = np.array(texts(table.column(name)), dtype=object).astype(str)
        try:
            order = np.argsort(cells.astype(float), kind="stable")
            separated = np.count_nonzero(np.diff(codes[order])) == 1
        except ValueError:
            separated = False
        levels, of = np.unique(cells, return_inverse=True)
        decided = len(levels) <= _FEWEST and all(len(set(codes[of == i])) == 1 for i in range(len(levels)))
        if separated or decided:
            found.append(name)
    return found


def write_sheet(path: Path, source: Files | Engine, rows: Int, hidden: Collection[str]) -> None:
    """Write rows to label: number, the columns but hidden ones, empty label, check code."""
    taken = source.take(rows)
    names = [n for n in taken.column_names if n not in hidden]
    columns = [taken.column(n).to_pylist() for n in names]
    codes = [check_code(row, cells) for row, cells in zip(rows.tolist(), taken.to_pylist(), strict=True)]
    lines = (
        [row, *cells[:-1], "", cells[-1]] for row, *cells in zip(rows.tolist(), *columns, codes, strict=True)
    )
    write_whole(path, csv_text([_ROW, *map(_heading, names), _LABEL, CHECK], lines, line_end="\n"))


def read_labels(path: Path, classes: Classes, encoding: str | None) -> SheetLabels:
    """Return labels by row number, counted from 0; rows without a label are left out.

    The word "skip", unless it is a class, says that nobody can
    label the row: its code is ``SKIPPED``.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "t.csv")
    ...     _ = file.write_text("row,label\\n7,no\\n3,Yes\\n4,\\n5,skip\\n")
    ...     read_labels(file, Classes(("no",), ("yes",)), None).labels
    {7: 0, 3: 1, 5: -1}
    """
    try:
        table = read_table(path, TableFormat(encoding=encoding))
    except TableError as error:
        if "--sheet" not in error.remedy:
            raise
        # The option is about the audited table.
        raise TableError(error.what, "Save the sheet with the labels as a file of its own") from error
    for name in (_ROW, _LABEL):
        if name not in table.column_names:
            raise TableError(
                f"{path.name} has no column {name!r}",
                f"Give the rows that were written, with their columns {_ROW!r} and {_LABEL!r}",
            )
    others = {
        name.removesuffix(" (table)"): texts(table.column(name))
        for name in table.column_names
        if name not in _OWN
    }
    codes = texts(table.column(CHECK)) if CHECK in table.column_names else [None] * table.num_rows
    found = SheetLabels({}, [])
    pairs = zip(texts(table.column(_ROW)), texts(table.column(_LABEL)), strict=True)
    wrong: list[tuple[int, str]] = []
    for line, (row, label) in enumerate(pairs):
        if label is None:
            continue
        if row is None or not _is_row(row):
            raise TableError(
                f"{path.name}: data row {line + 1} has a label and the row number {row or ''!r}",
                f"Leave the column {_ROW!r} as it was written",
            )
        value = classes.code(label)
        if value is None and key(label) == _SKIP:
            value = SKIPPED
        if value is None:
            wrong.append((int(row), label))
            continue
        number = int(row)
        if found.labels.setdefault(number, value) != value:
            raise TableError(f"{path.name}: row {row} has two different labels", "Keep the right one")
        cells = {name: column[line] for name, column in others.items()}
        found.rows.append(ReturnedRow(number, row, codes[line], cells))
    refuse_labels(wrong, classes.names, path.name)
    return found
