"""Where a study stands: what is known of its model's gap, and whether to use the model, with the reason."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal

from fairask.audit.certificate import labels_needed
from fairask.report import words
from fairask.report.words import Beside, Guess, Outcome, guess_of, leaks_sentence, outcome_of
from fairask_studio.events import Document
from fairask_studio.state import State

#: The condition of each rate that a certificate compares, as in estimates.
_CONDITIONS = {"tpr": "y=1", "fpr": "y=0", "selection_rate": "all"}


@dataclass(frozen=True)
class Standing:
    """One verdict on a study's model, and the reason."""

    case: str  #: a key of :data:`fairask.report.words.STANDINGS`
    tone: Literal["good", "bad", "open"]
    verdict: str
    reason: str

    def to_dict(self) -> Document:
        """Return plain values."""
        return asdict(self)


def certificate_of_model(state: State) -> Document | None:
    """Return the last certificate, if it is about the study's model."""
    made = state.certificates[-1] if state.certificates else None
    if made is None or state.model is None or made.get("model") is None:
        return None
    return made if made["model"]["digest"] == state.model["digest"] else None


def known_gap(state: State) -> Document | None:
    """Return the gap of the study's model with its limits: the audit's, once there is a certificate.

    ``by`` says which it is, "audit" or "estimate", and ``rates`` are those that were compared. The upper
    limit of an audit is a promise, that of an estimate is not.
    """
    made = certificate_of_model(state)
    if made is not None and made["estimate"] is not None:
        rates = [
            {"condition": _CONDITIONS[name], "group": str(group), "value": value}
            for name, values in made["rates"].items()
            for group, value in zip(made["groups"], values, strict=True)
            if name in _CONDITIONS and value is not None
        ]
        limits = {"value": made["estimate"], "low": max(made["lower"], 0.0), "high": made["upper"]}
        return {**limits, "by": "audit", "rates": rates}
    guess = None if state.model is None else state.model["estimate"]
    if guess is None or guess["gap"] is None:
        return None
    return {**guess["gap"], "by": "estimate", "rates": guess["rates"]}


def beside_of(state: State) -> Beside | None:
    """Return the last model beside a plain one and a constant answer; None while that is unknown."""
    guess = state.history[-1]["estimate"] if state.history else None
    if guess is None:
        return None
    constant, config, gap = guess["constant"], state.config, known_gap(state)
    return Beside(
        Outcome(guess_of(guess["accuracy"]), None if gap is None else guess_of(gap)),
        outcome_of(guess["plain"]),
        constant["accuracy"],
        config.classes[constant["answer"]],
        config.learner.tolerance,
        state.history[-1]["labels"],
    )


def story_of(state: State) -> Document | None:
    """Say which case the study is in, beside a plain model and a constant answer; None while unknown."""
    beside = beside_of(state)
    if beside is None:
        return None
    telling = state.history[-1].get("telling")
    return {
        "case": beside.case,
        "sentence": beside.sentence(),
        "points": beside.in_points(),
        "answer": beside.answer,
        "columns": leaks_sentence(telling) if telling else None,
    }


def standing_of(state: State, labels: int) -> Standing:
    """Return one verdict on the study's model and the reason; ``labels`` is how many the study has."""
    case, reason = _case(state, labels)
    if labels < state.budget and f"{case} so far" in words.STANDINGS:
        case = f"{case} so far"
    tone, verdict = words.STANDINGS[case]
    return Standing(case, tone, verdict, " ".join(reason))


def _case(state: State, labels: int) -> tuple[str, list[str]]:
    config, made, beside = state.config, certificate_of_model(state), beside_of(state)
    if not labels:
        return "begin", [words.begin_sentence("labels", config.learner.batch_size)]
    guess = None if state.model is None else state.model["estimate"]
    if guess is None and made is None:
        return "early", [words.right_sentence(labels, None)]
    right = "" if guess is None else words.right_sentence(labels, guess["accuracy"]["value"])
    gap, tolerance = known_gap(state), config.learner.tolerance
    apart = [] if gap is None else _apart(gap, config.classes, tolerance)
    if beside is not None and beside.case == "no better":
        return "useless", [beside.in_points()]
    if made is not None:
        said = words.verdict_sentence(made["verdict"], made["lower"], made["upper"], made["delta"])
        return made["verdict"], [said, right, *apart]
    if beside is not None and beside.plain_is_better:
        return "plain", [beside.in_points()]
    if gap is None:
        return "unsure", [right, words.NO_GAP]
    # The interval has 2.5 % on either side.
    found = guess_of(gap)
    more = labels_needed(found.value, found.low, found.high, tolerance, 0.025, labels)
    allowed = words.allowed_sentence(found, tolerance, more, config.rows - labels)
    return _by_interval(found, tolerance), [right, *apart, allowed]


def _apart(gap: Document, classes: tuple[str, str], tolerance: float) -> list[str]:
    if len({rate["group"] for rate in gap["rates"] if rate["value"] is not None}) < 2:
        return []
    return [words.apart_sentence(gap["rates"], classes, tolerance)]


def _by_interval(gap: Guess, tolerance: float) -> str:
    if gap.high <= tolerance:
        return "within"
    return "above" if gap.low > tolerance else "unsure"
