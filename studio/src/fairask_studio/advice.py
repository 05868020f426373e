"""Whether to use the model of a study, and why: what is known of its gap, one verdict, what to do next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from fairask.metrics import CONDITION_NAMES, RATES
from fairask.report import words
from fairask.report.words import Beside, Guess, Outcome, guess_of, leaks_sentence, outcome_of
from fairask_studio.events import Document
from fairask_studio.state import State

#: The condition of each rate that a certificate compares, as in estimates.
_CONDITIONS = {RATES[label]: name for label, name in CONDITION_NAMES.items()}


@dataclass(frozen=True)
class Advice:
    """One verdict on a study's model, and the reason."""

    case: str  #: a key of :data:`fairask.report.words.ADVICE`
    tone: Literal["good", "bad", "open"]
    verdict: str
    proof: str  #: what an audit of the model found; empty without one
    reason: str


def certificate_of_model(state: State) -> Document | None:
    """Return the last certificate, if it is about the study's model."""
    made = state.certificates[-1] if state.certificates else None
    if made is None or state.model is None or not made.get("model"):
        return None
    return made if made["model"]["digest"] == state.model["digest"] else None


def known_gap(state: State) -> Document | None:
    """Return the gap of the study's model with its limits: the audit's, once there is a certificate.

    ``by`` says which it is, "audit" or "estimate", and ``rates`` are those that were compared, as they are
    shown. The upper limit of an audit is a promise, that of an estimate is not.
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
        return {**limits, "by": "audit", "rates": words.shown_rates(rates)}
    guess = None if state.model is None else state.model["estimate"]
    if guess is None or guess["gap"] is None:
        return None
    return {**guess["gap"], "by": "estimate", "rates": words.shown_rates(guess["rates"])}


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
        _level(state.history[-1], gap),
        gap is not None and gap["by"] == "audit",
    )


def _level(fitted: Document, gap: Document | None) -> float | None:
    """Return the probability with which labels and pool put the gap within the tolerance, if they do.

    Of an audited model the audit knows better.
    """
    if gap is None or gap["by"] == "audit" or not fitted["feasible"]:
        return None
    level: float | None = fitted.get("level")
    return level


def story_of(state: State) -> Document | None:
    """Say which case the study is in, beside a plain model and a constant answer; None while unknown."""
    beside = beside_of(state)
    if beside is None:
        return None
    telling, made = state.history[-1].get("telling"), certificate_of_model(state)
    return {
        "case": beside.case,
        "worth": beside.worth(None if made is None else made["verdict"]),
        "sentence": beside.sentence(),
        "points": beside.in_points(),
        "answer": beside.answer,
        "columns": leaks_sentence(telling, of_study=True) if telling else None,
    }


def advice_of(state: State, labels: int, instead: Sequence[str] | None = None) -> Advice:
    """Return one verdict on the study's model and the reason.

    ``labels`` is how many the study has; ``instead`` are the columns from which a model learns that cannot
    see or hear what people look at.
    """
    made = certificate_of_model(state)
    proof = made and words.verdict_sentence(made["verdict"], made["lower"], made["upper"], made["delta"])
    case, reason = _case(state, labels, instead)
    if made is not None and case == made["verdict"] and state.watch is not None:
        # The certificate is about one day: since then the model's months may have said otherwise.
        case = state.watch["standing"]["verdict"]
        if case != made["verdict"]:
            proof, reason = state.watch["standing"]["headline"], [words.BEFORE_WATCH, *reason]
    if labels < state.budget and f"{case} so far" in words.ADVICE:
        case = f"{case} so far"
        reason += [words.PLAIN_SO_FAR] if case == "plain so far" else []
    tone, verdict = words.ADVICE[case]
    return Advice(case, tone, verdict, proof or "", " ".join(reason))


def _case(state: State, labels: int, instead: Sequence[str] | None) -> tuple[str, list[str]]:
    config, made, beside = state.config, certificate_of_model(state), beside_of(state)
    gap, tolerance = known_gap(state), config.learner.tolerance
    if state.audit is not None and (made is None or made["verdict"] == "undecided"):
        audit = state.audit.to_dict()
        standing = "over" if audit["done"] else "under way"
        return f"audit {standing}", words.audit_sentences(
            audit["labels"], audit["size"], audit["done"], None if gap is None else gap["value"], tolerance
        )
    guess = None if state.model is None else state.model["estimate"]
    if instead is not None and guess is None:
        images = any(column.display == "image" for column in config.columns)
        return "unseen" if images else "unheard", [f"It {words.learns_only(instead)}"]
    if not labels:
        return "begin", [words.begin_sentence("labels", first_rows(state))]
    if guess is None and made is None:
        return "early", [words.right_sentence(labels, None)]
    right = "" if guess is None else words.right_sentence(labels, guess["accuracy"]["value"])
    apart = [] if gap is None else _apart(gap, config.classes, tolerance)
    if beside is not None and made is None and beside.plain_is_better:
        return "plain", [beside.in_points()]
    if beside is not None and beside.case == "no better":
        return "useless", [beside.in_points()]
    if made is not None:
        return made["verdict"], [right, *apart]
    if gap is None:
        return "unsure", [right, words.NO_GAP]
    found = guess_of(gap)
    fitted = state.model or {}
    case = _standing(found, tolerance, fitted)
    return case, [right, *apart, words.allowed_sentence(found, tolerance, fitted)]


def first_rows(state: State) -> int:
    """Return how many rows are drawn at random before there is a model."""
    return min(state.config.learner.batch_size, state.budget, state.config.rows)


def _apart(gap: Document, classes: tuple[str, str], tolerance: float) -> list[str]:
    if len({rate["group"] for rate in gap["rates"] if rate["value"] is not None}) < 2:
        return []
    return [words.apart_sentence(gap["rates"], classes, tolerance)]


def _standing(gap: Guess, tolerance: float, fitted: Document) -> str:
    """Say where a model stands that was not audited: what it says of itself stands, unless labels deny it."""
    if gap.low > tolerance:
        return "above"
    if "safety_cost" in fitted and not fitted.get("contradicted"):
        return "within" if fitted["feasible"] else "short"
    return "within" if gap.high <= tolerance else "unsure"


@dataclass(frozen=True)
class Step:
    """What to do next: words of the button, its page, and what it needs."""

    words: str
    page: str
    why: str = ""


#: Cases in which a certificate is about the study's model.
JUDGED = ("certified", "refuted", "undecided")

#: Cases in which labels would teach a model nothing of what people look at.
BLIND = ("unseen", "unheard")

#: Cases in which an audit is the next step once the budget is spent.
AUDITABLE = ("within", "unsure")

_MORE_LABELS = Step("Add labels to the budget", "settings#budget", "More labels may tell, or other columns.")

#: What to do next once the budget is spent, by the study's advice.
_NEXT = {
    "certified": Step(
        "Download the model", "api/export/model.skops", "It stays the study's model until you train another."
    ),
    "refuted": _MORE_LABELS,
    "undecided": Step("Audit with more labels", "certificate", "The labels so far cannot tell."),
    "useless": _MORE_LABELS,
    "plain": Step(
        "Download the labels",
        "api/export/labels.csv",
        "Fit the classifier that you know.",
    ),
    "above": _MORE_LABELS,
    "short": _MORE_LABELS,
    "early": Step(
        "Wait for the model", "model", "The first model is trained when the first batch is answered."
    ),
}
_AUDIT = Step("Start an audit", "certificate", "The budget is spent. An audit tells what can be promised.")


def next_step(status: Document, disagreements: int = 0, flags: int = 0) -> Step:
    """Return the one thing to do next."""
    audit, case = status["audit"], status["advice"]["case"]
    if audit is not None:
        if audit["done"]:
            return Step("Issue the certificate", "certificate", "It ends the audit.")
        missing = audit["size"] - audit["labels"]
        return Step("Label the audit's rows", "label", f"At most {missing:,} more labels.")
    if case in BLIND:
        return Step("Make a study with embeddings", "new", words.EMBED)
    if case in JUDGED:
        return _NEXT[case]
    if not status["complete"]:
        left = status["budget"] - status["labels"]
        return Step("Label rows", "label", f"{left:,} labels of the budget are left.")
    if flags:
        return Step("Answer flags", "rows?view=inbox&flag=open", f"People ask about {flags:,} rows.")
    if disagreements:
        return Step(
            "Settle disagreements",
            "rows?view=inbox&disagree=true",
            f"People disagree on {disagreements:,} rows.",
        )
    return _NEXT.get(case, _AUDIT)
