"""Options of all connectors, and the work that they ask for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from fairask_studio.cli._study import Who, me

if TYPE_CHECKING:
    from fairask_studio import Study
    from fairask_studio.connect import Tool

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
        """Run the connector and, beside it, what draws and fits."""
        from fairask_studio.pages import keep_in_step, step_once

        if self.once:
            typer.echo(step_once(study, tool, train=self.train, say=typer.echo))
        else:
            keep_in_step(
                study, tool, seconds=seconds, train=self.train, audit=self.audit, who=me(self.who),
                say=typer.echo,
            )  # fmt: skip
