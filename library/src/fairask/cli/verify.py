"""``fairask verify``: is a study whole, or is a certificate about this model?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairask.cli._options import Json, say
from fairask.errors import UserError

if TYPE_CHECKING:
    from fairask.cli._app import Check

EXAMPLE = "fairask verify loans"


def verify(
    study: Annotated[
        str,
        typer.Argument(
            metavar="STUDY|CERTIFICATE",
            help="A study, certificate.json, or the folder of an audit.",
        ),
    ],
    model: Annotated[
        str | None, typer.Argument(help="With a certificate: model.skops of an export, or the table alone.")
    ] = None,
    pool: Annotated[str | None, typer.Argument(help="With a certificate: the table.")] = None,
    as_json: Json = False,
) -> None:
    """Say whether a study is whole, or whether CERTIFICATE is about MODEL on POOL; exit 1 if not.

    Without a model: whether the certificate of an audit is as it was issued, and about the table named.
    """
    from fairask.audit.certificate import STATE
    from fairask.audit.folder import check_audit
    from fairask.tables.formats import SUFFIXES

    found: Check
    issued = Path(study).suffix == ".json" or (Path(study) / STATE).is_file()
    table = model if model is not None and pool is None and Path(model).suffix.lower() in SUFFIXES else None
    if model is not None and table is None:
        if pool is None:
            raise UserError(
                "verify needs a study, or a certificate, a model and a pool", "Name the pool as well"
            )
        found = _by_studio(study, model, pool)
        words = f"The certificate {found}"
        wrong = "The certificate is NOT about this model on this pool:"
    elif issued:
        found = check_audit(study, table)
        words = f"The certificate {found}"
        wrong = (
            "The certificate is NOT as it was issued:" if table is None else "The certificate is NOT valid:"
        )
    else:
        found = _by_studio(study, None, None)
        words, wrong = str(found), "Not whole:"
    said = words if found.sound else "\n".join([wrong, *found.problems])
    say(as_json, {**vars(found), "sound": found.sound}, said)
    if not found.sound:
        raise typer.Exit(1)


def _by_studio(place: str, model: str | None, pool: str | None) -> Check:
    """Check a study, or a certificate beside the model of a study: the studio knows both."""
    from fairask.cli._app import plugins

    if not plugins():
        raise UserError(
            f"{place} is not a certificate or the folder of an audit, and studies are checked by the studio",
            "pip install fairask-studio",
        )
    return plugins()[0].verify(place, model, pool)
