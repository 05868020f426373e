"""The studio's commands, which join ``fairask`` by the entry point ``fairask.commands``.

One file per command or group; heavy imports wait until a command runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import typer

    from fairask.audit.verification import Check

#: The sections of ``fairask --help``: names of commands and what they do.
SECTIONS: Mapping[str, Mapping[str, str]] = {
    "Studies: rows are chosen, and people label them": {
        "new": "Make a study of a table of unlabelled rows.",
        "ask": "Choose the rows to label next and write them to a sheet.",
        "tell": "Read the labels of a sheet back.",
        "status": "Say where a study stands.",
        "export": "Write the model, the labels, the event log and a report.",
        "studio": "Serve the page where people label and owners watch.",
        "connect": "Label in Label Studio, or in any tool that speaks HTTP.",
        "study": "Everything else: fit, certify, correct, people, backup, ...",
    },
}


def register(app: typer.Typer) -> None:
    """Add all commands to the command line."""
    from fairask.cli._command import add_command

    for name in next(iter(SECTIONS.values())):
        module = import_module(f"fairask_studio.cli.{name}")
        if name in ("connect", "study"):  # groups
            module.register(app)
        else:
            add_command(app, module, name)


def verify(place: str, model: str | None, pool: str | None, key: str | None) -> Check:
    """Check a study, a signed export, or a certificate against the exported model that it is about."""
    from fairask.audit.certificate import SIGNED
    from fairask.errors import UserError
    from fairask_studio.cli.options import without_password
    from fairask_studio.integrity import check_signed, verify_certificate
    from fairask_studio.integrity import verify as check_study

    without_password(place)

    if model is not None and pool is not None:
        return verify_certificate(Path(place), Path(model), Path(pool), key)
    if (Path(place) / SIGNED).is_file():
        return check_signed(Path(place), key)
    if key is not None:
        raise UserError(
            f"{place} is not signed: what is signed of a study is its export",
            "fairask export STUDY --out FOLDER --sign KEY, then fairask verify FOLDER --key KEY.pub",
        )
    return check_study(place)
