"""``fairask study certify``: audit the model of a study, look by look."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from fairask.cli._options import Json, say
from fairask.errors import UserError
from fairask_studio.cli._study import StudyPlace, Who, me, open_study

if TYPE_CHECKING:
    from fairask_studio import Study

EXAMPLE = "fairask study certify loans --labels 200"


def certify(
    study: StudyPlace,
    labels: Annotated[
        int | None, typer.Option(help="Begin an audit of the last model with at most so many labels.")
    ] = None,
    plan: Annotated[
        bool, typer.Option("--plan", help="Say what budgets would buy, and begin nothing.")
    ] = False,
    end: Annotated[
        bool, typer.Option("--end", help="End the audit without a certificate; its labels may train then.")
    ] = False,
    who: Who = None,
    as_json: Json = False,
) -> None:
    """Audit a study's model: begin, see what the last look found, and issue the certificate.

    Exit codes: 0 certified, or an audit was begun or ended; 1 refuted; 3 undecided or labels awaited.
    """
    from fairask.audit import Certificate
    from fairask.audit.simulation import BUDGETS
    from fairask.cli.audit import EXIT_CODES

    if end + plan + (labels is not None) > 1:
        raise UserError("--labels, --plan and --end do different things", "Give one of them")
    with open_study(study) as opened:
        if plan:
            trained = opened.state().trained_to
            if trained is None:
                raise UserError("there is no model to audit yet", "Label a batch first")
            table = opened.learner(at=trained).plan_audit(BUDGETS)
            say(as_json, table.to_dict(), str(table))
            return
        if end:
            opened.end_audit(me(who))
            say(as_json, {"audit": None}, "The audit is over, without a certificate")
            return
        if labels is not None:
            opened.start_audit(labels, me(who))
        audit = opened.status()["audit"]
        if audit is not None and audit["done"]:
            document = opened.certify(me(who))
            said = str(Certificate.from_dict({**document, "model": 0}))
            say(as_json, {"certificate": document}, said)
            code = EXIT_CODES[document["verdict"]]
        else:
            say(as_json, {"audit": audit}, _progress(opened, study, audit))
            code = 0 if labels is not None else EXIT_CODES["undecided"]
    if code:
        raise typer.Exit(code)


def _progress(study: Study, place: str, audit: dict[str, Any] | None) -> str:
    """What the last complete look found, and what to do next."""
    if audit is None:
        last = study.state().certificates
        if not last:
            return f"No audit is under way. To begin one: fairask study certify {place} --labels 400"
        return f"No audit is under way. The last one ended {last[-1]['verdict']}"
    found = audit["found"]
    lines = [] if found is None else [found["headline"]]
    lines.append(
        f"Look {audit['look']} of at most {audit['looks']}: {audit['labels']} of {audit['size']} labels"
    )
    return "\n".join([*lines, f"Next: fairask ask {place}, fairask tell, then fairask study certify {place}"])
