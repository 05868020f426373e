"""``fairask verify``: is a study whole, or is a certificate about this model?"""

from __future__ import annotations

from typing import Annotated

import typer

from fairask.cli._options import Json
from fairask.cli._study import say

__all__ = ["register", "verify"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("verify")(verify)


def verify(
    certificate: Annotated[str, typer.Argument(help="The certificate.json of an export or an audit.")],
    model: Annotated[str, typer.Argument(help="The model.skops of an export.")],
    pool: Annotated[str, typer.Argument(help="The table.")],
    as_json: Json = False,
) -> None:
    """Say whether a certificate is about a model: compute its decisions again; exit 1 if it is not."""
    from fairask.study.verifying import check_certificate

    found = check_certificate(certificate, model, pool)
    words = f"The certificate ({found.verdict}) is about this model: {found.model}"
    if not found.sound:
        words = "\n".join(["The certificate is NOT about this model on this pool:", *found.problems])
    say(as_json, {**vars(found), "sound": found.sound}, words)
    if not found.sound:
        raise typer.Exit(1)
