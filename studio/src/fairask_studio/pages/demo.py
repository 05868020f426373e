"""The demo: a study of German Credit with words for its codes, and a scripted annotator."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

from fastapi import APIRouter, HTTPException, Request

from fairask.datasets.catalog import embedded
from fairask.datasets.german import FEMALE, NUMERIC, SPEC
from fairask_studio import Study
from fairask_studio.events import Document
from fairask_studio.pages.access import Me
from fairask_studio.pages.api import Strict

_YES_NO = {"A201": "yes", "A202": "no"}

#: Title, unit and words for codes, the most useful columns first.
WORDS: dict[str, Document] = {
    "amount": {"title": "Amount of the loan", "unit": "DM"},
    "duration": {"title": "To be repaid within", "unit": "months"},
    "purpose": {
        "title": "Purpose",
        "values": {
            "A40": "new car", "A41": "used car", "A42": "furniture", "A43": "radio or television",
            "A44": "household appliances", "A45": "repairs", "A46": "education", "A47": "holiday",
            "A48": "retraining", "A49": "business", "A410": "other",
        },
    },
    "checking": {
        "title": "Balance of the current account",
        "values": {
            "A11": "overdrawn", "A12": "0 to 200 DM", "A13": "200 DM or more, or a salary",
            "A14": "no account",
        },
    },
    "history": {
        "title": "Earlier loans",
        "values": {
            "A30": "none, or all repaid", "A31": "all at this bank repaid", "A32": "repaid so far",
            "A33": "late in the past", "A34": "critical, or loans elsewhere",
        },
    },
    "savings": {
        "title": "Savings",
        "values": {
            "A61": "below 100 DM", "A62": "100 to 500 DM", "A63": "500 to 1,000 DM",
            "A64": "1,000 DM or more", "A65": "unknown or none",
        },
    },
    "employment": {
        "title": "In the present job",
        "values": {
            "A71": "no job", "A72": "less than a year", "A73": "1 to 4 years", "A74": "4 to 7 years",
            "A75": "7 years or more",
        },
    },
    "installment-rate": {"title": "Instalment", "unit": "% of income"},
    "property": {
        "title": "Property",
        "values": {
            "A121": "real estate", "A122": "savings contract or life insurance", "A123": "car or other",
            "A124": "none or unknown",
        },
    },
    "housing": {"title": "Housing", "values": {"A151": "rented", "A152": "own", "A153": "free"}},
    "age": {"title": "Age", "unit": "years"},
    "job": {
        "title": "Work",
        "values": {"A171": "none", "A172": "unskilled", "A173": "skilled", "A174": "management"},
    },
    "debtors": {
        "title": "Others who answer for it",
        "values": {"A101": "nobody", "A102": "co-applicant", "A103": "guarantor"},
    },
    "other-plans": {
        "title": "Other instalment plans",
        "values": {"A141": "at a bank", "A142": "at stores", "A143": "none"},
    },
    "credits": {"title": "Loans at this bank"},
    "dependants": {"title": "Dependants"},
    "residence": {"title": "At this address", "unit": "years"},
    "telephone": {"title": "Telephone", "values": {"A191": "no", "A192": "yes"}},
    "foreign": {"title": "Foreign worker", "values": _YES_NO},
}  # fmt: skip


def demo_study(target: str | Path, *, budget: int = 250, batch_size: int = 25) -> tuple[Study, list[str]]:
    """Make a study of German Credit, and return it with the true labels."""
    raw = embedded(SPEC)
    table: dict[str, Sequence[object]] = {
        name: [int(v) for v in raw.numbers(name)] if name in NUMERIC else raw.text(name).tolist()
        for name in WORDS
    }
    table["sex"] = ["Female" if code in FEMALE else "Male" for code in raw.text("status")]
    truth = ["yes" if value == 1 else "no" for value in raw.numbers("class")]
    study = Study.create(
        target,
        table,
        protected="sex",
        words={**WORDS, "sex": {"title": "Sex"}},
        question="Will this person repay the loan?",
        classes=("no", "yes"),
        budget=budget,
        batch_size=batch_size,
        tolerance=0.1,
        # Rows that a visitor looked at and left go back to the scripted annotator soon.
        lease_seconds=20.0,
        random_state=0,
    )
    return study, truth


class Robot:
    """Answers one row after another with the known labels."""

    def __init__(self, study: Study, truth: Sequence[str], seconds: float = 0.4) -> None:
        self.study, self.truth, self.seconds, self.name = study, truth, seconds, "robot"
        self.paused = False
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def step(self) -> bool:
        """Answer one row, if there is one; return whether there was."""
        rows = self.study.lease(self.name, 1, seconds=60.0)
        if rows:
            self.study.tell(rows, [self.truth[row] for row in rows], self.name)
        return bool(rows)

    def _run(self) -> None:
        while not self._stop.wait(self.seconds):
            if not self.paused:
                self.step()

    def start(self) -> None:
        """Work in a thread of its own."""
        self._thread = threading.Thread(target=self._run, name="fairask-robot", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop after the row under way."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()


class Pause(Strict):
    """Whether the demo's annotator is paused."""

    paused: bool


router = APIRouter(tags=["demo"])


@router.get("/demo")
def get_robot(request: Request, me: Me) -> Pause:
    """Say whether the demo's annotator is paused."""
    return Pause(paused=_robot(request).paused)


@router.put("/demo")
def set_robot(request: Request, wanted: Pause, me: Me) -> Pause:
    """Pause the demo's annotator, or let it go on."""
    _robot(request).paused = wanted.paused
    return wanted


def _robot(request: Request) -> Robot:
    robot: Robot | None = request.app.state.robot
    if robot is None:
        raise HTTPException(404, "this is no demo")
    return robot
