"""Is a study whole, and is a certificate about this model and this pool? And copies of a study."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from fairask.audit.certificate import SIGNED, verdict_of
from fairask.audit.predictions import read_classes
from fairask.audit.verification import (
    CertificateCheck,
    Check,
    broken_seal,
    changes,
    other_files,
    other_signer,
    other_table,
    read_certificate,
    signer_words,
)
from fairask.documents import reading
from fairask.metrics import Float
from fairask.tables import read_table
from fairask.tables.cells import coded
from fairask.tables.formats import file_digest
from fairask_studio.errors import SENSELESS, StudyError
from fairask_studio.estimates import decisions_digest
from fairask_studio.events import Document
from fairask_studio.model import TableModel, load_model
from fairask_studio.state import State
from fairask_studio.store.store import Store
from fairask_studio.study import Study


@dataclass(frozen=True)
class StudyCheck(Check):
    """Whether a study is whole."""

    events: int
    hash: str  #: of the last event; written down elsewhere, it proves all events up to it
    problems: tuple[str, ...]

    def __str__(self) -> str:
        return f"Whole: {self.events:,} events; the last one has hash {self.hash}"


def verify(target: str) -> StudyCheck:
    """Check the chain of hashes, the number of events, the replay, the people and the pool of a study.

    Who is signed in, who holds which row until when, attempts to sign in and what the trainer does are not
    checked: they pass within hours.
    """
    problems: list[str] = []
    store = Store.open(target)
    try:
        events, last_hash, broken = store.check_chain()
        problems += [] if broken is None else [broken]
        try:
            with store.read() as turn:
                state = State.replay(turn.each_event())
                if not state.agrees(turn.slots()):
                    problems.append("the queue of rows (tasks) is not what the events say")
                problems += turn.misfiled()
        except (*SENSELESS, StudyError) as error:
            problems.append(f"the events make no sense: {error}")
        problems += store.people.changed() + store.database.damage()
    finally:
        store.close()
    if not problems:
        try:
            Study.open(target).close()
        except StudyError as error:
            problems.append(str(error))
    return StudyCheck(events, last_hash, tuple(problems))


def backup(source: str, to: str) -> int:
    """Copy a study while it is in use: from a folder or database to a new folder or an empty database.

    Returns the number of events. The copy is a study: a folder can be the copy of a database, and the other
    way round, so restoring is the same command. Sessions are not copied: everybody signs in again.
    """
    origin = Store.open(source)
    try:
        with origin.read() as turn:
            tables = turn.dump()
        Store.create_copy(to, origin.read_pool(), tables)
    finally:
        origin.close()
    check = verify(to)
    if not check.sound:
        raise StudyError(f"the copy in {Path(to).name} is not whole: {check.problems[0]}")
    return len(tables["events"])


@dataclass(frozen=True)
class SignedCheck(Check):
    """Whether the files of an export are those that were signed."""

    files: int
    events: int
    hash: str  #: of the study's last event
    signer: str
    problems: tuple[str, ...]

    def __str__(self) -> str:
        whole = f"{self.files} files of a study with {self.events:,} events, the last with hash {self.hash}"
        return f"As it was signed: {whole}{self.signer}"


def check_signed(folder: Path, key: str | None) -> SignedCheck:
    """Compare the files of an export with the digests that were signed.

    Parameters
    ----------
    folder : Path
        What ``fairask export --sign`` wrote.
    key : str, optional
        The public key of who must have signed.
    """
    found, file = read_certificate(folder / SIGNED)
    # Without its signature the file could say anything: one that is missing is a problem without a key, too.
    problems = other_signer({**found, "signature": found.get("signature")}, file, key)
    there = {path.name: path for path in folder.iterdir()}
    with reading(file.name, "Export again, or restore it from a copy", StudyError):
        files, events, last = dict(found["files"]), int(found["events"]), str(found["hash"])
        for name, digest in files.items():
            if name not in there:
                problems.append(f"{name} is missing")
            elif file_digest(there[name], hidden=False) != digest:
                problems.append(f"{name} was changed after it was signed")
    problems += [f"{name} was not signed" for name in sorted({*there} - {*files, SIGNED})]
    return SignedCheck(len(files), events, last, signer_words(found, key), tuple(problems))


def verify_certificate(
    certificate: str | Path, model: str | Path, pool: str | Path, key: str | None = None
) -> CertificateCheck:
    """Compute the decisions of a model on a pool again, and compare them with those that were certified.

    Parameters
    ----------
    certificate : path
        ``certificate.json`` of a study's export, or of ``fairask audit``; or the folder of an audit.
    model : path
        ``model.skops`` of a study's export.
    pool : path
        The table of the audit, or ``pool.parquet`` or the table of the study. A study of a sample has its
        own pool.parquet alone.
    key : str, optional
        The public key of who must have signed.
    """
    found, file = read_certificate(certificate)
    if "model" in found:
        with reading(file.name, "Give the JSON file of a certificate", StudyError):
            check = _of_study(found, _loaded(model), read_table(Path(pool)))
    elif "made_from" in found:
        with reading(file.name, "Give the JSON file of a certificate", StudyError):
            check = _of_audit(found, _loaded(model), Path(pool))
            check = check if check.problems else replace(check, problems=tuple(other_files(found, file)))
    else:
        raise StudyError(f"{file.name} does not name the model that it is about; export it with this version")
    signed = (*check.problems, *other_signer(found, file, key))
    return replace(check, model=check.model + signer_words(found, key), problems=signed)


def _loaded(model: str | Path) -> TableModel:
    try:
        return load_model(model)
    except Exception as error:  # a damaged zip, schema or array: skops raises what it meets
        raise StudyError(f"{Path(model).name} cannot be read as a model: {error}") from error


def _positive(model: TableModel, table: pa.Table) -> Float:
    """Return the probability of a positive decision per row."""
    for name in model.columns_:
        if name not in table.column_names:
            raise StudyError(f"the pool has no column {name!r}; give the table that the study was made with")
    groups = model.groups_of(table) if model.oracle.needs_groups else None
    return model.oracle.decision_probability(model.encoded(table), groups)


def _of_study(found: Document, model: TableModel, table: pa.Table) -> CertificateCheck:
    about = found["model"]
    digest = decisions_digest(_positive(model, table))
    problems = broken_seal(found)
    if found["verdict"] != verdict_of(found["lower"], found["upper"], found["tolerance"]):
        problems.append("its verdict is not that of its bounds")
    if digest != about["digest"]:
        problems.append(
            f"this model's decisions on this pool have digest {digest[:12]}, the certified ones "
            f"{about['digest'][:12]}"
        )
    words = f"round {about['round']} on {about['labels']} labels, digest {about['digest'][:12]}"
    return CertificateCheck(found["verdict"], words, tuple(problems))


def _of_audit(found: Document, model: TableModel, pool: Path) -> CertificateCheck:
    made, problems = found["made_from"], changes(found) + other_table(found, pool)
    column, _, rest = made["predictions"].partition(" (positive: ")
    table = read_table(pool)
    if column not in table.column_names:
        raise StudyError(f"{pool.name} has no column {column!r}; give the table that was audited")
    values, codes = coded(table.column(column))
    said = np.array(read_classes(values, column, _classes_in(rest.removesuffix(")")))[1])[codes]
    positive = _positive(model, table)
    other = int((np.abs(said - positive) > 1e-6).sum())
    if other and set(np.unique(said)) <= {0.0, 1.0}:
        other = int((said != (positive > 0.5)).sum())
    if other:
        problems.append(f"this model decides otherwise than {column!r} in {other:,} of {len(said):,} rows")
    return CertificateCheck(found["verdict"], f"predictions {column}", tuple(problems))


def _classes_in(text: str) -> list[str]:
    """The positive classes as a certificate names them: one as it is, several in quotes.

    Examples
    --------
    >>> _classes_in('"passed", "distinction"'), _classes_in("0, 1"), _classes_in("")
    (['passed', 'distinction'], ['0, 1'], [])
    """
    try:
        several = json.loads(f"[{text}]")
    except ValueError:
        several = []
    quoted = len(several) > 1 and all(isinstance(one, str) for one in several)
    return several if quoted else [text] if text else []
