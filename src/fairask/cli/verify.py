"""``fairask verify``: is a study whole, or is a certificate about this model?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairask.cli._options import Json
from fairask.cli._study import say, without_password
from fairask.errors import UserError

if TYPE_CHECKING:
    from fairask.study.verifying import CertificateCheck
    from fairask.study.whole import StudyCheck

EXAMPLE = "fairask verify loans"


def verify(
    study: Annotated[
        str,
        typer.Argument(
            metavar="STUDY|CERTIFICATE",
            help="A study, certificate.json, or the folder of an audit.",
            callback=without_password,
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
    from fairask.certify.audit.folder import STATE
    from fairask.data.read import SUFFIXES
    from fairask.study.verifying import check_certificate, check_issued
    from fairask.study.whole import verify as check_study

    found: StudyCheck | CertificateCheck
    issued = Path(study).suffix == ".json" or (Path(study) / STATE).is_file()
    table = model if model is not None and pool is None and Path(model).suffix.lower() in SUFFIXES else None
    if model is not None and table is None:
        if pool is None:
            raise UserError(
                "verify needs a study, or a certificate, a model and a pool", "Name the pool as well"
            )
        found = check_certificate(study, model, pool)
        words = f"The certificate ({found.verdict}) is about this model: {found.model}"
        wrong = "The certificate is NOT about this model on this pool:"
    elif issued:
        found = check_issued(study, table)
        words = f"The certificate ({found.verdict}) is as it was issued: {found.model}"
        wrong = (
            "The certificate is NOT as it was issued:" if table is None else "The certificate is NOT valid:"
        )
    else:
        found = check_study(study)
        words = f"Whole: {found.events:,} events; the last one has hash {found.hash}"
        wrong = "Not whole:"
    said = words if found.sound else "\n".join([wrong, *found.problems])
    say(as_json, {**vars(found), "sound": found.sound}, said)
    if not found.sound:
        raise typer.Exit(1)
