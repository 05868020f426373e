"""The model's page: members, what they look at, rows near a threshold, errors by group; another fit."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from fastapi import APIRouter, Request

from fairask.learner import FairActiveLearner
from fairask.metrics import Float, Int, Matrix
from fairask.oracle import LinearForestClassifier
from fairask.report.words import MEMBER_NAMES, first_model_sentence
from fairask.rules import ConstantRule, FittedProbability, LinearProbability, LinearRule, PlugInRule, Rule
from fairask_studio import Study
from fairask_studio.advice import first_rows
from fairask_studio.columns import ColumnInfo, learned_columns
from fairask_studio.estimates import errors_by_group
from fairask_studio.events import Document
from fairask_studio.pages.access import Me
from fairask_studio.pages.desk import ask, desk_of
from fairask_studio.pages.label import card

router = APIRouter(tags=["owning"])


@router.get("/model/details")
def details(request: Request, me: Me) -> Document:
    """Return members and thresholds, what the model looks at, rows near a threshold, errors by group."""
    return {"found": ask(request, model_details)}


@router.get("/model")
def model(request: Request, me: Me) -> Document:
    """Return the study's model: round, digest, members with their weights, and the history of rounds."""
    return ask(request, model_members)


@router.post("/model", status_code=201)
def fit(request: Request, me: Me) -> Document:
    """Fit another model on all labels; a certified model is no longer kept."""
    return {"fitted": desk_of(request).do(refit, me.name)}


def refit(study: Study, who: str) -> Document | None:
    """Fit on all labels, and give up a certified model that was kept."""
    return study.refit(asked_by=who)


def model_members(study: Study) -> Document:
    """Return the study's model (round, digest, members with weights), and the history of rounds."""
    with study.lock:
        state = study.state()
        history, model, kept = list(state.history), state.model, state.kept is not None
    if model is None:
        learns, not_learned = learned_columns(study.config.columns, study.encoder)
        soon = {"first": first_model_sentence(first_rows(state), state.answered - state.skipped)}
        return {
            "history": [], "members": [], "features": [], "model": None,
            "learns": learns, "not_learned": not_learned, **soon,
        }  # fmt: skip
    fitted = study.learner(at=study.state().trained_to).current_model()
    names = _feature_names(study)
    members = [
        {"probability": float(weight), "weights": _weights(rule, names)}
        for rule, weight in zip(fitted.members_, fitted.weights_, strict=True)
    ]
    return {"history": history, "members": members, "features": names, "model": {**model, "certified": kept}}


def _features(study: Study) -> list[tuple[ColumnInfo, str]]:
    """Return the column of each of the encoder's features, and what the feature says of it."""
    columns = {column.name: column for column in study.config.columns}
    encoder = study.encoder
    found = []
    for name in encoder.feature_names_out:
        # The longest column that the feature begins with: names may hold "=" themselves, and begin alike.
        column = columns[max((c for c in encoder.columns if name.startswith(c)), key=len)]
        found.append((column, name.removeprefix(column.name)))
    return found


def _feature_names(study: Study) -> list[str]:
    """Return names of the encoder's features, in the words of the study."""
    pretty = []
    for column, mark in _features(study):
        level = "missing" if mark == " is missing" else mark.removeprefix("=")
        title = column.title or column.name
        pretty.append(f"{title}: {column.values.get(level, level)}" if level else title)
    return pretty


def _weights(rule: Rule, names: list[str]) -> list[Document]:
    """Return the twelve largest weights of a linear member; none for others."""
    linear = rule.probability if isinstance(rule, PlugInRule) else rule
    if not isinstance(linear, LinearRule | LinearProbability):
        return []
    beta = linear.beta
    order = np.argsort(-np.abs(beta[:-1]))[:12]
    return [{"feature": names[i], "weight": float(beta[i])} for i in order]


#: Rows of the pool on which columns are shuffled, how often, and rows shown near a threshold of each group.
_ROWS, _TIMES, _NEAR = 400, 3, 3


def model_details(study: Study) -> Document | None:
    """Return what the page shows beyond the estimates; None before the first fit."""
    trained_to = study.state().trained_to
    if trained_to is None:
        return None
    found = _details(study, trained_to)
    near = [
        {**group, "rows": [card(study, row).model_dump() for row in group["rows"]]} for group in found["near"]
    ]
    return {**found, "near": near}


@lru_cache(maxsize=1)
def _details(study: Study, trained_to: int) -> Document:
    learner = study.learner(at=trained_to)
    fitted = learner.current_model()
    rules, weights = fitted.used_members()
    groups = [str(name) for name in learner.groups_]
    learns, not_learned = learned_columns(study.config.columns, study.encoder)
    return {
        "members": [
            {"probability": weight, **_described(rule, groups, study.config.classes)}
            for rule, weight in zip(rules, weights, strict=True)
        ],
        "forest": _forest_share(rules),
        "importance": importance(study, learner, rules, weights),
        "near": _near(learner, _confidence(learner, rules, weights), groups),
        "errors": errors_by_group(learner),
        "learns": learns,
        "not_learned": not_learned,
    }


def _described(rule: Rule, groups: list[str], classes: tuple[str, str]) -> Document:
    """Describe a member: one answer for all, or thresholds by group."""
    if isinstance(rule, ConstantRule):
        return {"kind": "constant", "words": MEMBER_NAMES["constant"].format(classes[int(rule.value)])}
    if isinstance(rule, PlugInRule) and rule.aware:
        cuts = dict(zip(groups, rule.thresholds().tolist(), strict=True))
        return {"kind": "thresholds", "words": MEMBER_NAMES["thresholds"], "thresholds": cuts}
    kind = "blind" if isinstance(rule, PlugInRule) else "rule"
    return {"kind": kind, "words": MEMBER_NAMES[kind]}


def _forest_share(rules: list[Rule]) -> float | None:
    """Return the share of trees in the classifier beneath; None for a classifier of another kind."""
    for rule in rules:
        model = rule.probability if isinstance(rule, PlugInRule) else None
        if isinstance(model, FittedProbability) and isinstance(model.estimator, LinearForestClassifier):
            return float(model.estimator.share_)
    return None


def _probability(rules: list[Rule], weights: list[float], X: Matrix, codes: Int) -> Float:
    votes = [rule.decide(X, codes) for rule in rules]
    return np.average(np.array(votes, dtype=np.float64), axis=0, weights=weights)


def _confidence(learner: FairActiveLearner, rules: list[Rule], weights: list[float]) -> Float:
    """Return the confidence of the heaviest member that is not constant, for every row of the pool."""
    moving = [i for i, rule in enumerate(rules) if not isinstance(rule, ConstantRule)]
    if not moving:
        return np.full(learner.pool.n_rows, np.nan)
    rule = rules[max(moving, key=lambda i: weights[i])]
    return rule.proba(learner.pool.X, learner.pool.groups_of(np.arange(learner.pool.n_rows)))


def importance(
    study: Study, learner: FairActiveLearner, rules: list[Rule], weights: list[float]
) -> list[Document]:
    """Return, by column, the share of decisions on the pool that change when the column is shuffled."""
    rng = np.random.default_rng(0)
    size = learner.pool.n_rows
    some = np.sort(rng.choice(size, min(_ROWS, size), replace=False))
    X, codes = learner.pool.take(some), learner.pool.groups_of(some)
    X = X if isinstance(X, np.ndarray) else X.toarray()
    before = _probability(rules, weights, X, codes)
    positions: dict[str, list[int]] = {}
    for i, (info, _) in enumerate(_features(study)):
        positions.setdefault(info.title or info.name, []).append(i)
    found = []
    for column, features in positions.items():
        changed = 0.0
        for _ in range(_TIMES):
            shuffled = X.copy()
            shuffled[:, features] = X[rng.permutation(len(X))][:, features]
            after = _probability(rules, weights, shuffled, codes)
            changed += float(np.abs(after - before).mean()) / _TIMES
        found.append({"column": column, "changes": changed})
    return sorted(found, key=lambda entry: -float(entry["changes"]))


def _near(learner: FairActiveLearner, confidence: Float, groups: list[str]) -> list[Document]:
    codes = learner.pool.groups_of(np.arange(learner.pool.n_rows))
    found = []
    for code, group in enumerate(groups):
        rows = np.flatnonzero(codes == code)
        away = np.abs(confidence[rows] - 0.5)
        if not len(rows) or np.isnan(away).all():
            continue
        near = rows[np.argsort(away, kind="stable")[:_NEAR]]
        found.append({"group": group, "rows": near.tolist()})
    return found
