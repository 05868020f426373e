"""What a step of an audit ends in: rows to label, or certificates."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairask.audit.certificate import Certificate
from fairask.audit.signature import seal, sign
from fairask.tables.sheets import write_whole

#: The file of the certificates for programs, in the folder of an audit.
CERTIFICATE = "certificate.json"


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


def joint_verdict(verdicts: Mapping[str, str], target: str) -> str:
    """Return the verdict on all claims about a target: refuted if any is, certified if all are.

    Examples
    --------
    >>> joint_verdict({"pool": "certified", "pool:fprp": "undecided", "population": "refuted"}, "pool")
    'undecided'
    """
    mine = {verdict for name, verdict in verdicts.items() if name.partition(":")[0] == target}
    return next((v for v in ("refuted", "undecided") if v in mine), "certified")


@dataclass(frozen=True)
class Decided:
    """The certificates of an audit that is over, the one that decided first, and how they were made."""

    labels: int
    certificates: dict[str, Certificate]
    facts: dict[str, str]
    folder: Path

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
        """Return the content of the file CERTIFICATE."""
        return seal(
            {
                "schema": "fairask-audit",
                "version": 1,
                "verdict": self.verdict,
                "target": next(iter(self.certificates)),
                "certificates": {t: sign(c) for t, c in self.certificates.items()},
                "made_from": self.facts,
            }
        )

    def write(self) -> None:
        """Write the certificates as text, JSON and a page."""
        text = "\n\n".join(str(c) for c in self.certificates.values())
        text += "\n\n" + "\n".join(f"{name}: {value}" for name, value in self.facts.items()) + "\n"
        also = list(self.certificates.values())[1:]
        for suffix, content in (
            ("txt", text),
            ("json", json.dumps(self.result(), indent=1, allow_nan=False) + "\n"),
            ("html", self.first.to_html(also=also, facts=self.facts)),
        ):
            write_whole(self.folder / f"certificate.{suffix}", content)
