"""``fairask verify``: is a study whole, or is a certificate about this model?"""

from __future__ import annotations

from typing import Annotated

import typer

from fairask.cli._options import Json
from fairask.cli._study import say, without_password
from fairask.errors import UserError

__all__ = ["register", "verify"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("verify", epilog="Example: fairask verify loans")(verify)


def verify(
    study: Annotated[
        str,
        typer.Argument(
            metavar="STUDY|CERTIFICATE", help="A study, or certificate.json.", callback=without_password
        ),
    ],
    model: Annotated[str | None, typer.Argument(help="With a certificate: model.skops of an export.")] = None,
    pool: Annotated[str | None, typer.Argument(help="With a certificate: the table.")] = None,
    as_json: Json = False,
) -> None:
    """Say whether a study is whole, or whether CERTIFICATE is about MODEL on POOL; exit 1 if not."""
    if model is None:
        _verify_study(study, as_json)
        return
    if pool is None:
        raise UserError("verify needs a study, or a certificate, a model and a pool", "Name the pool as well")
    from fairask.study.verifying import check_certificate

    found = check_certificate(study, model, pool)
    words = f"The certificate ({found.verdict}) is about this model: {found.model}"
    if not found.sound:
        words = "\n".join(["The certificate is NOT about this model on this pool:", *found.problems])
    say(as_json, {**vars(found), "sound": found.sound}, words)
    if not found.sound:
        raise typer.Exit(1)


def _verify_study(study: str, as_json: bool) -> None:
    from fairask.study.whole import verify as check

    found = check(study)
    words = f"Whole: {found.events:,} events; the last one has hash {found.hash}"
    if not found.sound:
        words = "\n".join(["Not whole:", *found.problems])
    say(as_json, {**vars(found), "sound": found.sound}, words)
    if not found.sound:
        raise typer.Exit(1)
