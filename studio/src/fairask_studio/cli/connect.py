"""``fairask connect``: label where people already label."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from fairask.cli._command import HelpfulApp, takes_options
from fairask.cli._options import Json, say
from fairask.errors import UserError
from fairask_studio.cli.options import StudyPlace, Who, me, open_study

if TYPE_CHECKING:
    from fairask_studio import Study
    from fairask_studio.connect.connector import Tool

LinkName = Annotated[str, typer.Option("--name", help="The link's name, if a study has several.")]
SendProtected = Annotated[
    bool, typer.Option("--send-protected", help="Send the protected columns too; they never are otherwise.")
]
Pause = Annotated[float, typer.Option(min=0.05, max=3600, help="Pause between two looks at the tool.")]


@dataclass(frozen=True, kw_only=True)
class ConnectorOptions:
    """Options of what runs while people label elsewhere."""

    once: Annotated[bool, typer.Option("--once", help="Send and take what there is, then end.")] = False
    train: Annotated[
        bool,
        typer.Option("--train/--no-train", help="Draw and fit here too, or leave it to a running studio."),
    ] = True
    audit: Annotated[
        int,
        typer.Option(
            min=0, help="When the budget is labelled: audit with at most so many labels, certify, end."
        ),
    ] = 0
    who: Who = None

    def run(self, study: Study, tool: Tool, seconds: float) -> None:
        """Send and take rows, and draw and fit beside it, until the study is certified or for ever."""
        from fairask_studio.connect.connector import Connector, finish
        from fairask_studio.pages.worker import Trainer

        connector = Connector(study, tool, seconds=seconds, say=partial(print, flush=True))
        trainer = Trainer(study) if self.train else None
        if self.once:
            while trainer is not None and trainer.step():
                pass
            done = connector.step()
            print(", ".join(f"{count} {kind}" for kind, count in done.counts().items()), flush=True)
            return
        ended = threading.Event()

        def wait(pause: float) -> bool:
            certificate = finish(study, self.audit, me(self.who)) if self.audit else None
            if certificate is not None:
                print(f"certificate: {certificate['verdict']}", flush=True)
            return certificate is not None or ended.wait(pause)

        if trainer is not None:
            trainer.start()
        try:
            connector.run(wait)
        finally:
            ended.set()
            if trainer is not None:
                trainer.stop()


@dataclass(frozen=True, kw_only=True)
class LabelStudioOptions:
    """The options of ``fairask connect labelstudio``."""

    url: Annotated[str, typer.Argument(help="Label Studio's address.")]
    study: StudyPlace
    project: Annotated[
        str, typer.Option(help="The project: its number, or a title; made if it is not there.")
    ]
    token_env: Annotated[
        str, typer.Option(help="Variable of the environment with an access token of Label Studio.")
    ] = "LABEL_STUDIO_API_KEY"
    studio: Annotated[
        str, typer.Option(help="The studio's address, as Label Studio reaches it: annotations come at once.")
    ] = ""
    predictions: Annotated[
        bool, typer.Option("--predictions", help="Send the model's predictions along. They influence people.")
    ] = False
    send_protected: SendProtected = False
    name: LinkName = "labelstudio"
    seconds: Pause = 5.0
    work: ConnectorOptions


@dataclass(frozen=True, kw_only=True)
class WebhookOptions:
    """The options of ``fairask connect webhook``."""

    url: Annotated[str, typer.Argument(help="Where drawn rows are posted.")]
    study: StudyPlace
    secret_env: Annotated[
        str, typer.Option(help="Variable of the environment with the secret that signs messages (whsec_...).")
    ] = "FAIRASK_WEBHOOK_SECRET"
    send_protected: SendProtected = False
    new_token: Annotated[bool, typer.Option("--new-token", help="Make another token; the old one ends.")] = (
        False
    )
    name: LinkName = "webhook"
    seconds: Pause = 1.0
    work: ConnectorOptions


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = HelpfulApp(
        help="Label where people already label: Label Studio, or anything that speaks HTTP.",
        no_args_is_help=True,
        rich_markup_mode=None,
    )
    for name, command, example in (
        ("labelstudio", labelstudio, "labelstudio https://labels.example.org loans --project Loans"),
        ("webhook", webhook, "webhook https://example.org/rows loans"),
        ("list", links, "list loans"),
    ):
        group.command(name, epilog=f"Example: fairask connect {example}")(command)
    app.add_typer(group, name="connect")


def _secret(variable: str, what: str) -> str:
    """Return a secret from the environment: the command line can be read by everybody on the machine."""
    found = os.environ.get(variable, "")
    if not found:
        raise UserError(f"the variable {variable} is empty", f"Put {what} into it: export {variable}=...")
    return found


@takes_options
def labelstudio(options: LabelStudioOptions) -> None:
    """Make drawn rows tasks of a project of Label Studio, and take its annotations."""
    from fairask_studio.connect.connector import Link
    from fairask_studio.connect.labelstudio import LabelStudioTool, link_project, open_client

    token = _secret(options.token_env, "an access token of Label Studio")
    link = Link(
        options.name,
        "labelstudio",
        options.url.rstrip("/"),
        protected=options.send_protected,
        predictions=options.predictions,
    )
    with open_study(options.study) as opened, open_client(options.url, token) as client:
        link = link_project(client, opened, options.project, link, options.studio, me(options.work.who))
        print(f"{link.url}/projects/{link.project} labels {options.study}  (stop with Ctrl-C)", flush=True)
        options.work.run(opened, LabelStudioTool(opened, link, client), options.seconds)


@takes_options
def webhook(options: WebhookOptions) -> None:
    """Post drawn rows as signed JSON; answers come to the studio's endpoint with a token."""
    from fairask_studio.connect.connector import Link, ensure_link
    from fairask_studio.connect.webhook import WebhookTool

    secret = _secret(options.secret_env, "a secret")
    with open_study(options.study) as opened:
        link = Link(options.name, "webhook", options.url, None, options.send_protected)
        tool = WebhookTool(opened, link, secret)
        token = ensure_link(opened, link, me(options.work.who), renew=options.new_token)
        if token:
            typer.echo(
                f"Answers come to the studio (fairask studio {options.study}) at /api/connect/{link.name}"
                f"/answers with this token, shown only now:\n{token}"
            )
        print(f"Rows of {options.study} go to {options.url}  (stop with Ctrl-C)", flush=True)
        options.work.run(opened, tool, options.seconds)


def links(study: StudyPlace, as_json: Json = False) -> None:
    """Say which tools are linked, what they were sent, and which of their answers were refused and why."""
    from fairask_studio.connect.connector import link_counts

    with open_study(study) as opened:
        counted = link_counts(opened)
    found: dict[str, object] = {}
    lines = []
    for link in counted:
        sent, taken, refused = link["sent"], link["taken"], link["refused"]
        place = link["url"] if link["project"] is None else f"{link['url']}/projects/{link['project']}"
        found[link["link"]] = {"place": place, "sent": sent, "taken": taken, "refused": refused}
        counts = f"{sent} rows sent, {taken} answers taken, {len(refused)} refused"
        lines.append(f"{link['link']}: {place}, {counts}")
        lines += [f"  {one['at']} {one['who']}: {one['reason']}" for one in refused]
    say(as_json, found, lines or "No tool is linked; see fairask connect --help")
