"""``fairask connect``: label where people already label."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Annotated

import typer

from fairask.cli._help import HelpfulApp
from fairask.cli._options import Json
from fairask.cli._study import StudyPlace, Who, me, open_study, say
from fairask.errors import UserError

if TYPE_CHECKING:
    from fairask.connect import Tool
    from fairask.study import Study

__all__ = ["labelstudio", "links", "register", "webhook"]

_Name = Annotated[str, typer.Option("--name", help="The link's name, if a study has several.")]
_Protected = Annotated[
    bool, typer.Option("--send-protected", help="Send the protected columns too; they never are otherwise.")
]
_Seconds = Annotated[float, typer.Option(min=0.05, max=3600, help="Pause between two looks at the tool.")]
_Once = Annotated[bool, typer.Option("--once", help="Send and take what there is, then end.")]
_Train = Annotated[
    bool, typer.Option("--train/--no-train", help="Draw and fit here too, or leave it to a running studio.")
]
_Audit = Annotated[
    int,
    typer.Option(min=0, help="When the budget is labelled: audit with at most so many labels, certify, end."),
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = HelpfulApp(
        help="Label where people already label: Label Studio, or anything that speaks HTTP.",
        no_args_is_help=True,
        rich_markup_mode=None,
    )
    group.command(
        "labelstudio",
        epilog="Example: fairask connect labelstudio https://labels.example.org loans --project Loans",
    )(labelstudio)
    group.command("webhook", epilog="Example: fairask connect webhook https://example.org/rows loans")(
        webhook
    )
    group.command("list", epilog="Example: fairask connect list loans")(links)
    app.add_typer(group, name="connect")


def _secret(variable: str, what: str) -> str:
    """Return a secret from the environment: the command line can be read by everybody on the machine."""
    found = os.environ.get(variable, "")
    if not found:
        raise UserError(f"the variable {variable} is empty", f"Put {what} into it: export {variable}=...")
    return found


def labelstudio(
    url: Annotated[str, typer.Argument(help="Label Studio's address.")],
    study: StudyPlace,
    project: Annotated[
        str, typer.Option(help="The project: its number, or a title; made if it is not there.")
    ],
    token_env: Annotated[
        str, typer.Option(help="Variable of the environment with an access token of Label Studio.")
    ] = "LABEL_STUDIO_API_KEY",
    studio: Annotated[
        str, typer.Option(help="The studio's address, as Label Studio reaches it: annotations come at once.")
    ] = "",
    predictions: Annotated[
        bool, typer.Option("--predictions", help="Send the model's predictions along. They sway people.")
    ] = False,
    send_protected: _Protected = False,
    name: _Name = "labelstudio",
    seconds: _Seconds = 5.0,
    once: _Once = False,
    train: _Train = True,
    audit: _Audit = 0,
    who: Who = None,
) -> None:
    """Make drawn rows tasks of a project of Label Studio, and take its annotations."""
    from dataclasses import replace

    from fairask.connect import Link, ensure_link
    from fairask.connect.labelstudio import LabelStudioTool, connect_project, open_client, webhook_token
    from fairask.connect.labelstudio import register_webhook as tell_studio

    token = _secret(token_env, "an access token of Label Studio")
    studio = studio.rstrip("/")
    with open_study(study) as opened, open_client(url, token) as client:
        link = Link(name, "labelstudio", url.rstrip("/"), None, send_protected, predictions)
        link = replace(link, project=connect_project(client, opened, project, link))
        known = webhook_token(client, link, studio, opened) if studio else None
        new = ensure_link(opened, link, me(who), renew=bool(studio) and known is None)
        if studio and new:
            tell_studio(client, link, studio, new)
        typer.echo(f"{url.rstrip('/')}/projects/{link.project} labels {study}  (stop with Ctrl-C)")
        _work(opened, LabelStudioTool(opened, link, client), seconds, once, train, audit, me(who))


def webhook(
    url: Annotated[str, typer.Argument(help="Where drawn rows are posted.")],
    study: StudyPlace,
    secret_env: Annotated[
        str, typer.Option(help="Variable of the environment with the secret that signs messages (whsec_...).")
    ] = "FAIRASK_WEBHOOK_SECRET",
    send_protected: _Protected = False,
    new_token: Annotated[
        bool, typer.Option("--new-token", help="Make another token; the old one ends.")
    ] = False,
    name: _Name = "webhook",
    seconds: _Seconds = 1.0,
    once: _Once = False,
    train: _Train = True,
    audit: _Audit = 0,
    who: Who = None,
) -> None:
    """Post drawn rows as signed JSON; answers come to the studio's endpoint with a token."""
    from fairask.connect import Link, WebhookTool, ensure_link

    secret = _secret(secret_env, "a secret")
    with open_study(study) as opened:
        link = Link(name, "webhook", url, None, send_protected)
        tool = WebhookTool(opened, link, secret)
        token = ensure_link(opened, link, me(who), renew=new_token)
        if token:
            typer.echo(
                f"Answers come to the studio (fairask studio {study}) at /api/connect/{name}/answers with "
                f"this token, shown only now:\n{token}"
            )
        typer.echo(f"Rows of {study} go to {url}  (stop with Ctrl-C)")
        _work(opened, tool, seconds, once, train, audit, me(who))


def links(study: StudyPlace, as_json: Json = False) -> None:
    """Say which tools are linked, what they were sent, and which of their answers were refused and why."""
    with open_study(study) as opened:
        outside = opened.state().outside
        data: dict[str, object] = {}
        lines: list[str] = []
        for name, linked in outside.links.items():
            refused = [found for found in outside.refused.values() if found.link == name]
            taken = sum(key[0] == name and not answer.gone for key, answer in outside.taken.items())
            place = linked.url if linked.project is None else f"{linked.url}/projects/{linked.project}"
            sent = len(outside.sent.get(name, ()))
            lines.append(f"{name}: {place}, {sent} rows sent, {taken} answers taken, {len(refused)} refused")
            lines += [f"  {found.at} {found.who}: {found.reason}" for found in refused]
            data[name] = {
                "place": place, "sent": sent, "taken": taken, "refused": [vars(found) for found in refused]
            }  # fmt: skip
    say(as_json, data, "\n".join(lines) or "No tool is linked; see fairask connect --help")


def _work(study: Study, tool: Tool, seconds: float, once: bool, train: bool, audit: int, who: str) -> None:
    """Run the connector and, beside it, what draws and fits."""
    from fairask.connect import Connector, finish
    from fairask.studio import Trainer

    connector = Connector(study, tool, seconds=seconds, say=typer.echo)
    trainer = Trainer(study)
    if once:
        while train and trainer.step():
            pass
        done = connector.step()
        typer.echo(", ".join(f"{count} {kind}" for kind, count in done.counts().items()))
        return
    ended = threading.Event()

    def wait(pause: float) -> bool:
        certificate = finish(study, audit, who) if audit else None
        if certificate is not None:
            typer.echo(f"certificate: {certificate['verdict']}")
            return True
        return ended.wait(pause)

    if train:
        trainer.start()
    try:
        connector.run(wait)
    finally:
        ended.set()
        if train:
            trainer.stop()
