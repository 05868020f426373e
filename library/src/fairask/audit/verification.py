"""Is a certificate as it was issued? The document, the files beside it, its table and its signature.

A form, an export and a study are checked elsewhere, and their answers are of the same kind: a :class:`Check`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairask.audit.certificate import (
    CERTIFICATE,
    STATE,
    check_certificate,
    is_sealed,
    joint_verdict,
    pages_of,
    written,
)
from fairask.audit.signature import Register, fingerprint, signature_problems
from fairask.documents import parse_json, reading
from fairask.errors import UserError
from fairask.tables.formats import file_digest

_GIVE = "give the JSON file of a certificate"


class Check:
    """Whether something is what it says. Written as a string, it is the good news."""

    problems: tuple[str, ...]

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


@dataclass(frozen=True)
class CertificateCheck(Check):
    """Whether a certificate is about a model and a pool, and why not."""

    verdict: str  #: of the certificate
    model: str  #: the model in words
    problems: tuple[str, ...]
    about: str = "is about this model"

    def __str__(self) -> str:
        return f"({self.verdict}) {self.about}: {self.model}"


def check_issued(
    certificate: str | Path, pool: str | Path | None = None, key: str | None = None
) -> CertificateCheck:
    """Say whether a certificate of ``fairask audit``, or the one in an audit's folder, is as it was issued.

    With a ``pool``, also whether it is about this table, with its predictions; with a public ``key``, whether
    its owner signed it.

    Examples
    --------
    >>> check_issued("loans.audit")
    Traceback (most recent call last):
    fairask.errors.UserError: loans.audit: No such file or directory...
    """
    found, file = read_certificate(certificate)
    if "made_from" not in found:
        raise UserError(
            f"{file.name} is a study's certificate, which speaks of a model and a pool",
            f"give both: fairask verify {certificate} MODEL POOL",
        )
    with reading(file.name, _GIVE, UserError):
        problems = [
            *(changes(found) or other_files(found, file)),
            *([] if pool is None else other_table(found, Path(pool))),
            *other_signer(found, file, key),
            *_other_register(found, key),
        ]
        made = ", ".join(f"{fact} {found['made_from'][fact]}" for fact in ("table", "predictions", "groups"))
        return CertificateCheck(
            found["verdict"], made + signer_words(found, key), tuple(problems), "is as it was issued"
        )


def read_certificate(certificate: str | Path) -> tuple[dict[str, Any], Path]:
    """Return the document of a certificate, given by its file or by the folder of an audit, and its file."""
    file = Path(certificate)
    if file.is_dir() and (file / CERTIFICATE).exists():
        file = file / CERTIFICATE
    elif (file / STATE).is_file():
        raise UserError(
            f"the audit in {file} is not over; it has no {CERTIFICATE} yet", "tell it the labels it waits for"
        )
    try:
        content = file.read_bytes()
    except OSError as error:
        raise UserError(f"{file}: {error.strerror}", _GIVE) from error
    found = parse_json(content, file.name, remedy=_GIVE)
    if not isinstance(found, dict):
        raise UserError(f"{file.name} holds no certificate", _GIVE)
    return found, file


def changes(found: dict[str, Any]) -> list[str]:
    """Return what was changed in the certificates of an audit after they were issued."""
    issued = found["certificates"]
    problems = [f"{name}: {problem}" for name, one in issued.items() for problem in check_certificate(one)]
    verdicts = {name: one["verdict"] for name, one in issued.items()}
    target = found.get("target", next(iter(verdicts), ""))
    if target not in verdicts or found["verdict"] != joint_verdict(verdicts, target):
        problems.append(f"its verdict, {found['verdict']}, is not that of its certificates")
    return problems or broken_seal(found)


def broken_seal(found: dict[str, Any]) -> list[str]:
    """Return what is to be said of a document that was changed."""
    return [] if is_sealed(found) else ["it was changed after it was issued"]


def other_table(found: dict[str, Any], pool: Path) -> list[str]:
    """Return what is to be said of a table that is not the audited one."""
    known = {value for name, value in found["made_from"].items() if name.startswith("sha256")}
    if file_digest(pool, hidden=False) in known:
        return []
    return [f"{pool.name} is not the table that was audited: its sha256 differs"]


def other_files(found: dict[str, Any], file: Path) -> list[str]:
    """Return what is to be said of files beside the certificate that are not those of its audit."""
    problems = []
    try:
        pages = pages_of(found)
    except (KeyError, TypeError, ValueError, StopIteration):
        return ["it is damaged"]
    for name, content in pages.items():
        page = file.with_name(name)
        if page.exists() and page.read_bytes() != content.encode():
            problems.append(f"{name} does not say what {file.name} says")
    log, state = found.get("digests", {}).get("log"), file.with_name(STATE)
    if log and state.exists() and file_digest(state, hidden=False) != log:
        problems.append(f"{STATE} was changed after the certificate was issued")
    return problems


def other_signer(found: dict[str, Any], file: Path, key: str | None) -> list[str]:
    """Return what is to be said of a signature: of one that is there, and of the one that a key asks for."""
    if key is None and "signature" not in found:
        return []
    problems = signature_problems(found, key)
    if not problems and file.read_bytes() != written(found).encode():
        problems.append("its text is not the one that was written: it was changed after it was signed")
    return problems


def _other_register(found: dict[str, Any], key: str | None) -> list[str]:
    """Return what is wrong with the audit's place in the register, where that lies beside the key."""
    named = found.get("register")
    if key is None or not named or not Path(key).is_file():
        return []
    return Register(Path(key).with_suffix(".register")).problems(named)


def signer_words(found: dict[str, Any], key: str | None) -> str:
    """Say who signed a document, and whether that was asked."""
    signature = found.get("signature")
    try:
        name = fingerprint(signature["key"]) if isinstance(signature, dict) else None
    except (KeyError, TypeError, ValueError, IndexError, AttributeError):
        name = None
    if name is None:
        return "; not signed"
    return f"; signed by {name}" + (
        "" if key is not None else ", which nobody compared with a key that you trust (--key)"
    )
