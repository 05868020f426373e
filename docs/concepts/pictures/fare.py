"""One round of FARE on a pool with two features, step by step."""

from __future__ import annotations

from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np

from fairask import EmpiricalFairOracle
from fairask.design import disagreement_design, group_design
from fairask.report.figures import INK, group_color, style

STEPS = ("labels", "classifiers", "cells", "designs")
PURPLES = ["#5E4FA2", "#1F8A9E", "#882255", "#999933"]


@dataclass
class Round:
    """Everything that one round computes."""

    X: np.ndarray
    y: np.ndarray
    groups: np.ndarray
    labelled: np.ndarray
    models: list[EmpiricalFairOracle]
    answers: np.ndarray
    chance: dict[str, np.ndarray]
    drawn: dict[str, np.ndarray]


def one_round() -> Round:
    """Label 40 rows at random, then do what Algorithm 1 does."""
    rng = np.random.default_rng(3)
    groups = (rng.random(1500) < 0.12).astype(int)
    X = rng.normal(size=(1500, 2)) + 0.6 * groups[:, None]
    y = (np.where(groups == 1, X[:, 1], X[:, 0]) + 0.4 * rng.normal(size=1500) > 0).astype(int)
    labelled = rng.choice(1500, 40, replace=False)
    models = []
    for _ in range(4):
        flipped = np.where(rng.random(40) < 0.15, 1 - y[labelled], y[labelled])
        model = EmpiricalFairOracle(tolerance=0.1, randomized=False, random_state=0)
        models.append(model.fit(X[labelled], flipped, sensitive_features=groups[labelled]))
    answers = np.array([model.predict(X) for model in models])
    cells, cell, counts = np.unique(
        np.vstack([groups, answers]), axis=1, return_inverse=True, return_counts=True
    )
    cell = cell.ravel()
    chance = {
        "diff": disagreement_design(cells[1:], counts).per_row[cell],
        "fair": group_design(cells[0], counts)[cell],
    }
    drawn = {name: rng.choice(1500, 15, replace=False, p=p / p.sum()) for name, p in chance.items()}
    return Round(X, y, groups, labelled, models, answers, chance, drawn)


def _axes(n: int = 1) -> list[plt.Axes]:
    _, axes = plt.subplots(1, n, figsize=(7.4, 3.5), layout="constrained", squeeze=False)
    for ax in axes[0]:
        ax.set(xlim=(-3, 3.6), ylim=(-3, 3.6), xticks=[], yticks=[], aspect="equal")
        ax.grid(False)
    return list(axes[0])


def _note(ax: plt.Axes, line: int, text: str, color: str = INK) -> None:
    ax.annotate(text, (3.8, 3.2 - 0.5 * line), color=color, annotation_clip=False, fontsize=10, va="top")


def _labels(ax: plt.Axes, r: Round) -> None:
    for code, name in enumerate(("majority", "minority")):
        ax.scatter(
            *r.X[r.groups == code].T, s=7, color=group_color(code), alpha=0.35, rasterized=True, linewidths=0
        )
        _note(ax, code, name, group_color(code))
    for label, marker in ((1, "o"), (0, "s")):
        here = r.labelled[r.y[r.labelled] == label]
        ax.scatter(*r.X[here].T, s=50, marker=marker, facecolors="white", edgecolors=INK, linewidths=1.5)
    _note(ax, 3, "circle: label 1")
    _note(ax, 4, "square: label 0")
    ax.set_title("1. A pool, and the labels so far")


def _classifiers(ax: plt.Axes, r: Round) -> None:
    ax.scatter(*r.X.T, s=5, color="#808080", alpha=0.25, rasterized=True, linewidths=0)
    grid = np.linspace(-3, 3.6, 300)
    u, v = np.meshgrid(grid, grid)
    points = np.column_stack([u.ravel(), v.ravel()])
    for model, color in zip(r.models, PURPLES, strict=True):
        ax.contour(u, v, model.predict(points).reshape(u.shape), levels=[0.5], colors=[color], linewidths=2)
    ax.set_title("2. Four fair classifiers, some labels flipped")


def _cells(ax: plt.Axes, r: Round) -> None:
    yes = r.answers.sum(axis=0)
    agree = (yes == 0) | (yes == 4)
    _, code = np.unique(r.answers[:, ~agree], axis=1, return_inverse=True)
    ax.scatter(*r.X[agree].T, s=6, color="#BBBBBB", alpha=0.5, rasterized=True, linewidths=0)
    ax.scatter(*r.X[~agree].T, s=16, c=code.ravel(), cmap="Dark2", linewidths=0)
    _note(ax, 0, "grey: all four agree")
    _note(ax, 1, "one colour per pattern")
    ax.set_title("3. Rows with the same pattern of answers form a cell")


def _design(ax: plt.Axes, r: Round, name: str) -> None:
    ratio = r.chance[name] * len(r.X)
    order = np.argsort(ratio)
    size, points = 4 + 5 * np.sqrt(ratio[order]), r.X[order]
    ax.scatter(
        *points.T, s=size, rasterized=True, c=ratio[order], cmap="Purples", vmin=-1, vmax=4, linewidths=0
    )
    ax.scatter(*r.X[r.drawn[name]].T, s=50, facecolors="none", edgecolors=INK, linewidths=1.4)


def draw(step: str) -> None:
    """Draw one step: labels, classifiers, cells or designs."""
    r = one_round()
    with style():
        if step == "designs":
            left, right = _axes(2)
            _design(left, r, "diff")
            _design(right, r, "fair")
            left.set_title("4. λ_diff: tell the classifiers apart", fontsize=10.5)
            right.set_title("λ_fair: all groups alike", fontsize=10.5)
            return
        steps = {"labels": _labels, "classifiers": _classifiers, "cells": _cells}
        steps[step](_axes()[0], r)
