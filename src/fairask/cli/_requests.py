"""What a comparison is asked for, and the command that asks for the same again."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field, fields

__all__ = ["DemoRequest", "SimulateRequest", "command_of"]


@dataclass(frozen=True)
class DemoRequest:
    """The options of ``fairask demo`` that determine its results."""

    dataset: str
    metric: str
    trials: int
    budget: int
    batch: int
    audit_labels: int
    seed: int
    profile: str


@dataclass(frozen=True)
class SimulateRequest:
    """The options of ``fairask simulate`` that determine its results."""

    table: str = field(metadata={"argument": True})
    label: str
    protected: Sequence[str]
    positive: Sequence[str]
    drop: Sequence[str]
    text: Sequence[str]
    text_model: str | None
    strategy: Sequence[str]
    profile: str
    metric: str
    tolerance: float
    budget: int | None
    batch: int | None
    audit_share: float
    stop: str | None
    trials: int
    seed: int
    encoding: str | None
    delimiter: str | None
    decimal: str | None
    thousands: str | None
    sheet: str | None
    vectors: str | None
    use_protected: bool = field(metadata={"no": "--exclude-protected"})
    stream: bool | None = field(metadata={"no": "--no-stream"})
    device: str | None = None


def command_of(command: str, request: DemoRequest | SimulateRequest) -> str:
    """Return the command line of a request.

    Examples
    --------
    >>> print(command_of("demo", DemoRequest("german", "dp", 2, 100, 50, 0, 7, "paper")))
    fairask demo --dataset german --metric dp --trials 2 --budget 100 --batch 50 --audit-labels 0 --seed 7
    --profile paper
    """
    words = ["fairask", command]
    for option in fields(request):
        value = vars(request)[option.name]
        name = "--" + option.name.replace("_", "-")
        if option.metadata.get("argument"):
            words.append(value)
        elif isinstance(value, bool):
            words.append(name if value else option.metadata["no"])
        elif isinstance(value, float):
            words += [name, f"{value:g}"]
        elif isinstance(value, str | int):
            words += [name, str(value)]
        else:  # several values, or none
            words += [word for one in value or () for word in (name, one)]
    return shlex.join(words)
