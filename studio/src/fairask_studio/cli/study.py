"""``fairask study``: labels, models, people and safety of a study."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fairask.cli._command import HelpfulApp
from fairask.cli._options import Json, say
from fairask.errors import UserError
from fairask_studio.cli.options import NewPlace, StudyPlace, Who, fitted_news, me, open_study, refit_after

if TYPE_CHECKING:
    from fairask_studio import Study
    from fairask_studio.store.store import Store


def fit(study: StudyPlace, who: Who = None, as_json: Json = False) -> None:
    """Fit a model on all labels now; a certified model is no longer kept."""
    with open_study(study) as opened:
        news, lines = fitted_news(opened, opened.refit(asked_by=me(who)))
    words = "\n".join(lines) or "No labels to fit on yet, or another process has just fitted"
    say(as_json, news, words)


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
            say(as_json, {"audit": audit}, _audit_progress(opened, study, audit))
            code = 0 if labels is not None else EXIT_CODES["undecided"]
    if code:
        raise typer.Exit(code)


def _audit_progress(study: Study, place: str, audit: dict[str, Any] | None) -> str:
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


def stop(
    study: StudyPlace,
    rule: Annotated[str, typer.Argument(help="plateau, plateau:ROUNDS, plateau:ROUNDS:BY, or none.")],
    who: Who = None,
    as_json: Json = False,
) -> None:
    """Change the rule that ends a study before its budget is spent."""
    with open_study(study) as opened:
        opened.change(stop="" if rule == "none" else rule, who=me(who))
        reason = opened.state().stop_reason
    say(as_json, {"reason": reason}, f"The study stops now: {reason}" if reason else "The study goes on")


def correct(
    study: StudyPlace,
    row: Annotated[int, typer.Argument(help="Row number.")],
    label: Annotated[str, typer.Argument(help="The right label.")],
    who: Who = None,
    as_json: Json = False,
) -> None:
    """Replace the label of a row."""
    with open_study(study) as opened:
        opened.correct(row, label, me(who))
        audit = opened.status()["audit"]
        if audit is None:
            refit_after(opened, force=True)
    # Labels of an audit must not train; its last look is computed again.
    found = None if audit is None else audit["found"]
    words = [f"Row {row} is {label}", *([] if found is None else [found["headline"]])]
    say(as_json, {"row": row, "label": label, "audit": audit}, "\n".join(words))


def skip(
    study: StudyPlace,
    rows: Annotated[list[int], typer.Argument(help="Row numbers.")],
    reason: Annotated[
        str, typer.Option(help="Why: one of the study's reasons (fairask study reasons) or your own words.")
    ] = "",
    who: Who = None,
    as_json: Json = False,
) -> None:
    """Set aside rows that cannot be labelled."""
    with open_study(study) as opened:
        opened.skip(rows, me(who), reason=reason)
    say(as_json, {"skipped": rows, "reason": reason}, f"{len(rows)} rows skipped")


def reasons(
    study: StudyPlace,
    chosen: Annotated[
        list[str] | None, typer.Option("--set", help="A reason to choose from; repeat it for more.")
    ] = None,
    none: Annotated[bool, typer.Option("--none", help="Do not ask for reasons.")] = False,
    who: Who = None,
    as_json: Json = False,
) -> None:
    """Count skipped rows by their reason, or set the reasons that annotators choose from."""
    if chosen and none:
        raise UserError("--set and --none exclude each other", "Leave out one of them")
    with open_study(study) as opened:
        if chosen or none:
            opened.change(skip_reasons=chosen or [], who=me(who))
        known, counted = list(opened.config.skip_reasons), opened.status()["skip_reasons"]
    lines = [f"Annotators choose from: {', '.join(known)}" if known else "Annotators are not asked why."]
    lines += [f"{found['skips']:>6}  {found['reason'] or 'no reason given'}" for found in counted]
    say(as_json, {"reasons": known, "skips": counted}, lines)


def flags(
    study: StudyPlace,
    row: Annotated[int | None, typer.Option(help="Ask about this row.")] = None,
    answer: Annotated[int | None, typer.Option(help="Answer the flag of this number.")] = None,
    text: Annotated[str, typer.Option(help="The question, or the answer.")] = "",
    resolve: Annotated[bool, typer.Option("--resolve", help="The answer resolves the flag.")] = False,
    every: Annotated[bool, typer.Option("--all", help="List resolved flags, too.")] = False,
    who: Who = None,
    as_json: Json = False,
) -> None:
    """List what people ask about rows, ask, answer or resolve."""
    if row is not None and answer is not None:
        raise UserError("--row asks and --answer answers", "Leave out one of them")
    if row is None and answer is None and (text or resolve):
        raise UserError("which flag?", "Name it: --answer NUMBER; fairask study flags STUDY lists them")
    with open_study(study) as opened:
        if row is not None:
            found = [opened.flag(row, text, me(who))]
        elif answer is not None:
            found = [opened.answer_flag(answer, text, me(who), resolve=resolve)]
        else:
            found = [flag for flag in opened.state().flags.known.values() if flag.open or every]
    lines = []
    for flag in found:
        lines.append(
            f"{flag.id}\trow {flag.row}\t{'open' if flag.open else f'resolved by {flag.resolved_by}'}"
        )
        lines += [f"\t{said.who}: {said.text}" for said in flag.comments]
    say(as_json, {"flags": [flag.to_dict() for flag in found]}, lines or "No open flags")


def gold(
    study: StudyPlace,
    file: Annotated[
        Path | None,
        typer.Argument(help="CSV or Parquet with columns row, gold and, if wanted, use, explanation."),
    ] = None,
    mark: Annotated[int | None, typer.Option(help="Mark this row.")] = None,
    label: Annotated[str, typer.Option(help="Its answer.")] = "",
    use: Annotated[str, typer.Option(help="example, practice or gold.")] = "gold",
    why: Annotated[str, typer.Option(help="Why the answer is right.")] = "",
    remove: Annotated[list[int] | None, typer.Option(help="Unmark this row; repeat it for more.")] = None,
    unchecked: Annotated[
        bool, typer.Option("--unchecked", help="Take the file by row number alone, without comparing rows.")
    ] = False,
    who: Who = None,
    as_json: Json = False,
) -> None:
    """Mark rows whose answer is known, list them, and say how often each person is right on gold rows."""
    from fairask_studio.files import read_known
    from fairask_studio.gold import KnownRow, gold_figures

    if sum(given is not None for given in (file, mark, remove)) > 1:
        raise UserError("a file, --mark and --remove exclude each other", "Do one after the other")
    if mark is None and (label or why):
        raise UserError("which row?", "Name it: --mark ROW")
    with open_study(study) as opened:
        if file is not None:
            opened.mark_known(read_known(opened, file, unchecked=unchecked), me(who))
        elif mark is not None:
            opened.mark_known([KnownRow(mark, opened.config.class_code(label, mark), use, why)], me(who))
        elif remove is not None:
            opened.unmark_known(remove, me(who))
        state, classes = opened.state(), opened.config.classes
        rows = [{**vars(known), "label": classes[known.label]} for known in state.known.rows.values()]
        people = {name: gold_figures(state, name) for name in sorted(state.known.answers)}
    lines = [f"{one['row']}\t{one['use']}\t{one['label']}\t{one['why']}" for one in rows]
    for name, found in people.items():
        if found is not None and found["asked"]:
            limits = f"{found['low']:.0%} to {found['high']:.0%}"
            below = ": fewer than asked for" if found["below"] else ""
            lines.append(
                f"{name} was right on {found['right']} of {found['asked']} gold rows ({limits}){below}"
            )
    say(as_json, {"rows": rows, "people": people}, lines or "No row has a known answer")


def reopen(
    study: StudyPlace,
    skipped: Annotated[bool, typer.Option("--skipped", help="Skipped rows only.")] = False,
    by: Annotated[str | None, typer.Option(help="Answers of this person only.")] = None,
    since: Annotated[str | None, typer.Option(help="From this time on, UTC: 2026-11-15 14:30.")] = None,
    until: Annotated[str | None, typer.Option(help="Before this time, UTC.")] = None,
    look: Annotated[bool, typer.Option("--look", help="Count only; change nothing.")] = False,
    undo: Annotated[int | None, typer.Option(help="Give back what this event took away.")] = None,
    who: Who = None,
    as_json: Json = False,
) -> None:
    """Take answers away and ask for their rows again; rows that an owner decided stay as they are."""
    if undo is not None and (skipped or by or since or until or look):
        raise UserError("--undo gives back a whole event", "Leave out the other options")
    with open_study(study) as opened:
        if undo is not None:
            back = opened.restore(undo, me(who))
            words = f"{back.answers} answers given back; {back.taken} not, since others have answered"
            say(as_json, asdict(back), words)
            return
        found = opened.reopen(by, since=since, until=until, skips=skipped, who=me(who), look=look)
    words = f"{found.answers} answers, {found.labels} of them labels"
    words = f"{words}, would be reopened" if look else f"{words}, reopened"
    if found.event is not None:
        words += f". To give them back: fairask study reopen {study} --undo {found.event}"
    say(as_json, asdict(found), words)


def people(
    study: StudyPlace,
    add: Annotated[str | None, typer.Option(help="Add a person.")] = None,
    renew: Annotated[
        str | None, typer.Option(help="Give a person a new token and this role; the old token ends.")
    ] = None,
    role: Annotated[str | None, typer.Option(help="annotator (the default), reviewer or owner.")] = None,
    remove: Annotated[
        str | None, typer.Option(help="Remove a person or a program; their labels stay.")
    ] = None,
    program: Annotated[str | None, typer.Option(help="Give a program a token of its own.")] = None,
    until: Annotated[
        datetime | None,
        typer.Option(formats=["%Y-%m-%d"], help="Last day of the program's token; default 90 days from now."),
    ] = None,
    invite: Annotated[
        str | None, typer.Option(help="Make a link that signs a person in once; they are added if new.")
    ] = None,
    hours: Annotated[float, typer.Option(min=0.1, max=720, help="How long the link can be used.")] = 72.0,
    address: Annotated[
        str, typer.Option(help="The studio's address, for the link: https://studio.example.org.")
    ] = "",
    as_json: Json = False,
) -> None:
    """List, add or remove the people who may sign in to the studio, and the programs that may use its API.

    For a folder of studies, or postgresql://HOST: the people of the home page, who own all of its studies.
    """
    from fairask_studio.events import AccessNoted, end_of_day, now
    from fairask_studio.store.people import TOKEN_SECONDS

    makes = add is not None or invite is not None or program is not None
    with _opened_people(study, role, make=makes) as (opened, role):
        chosen = add or renew
        if chosen is not None:
            token = opened.people.add(chosen, role, renew=add is None)
            opened.append("owner", AccessNoted("gave a token to", chosen))
            days = int(TOKEN_SECONDS // 86400)
            words = f"{chosen} ({role}) signs in with this token for {days} days, shown only now:\n{token}"
            say(as_json, {"person": chosen, "role": role, "token": token, "days": days}, words)
        elif program is not None:
            ends = datetime.now(UTC) + timedelta(seconds=TOKEN_SECONDS) if until is None else until
            token = opened.people.add_program(program, role, end_of_day(ends.date()))
            opened.append("owner", AccessNoted("gave a token to the program", program))
            day = f"{ends:%Y-%m-%d}"
            words = f"{program} ({role}) uses the API with this token until {day}, shown only now:\n{token}"
            say(as_json, {"program": program, "role": role, "token": token, "until": day}, words)
        elif invite is not None:
            if invite not in {person.name for person in opened.people.all()}:
                opened.people.add(invite, role)
            code = opened.people.invite(invite, 3600 * hours)
            opened.append("owner", AccessNoted("invited", invite))
            link = f"{address.rstrip('/')}/?code={code}"
            words = f"{invite} signs in once, within {hours:g} hours, by this link, shown only now:\n{link}"
            say(as_json, {"person": invite, "link": link, "hours": hours}, words)
        elif remove is not None:
            opened.people.remove(remove)
            opened.append("owner", AccessNoted("removed", remove))
            say(as_json, {"removed": remove}, f"{remove} can no longer sign in")
        else:
            persons, programs = opened.people.all(), opened.people.programs()
            lines = [f"{person.name}\t{person.role}\tsince {person.since}" for person in persons]
            for known in programs:
                ended = "ended" if known.until <= now() else "until"
                lines.append(f"{known.name}\tprogram, {known.role}\t{ended} {known.until[:10]}")
            data: dict[str, object] = {
                "people": [{"name": p.name, "role": p.role, "since": p.since} for p in persons],
                "programs": [{"name": p.name, "role": p.role, "until": p.until} for p in programs],
            }
            say(as_json, data, lines or "Nobody yet: --add NAME")


@contextmanager
def _opened_people(place: str, role: str | None, *, make: bool) -> Iterator[tuple[Store, str]]:
    """Open the store of a study, or of the home page of several; yield it and the role, or the usual one."""
    from fairask_studio import StudyError
    from fairask_studio.store.postgres import is_server
    from fairask_studio.store.store import Store

    if not is_server(place) and (not Path(place).is_dir() or (Path(place) / "study.db").exists()):
        store, usual = Store.open(place), "annotator"
    else:
        from fairask_studio.pages.shelf import shelf_of

        usual = "owner"
        if role not in (None, usual):
            raise StudyError(
                f"{place!r} holds several studies, and its people own them all", "Leave out --role"
            )
        shelf = shelf_of(place)
        found = shelf.people(make=make)
        shelf.close()
        if found is None:
            raise StudyError(f"no study in {place!r}, and no people of a home page", "Add one: --add NAME")
        store = found
    try:
        yield store, role or usual
    finally:
        store.close()


def limits(
    study: StudyPlace,
    skips: Annotated[int | None, typer.Option(help="Rows that one person may skip; 0: any.")] = None,
    per_minute: Annotated[int | None, typer.Option(help="Answers of one person in a minute; 0: any.")] = None,
    gold_every: Annotated[
        int | None, typer.Option(help="Of so many answers of a person one is to a gold row; 0: none.")
    ] = None,
    gold_least: Annotated[
        int | None,
        typer.Option(help="Warn when a person is right on fewer gold rows, in per cent; 0: never."),
    ] = None,
    who: Who = None,
    as_json: Json = False,
) -> None:
    """Show or change the limits on each person in the studio; owners see a warning when one is reached."""
    with open_study(study) as opened:
        if any(limit is not None for limit in (skips, per_minute, gold_every, gold_least)):
            opened.change(
                most_skips=skips,
                most_per_minute=per_minute,
                gold_every=gold_every,
                gold_least=gold_least,
                who=me(who),
            )
        config = opened.config
    names = ("most_skips", "most_per_minute", "gold_every", "gold_least")
    shown = [str(most or "any number of") for most in (config.most_skips, config.most_per_minute)]
    gold = f"one gold row in {config.gold_every} answers" if config.gold_every else "no gold rows"
    gold += (
        f", a warning below {config.gold_least} % right" if config.gold_least and config.gold_every else ""
    )
    words = f"Each person: {shown[0]} skipped rows, {shown[1]} answers in a minute, {gold}"
    say(as_json, {name: vars(config)[name] for name in names}, words)


def watch(
    study: StudyPlace,
    table: Annotated[str | None, typer.Argument(help="New rows, with the columns of the pool.")] = None,
    month: Annotated[str | None, typer.Option(help="The month of the new rows: 2026-03.")] = None,
    tell: Annotated[Path | None, typer.Option(help="A sheet that was filled in.")] = None,
    known: Annotated[
        str | None,
        typer.Option(help="A column of outcomes, empty where there is none: only these are asked."),
    ] = None,
    labels: Annotated[int | None, typer.Option(help="Labels from this month on; default 200.")] = None,
    who: Who = None,
    as_json: Json = False,
) -> None:
    """Follow a certified model: let it decide on a month's rows, and label some of them.

    Exit codes: 0 still certified; 1 refuted; 3 it cannot be told, or labels are awaited.
    """
    from fairask.cli.audit import EXIT_CODES
    from fairask_studio.watch import add_month, tell_month

    if (table is None) != (month is None) or (table is None) == (tell is None):
        raise UserError(
            "give a month's table with --month, or a sheet with --tell",
            "fairask study watch STUDY TABLE --month 2026-03",
        )
    sheet = Path(f"watch-{month}.csv")
    with open_study(study) as opened:
        try:
            if table is not None and month is not None:
                found = add_month(opened, table, month, sheet, known=known, labels=labels, who=me(who))
            else:
                assert tell is not None
                found = tell_month(opened, tell, who=me(who))
        except UserError:
            raise
        except ValueError as error:
            raise UserError(f"--{error}", "See fairask study watch --help") from error
    lines = [found["headline"], found["details"], *found["shift"]]
    if found["awaited"]:
        lines.append(
            f"{found['awaited']:,} rows wait for a label: fill in {sheet if table else tell}, then\n"
            f"fairask study watch {study} --tell {sheet if table else tell}"
        )
    say(as_json, found, "\n".join(lines))
    code = EXIT_CODES[found["verdict"]]
    if code or found["awaited"]:
        raise typer.Exit(code or EXIT_CODES["undecided"])


def backup(study: StudyPlace, to: NewPlace, as_json: Json = False) -> None:
    """Copy a study while people work on it; a backup is a study, and restoring is the same command."""
    from fairask_studio.integrity import backup as write

    events = write(study, to)
    say(as_json, {"events": events, "to": to}, [f"{events:,} events copied to {to}, and verified"])


#: The commands of the group, each with an example.
COMMANDS: dict[Callable[..., None], str] = {
    fit: "fairask study fit loans",
    certify: "fairask study certify loans --labels 200",
    watch: "fairask study watch loans march.csv --month 2026-03",
    stop: "fairask study stop loans plateau",
    correct: "fairask study correct loans 17 good",
    skip: "fairask study skip loans 17 18 --reason 'wrong language'",
    reasons: "fairask study reasons loans --set unclear --set 'wrong language'",
    flags: "fairask study flags loans --answer 41 --text 'Treat it as good' --resolve",
    gold: "fairask study gold loans gold.csv",
    reopen: "fairask study reopen loans --by bob --since 2026-11-15 --look",
    people: "fairask study people loans --add ada",
    limits: "fairask study limits loans --skips 20 --per-minute 30",
    backup: "fairask study backup loans --to loans-monday",
}


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = HelpfulApp(no_args_is_help=True, rich_markup_mode=None, pretty_exceptions_enable=False)
    for command, example in COMMANDS.items():
        group.command(command.__name__, epilog=f"Example: {example}")(command)
    app.add_typer(group, name="study", help="Labels, people and safety of a study.")
