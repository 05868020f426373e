"""The library's default, with passive sampling, and blind to the group: one setting for all tables."""

from typing import Any

from paper.methods.method import PaperMethod

_EXPLORE = {"perturbation": "bootstrap", "diff_share": "adaptive"}
_DEFAULT: dict[str, Any] = {
    "margin": None,
    "risk_weights": "none",
    "calibrated": {"level": 0.95},
    "model": "forest",
}

METHODS = [
    PaperMethod("default", "Default", "fare", _EXPLORE, batch=25, **_DEFAULT),
    PaperMethod("default-passive", "Default, passive", "passive", **_DEFAULT),
    PaperMethod(
        "default-blind",
        "Default, blind",
        "fare",
        _EXPLORE,
        batch=25,
        blind=True,
        **(_DEFAULT | {"calibrated": {"level": 0.95, "blind": True}}),
    ),
]
