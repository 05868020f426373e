"""``fairask verify``: is a study whole, and is a certificate as it was issued and signed?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairask.cli._options import Json, say
from fairask.errors import UserError

if TYPE_CHECKING:
    from fairask.audit.verification import Check

EXAMPLE = """fairask verify loans.audit
fairask verify loans.audit loans.csv --key owner.pub
fairask verify --new-key owner"""


def verify(
    study: Annotated[
        str | None,
        typer.Argument(
            metavar="STUDY|CERTIFICATE",
            help="A study, certificate.json, a form, or the folder of an audit or of a signed export.",
        ),
    ] = None,
    model: Annotated[
        str | None, typer.Argument(help="With a certificate: model.skops of an export, or the table alone.")
    ] = None,
    pool: Annotated[str | None, typer.Argument(help="With a certificate: the table.")] = None,
    key: Annotated[
        str | None, typer.Option(metavar="FILE", help="The public key of who must have signed it.")
    ] = None,
    new: Annotated[
        Path | None,
        typer.Option("--new-key", metavar="FILE", help="Make a key instead: FILE, private, and FILE.pub."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Say whether a study is whole, or whether CERTIFICATE is about MODEL on POOL; exit 1 if not.

    Without a model: whether the certificate of an audit, and its watch, is as it was issued, and about the
    table named.
    """
    from fairask.audit.certificate import CERTIFICATE, SIGNED, STATE
    from fairask.audit.signature import fingerprint, new_key, read_public
    from fairask.audit.verification import check_issued
    from fairask.audit.watch_folder import check_watch
    from fairask.report.forms import check_form, is_form
    from fairask.tables.formats import SUFFIXES

    if new is not None:
        if study is not None or key is not None:
            raise UserError("--new-key makes a key, and verifies nothing", "Leave out the rest")
        public = new_key(new)
        name = fingerprint(read_public(str(public)))
        words = f"{new} signs: keep it to yourself. {public} is for those who verify: {name}"
        say(as_json, {"private": str(new), "public": str(public), "fingerprint": name}, words)
        return
    if study is None:
        raise UserError("what is to be verified?", "Name a study, a certificate or the folder of an audit")
    found: Check
    here = Path(study)
    issued = here.suffix == ".json" or (here / STATE).is_file() or (here / CERTIFICATE).is_file()
    issued = issued and not (here / SIGNED).is_file()
    table = model if model is not None and pool is None and Path(model).suffix.lower() in SUFFIXES else None
    if model is not None and table is None:
        if pool is None:
            raise UserError(
                "verify needs a study, or a certificate, a model and a pool", "Name the pool as well"
            )
        found = _by_studio(study, model, pool, key)
        words = f"The certificate {found}"
        wrong = "The certificate is NOT about this model on this pool:"
    elif issued and is_form(here):
        found = check_form(here, key)
        words, wrong = str(found), "The form is NOT as it was made:"
    elif issued:
        certificate = check_issued(study, table, key)
        watched = check_watch(here if here.is_dir() else here.parent)
        found = replace(certificate, problems=(*certificate.problems, *watched))
        words = f"The certificate {found}"
        wrong = (
            "The certificate is NOT as it was issued:" if table is None else "The certificate is NOT valid:"
        )
    else:
        found = _by_studio(study, None, None, key)
        words, wrong = str(found), "Not whole:"
    said = [words] if found.sound else [wrong, *found.problems]
    say(as_json, {**vars(found), "sound": found.sound}, said)
    if not found.sound:
        raise typer.Exit(1)


def _by_studio(place: str, model: str | None, pool: str | None, key: str | None) -> Check:
    """Check a study, or a certificate beside the model of a study: the studio knows both."""
    from fairask.cli._app import plugins

    if not plugins():
        from fairask.installation import GET_STUDIO

        raise UserError(
            f"{place} is not a certificate or the folder of an audit, and studies are checked by the studio",
            GET_STUDIO,
        )
    return plugins()[0].verify(place, model, pool, key)
