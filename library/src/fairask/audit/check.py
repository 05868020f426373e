"""Is a certificate as it was issued, and about this table?"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairask.audit.folder import STATE
from fairask.audit.outcome import CERTIFICATE, joint_verdict
from fairask.audit.signature import check_certificate as signature_problems
from fairask.audit.signature import is_sealed
from fairask.errors import UserError
from fairask.tables.formats import file_digest

Document = dict[str, Any]


@dataclass(frozen=True)
class CertificateCheck:
    """Whether a certificate is about a model and a pool, and why not."""

    verdict: str  #: of the certificate
    model: str  #: the model in words
    problems: tuple[str, ...]
    about: str = "is about this model"

    @property
    def sound(self) -> bool:
        """Whether the certificate is about this model on this pool."""
        return not self.problems

    def __str__(self) -> str:
        return f"({self.verdict}) {self.about}: {self.model}"


def check_issued(certificate: str | Path, pool: str | Path | None = None) -> CertificateCheck:
    """Say whether a certificate of ``fairask audit``, or the one in an audit's folder, is as it was issued.

    With a ``pool``, also whether it is about this table, with its predictions.

    Examples
    --------
    >>> check_issued("loans.audit")
    Traceback (most recent call last):
    fairask.errors.UserError: loans.audit: No such file or directory...
    """
    found, name = read_certificate(certificate)
    if "made_from" not in found:
        raise UserError(
            f"{name} is a study's certificate, which speaks of a model and a pool",
            f"give both: fairask verify {certificate} MODEL POOL",
        )
    problems = changes(found) + ([] if pool is None else other_table(found, Path(pool)))
    made = ", ".join(f"{fact} {found['made_from'][fact]}" for fact in ("table", "predictions", "groups"))
    return CertificateCheck(found["verdict"], made, tuple(problems), "is as it was issued")


def read_certificate(certificate: str | Path) -> tuple[Document, str]:
    """Return the document of a certificate, given by its file or by the folder of an audit, and its name."""
    file = Path(certificate)
    if (file / STATE).is_file():
        file = file / CERTIFICATE
        if not file.exists():
            raise UserError(
                f"the audit in {file.parent} is not over; it has no {CERTIFICATE} yet",
                "tell it the labels it waits for",
            )
    try:
        found = json.loads(file.read_text("utf-8"))
    except OSError as error:
        raise UserError(f"{file}: {error.strerror}", "give the JSON file of a certificate") from error
    except ValueError as error:
        raise UserError(
            f"{file.name} is not a JSON file: {error}", "give the JSON file of a certificate"
        ) from error
    if not isinstance(found, dict):
        raise UserError(f"{file.name} holds no certificate", "give the JSON file of a certificate")
    return found, file.name


def changes(found: Document) -> list[str]:
    """Return what was changed in the certificates of an audit after they were issued."""
    issued = found["certificates"]
    problems = [f"{name}: {problem}" for name, one in issued.items() for problem in signature_problems(one)]
    verdicts = {name: one["verdict"] for name, one in issued.items()}
    if found["verdict"] != joint_verdict(verdicts, found.get("target", next(iter(verdicts)))):
        problems.append(f"its verdict, {found['verdict']}, is not that of its certificates")
    return problems or broken_seal(found)


def broken_seal(found: Document) -> list[str]:
    """Return what is to be said of a document that was changed."""
    broken = not is_sealed(found)
    return ["it was changed after it was issued"] if broken else []


def other_table(found: Document, pool: Path) -> list[str]:
    """Return what is to be said of a table that is not the audited one."""
    known = {value for name, value in found["made_from"].items() if name.startswith("sha256")}
    if file_digest(pool, hidden=False) in known:
        return []
    return [f"{pool.name} is not the table that was audited: its sha256 differs"]
