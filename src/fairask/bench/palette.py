"""Okabe and Ito's colours, one for each method; told apart with any colour vision."""

from __future__ import annotations

__all__ = ["COLOURS", "GROUPS"]

COLOURS: dict[str, str] = {
    "blue": "#0072B2",
    "vermillion": "#D55E00",
    "sky": "#56B4E9",
    "green": "#009E73",
    "orange": "#E69F00",
    "purple": "#CC79A7",
    "yellow": "#B3A400",  # their yellow, darkened: a line of the original is invisible on white
    "grey": "#555555",
    "brown": "#8C564B",  # not theirs: for a ninth method
}

#: Groups of people never have a method's colour.
GROUPS = ("#222222", "#B8B8B8")
