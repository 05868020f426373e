"""``fairask report``: forms that laws and examiners ask for, from the certificate of an audit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairask.cli._options import Json, say
from fairask.errors import UserError

EXAMPLE = """fairask report hired.audit --form nyc-ll144 --fact "tool=Ranker 2.1"
fairask report fair.audit --form lda --beside plain.audit"""


def report(
    audit: Annotated[str, typer.Argument(help="The folder of an audit that is over, or its certificate.")],
    form: Annotated[str, typer.Option(help="nyc-ll144, ugesp, eu-bias-profile or lda.")],
    beside: Annotated[
        list[str] | None,
        typer.Option(help="For lda: the audit of the plain model, then of other candidates."),
    ] = None,
    fact: Annotated[
        list[str] | None, typer.Option(help="What only you know, as NAME=TEXT; repeat it. Others stay open.")
    ] = None,
    sign: Annotated[Path | None, typer.Option(help="Sign with this private key.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="The page; the JSON file is beside it. Default FORM.html in the folder."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Fill in a form from AUDIT: a page to print, and JSON to process."""
    from fairask.audit.signature import OwnerKey
    from fairask.report.forms import FORMS, fill_form, write_form

    facts: dict[str, str] = {}
    for one in fact or []:
        name, equals, text = one.partition("=")
        if not equals or not text.strip():
            raise UserError(f"--fact {one!r} cannot be read", "Write --fact NAME=TEXT")
        facts[name.strip().replace("-", "_")] = text.strip()
    key = None if sign is None else OwnerKey.read(sign)
    document = fill_form(form, audit, beside=beside or (), facts=facts)
    place = Path(audit)
    folder = place if place.is_dir() else place.parent
    page = folder / f"{form}.html" if out is None else out
    if page.suffix != ".html" or not page.parent.is_dir():
        raise UserError(f"{page} cannot be the page", "Name an .html file in a folder that exists")
    files = write_form(document, page.with_suffix(""), key)
    named = {"files": [str(file) for file in files]}
    # Nothing is missing where no category is left out.
    open_facts = [
        f"{name} ({FORMS[form].facts[name]})"
        for name, said in document["facts"].items()
        if not said and name != "exclusion"
    ]
    words = [document["title"], *(str(file) for file in files), document["notice"]]
    if open_facts:
        words.insert(1, f"Left open, give them with --fact NAME=TEXT: {'; '.join(open_facts)}")
    say(as_json, {**document, **named}, words)
