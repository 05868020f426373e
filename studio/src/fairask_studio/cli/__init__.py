"""The studio's commands, which join ``fairask`` by the entry point ``fairask.commands``.

One file per command; heavy imports wait until a command runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import typer

    from fairask.audit.certificate import CertificateCheck
    from fairask_studio.integrity import StudyCheck

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
#: The commands of ``fairask study``.
STUDY = (
    *("fit", "certify", "stop", "correct", "skip", "reasons", "flags", "gold", "reopen", "people", "limits"),
    "backup",
)


def register(app: typer.Typer) -> None:
    """Add all commands to the command line."""
    from fairask.cli._help import HelpfulApp, add_command

    for name in SECTIONS["Studies: rows are chosen, and people label them"]:
        if name == "connect":
            import_module("fairask_studio.cli.connect").register(app)
        elif name == "study":
            group = HelpfulApp(no_args_is_help=True, rich_markup_mode=None, pretty_exceptions_enable=False)
            for part in STUDY:
                add_command(group, import_module(f"fairask_studio.cli.{part}"), part)
            app.add_typer(group, name="study", help="Labels, people and safety of a study.")
        else:
            add_command(app, import_module(f"fairask_studio.cli.{name}"), name)


def verify(place: str, model: str | None, pool: str | None) -> StudyCheck | CertificateCheck:
    """Check a study, or a certificate against the exported model that it is about."""
    from fairask_studio.cli._study import without_password
    from fairask_studio.integrity import check_certificate
    from fairask_studio.integrity import verify as check_study

    if model is not None and pool is not None:
        return check_certificate(Path(place), Path(model), Path(pool))
    without_password(place)
    return check_study(place)
