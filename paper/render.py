"""Tables as Markdown, LaTeX or HTML. A mark says whether the tolerance is met, by sign and by colour."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from fairask.errors import suggest

__all__ = ["FORMATS", "Entry", "Table", "body", "fold", "render"]

# Blue and vermillion of Okabe and Ito: told apart with any colour vision; the sign carries the meaning alone.
_MET, _NOT_MET = "0072B2", "D55E00"


@dataclass(frozen=True)
class Entry:
    """A field of a table: text, whether it is met (None: nothing to meet), whether it is the best."""

    text: str
    met: bool | None = None
    best: bool = False


@dataclass(frozen=True)
class Table:
    """A titled table; rows hold entries or plain text."""

    title: str
    columns: list[str]
    rows: list[list[Entry | str]] = field(default_factory=list)
    note: str = ""


def _entry(value: Entry | str) -> Entry:
    return value if isinstance(value, Entry) else Entry(value)


def _markdown(table: Table) -> str:
    def show(value: Entry | str) -> str:
        entry = _entry(value)
        text = f"**{entry.text}**" if entry.best else entry.text
        return text if entry.met is None else f"{text} {'✓' if entry.met else '✗'}"

    lines = [f"### {table.title}", "", _row(table.columns), "|" + "---|" * len(table.columns)]
    lines += [_row([show(value) for value in row]) for row in table.rows]
    return "\n".join([*lines, "", table.note, ""] if table.note else [*lines, ""])


def _row(fields: list[str]) -> str:
    return "| " + " | ".join(fields) + " |"


_LATEX = {
    "λ": r"$\lambda$",
    "±": r"$\pm$",
    "α": r"$\alpha$",
    "≥": r"$\geq$",
    "–": "--",
    "×": r"$\times$",
    "%": r"\%",
    "_": r"\_",
    "&": r"\&",
    ">": "$>$",
}


def _latex(table: Table) -> str:
    def clean(text: str) -> str:
        return "".join(_LATEX.get(c, c) for c in text)

    def show(value: Entry | str) -> str:
        entry = _entry(value)
        text = clean(entry.text)
        text = rf"\textbf{{{text}}}" if entry.best else text
        if entry.met is None:
            return text
        colour, sign = ("met", r"$\checkmark$") if entry.met else ("notmet", r"$\times$")
        return rf"\textcolor{{{colour}}}{{{text} {sign}}}"

    return "\n".join(
        [
            "% needs \\usepackage{xcolor,amssymb,booktabs}",
            rf"\definecolor{{met}}{{HTML}}{{{_MET}}}\definecolor{{notmet}}{{HTML}}{{{_NOT_MET}}}",
            r"\begin{table}",
            r"\centering",
            rf"\begin{{tabular}}{{{'l' * len(table.columns)}}}",
            r"\toprule",
            " & ".join(clean(c) for c in table.columns) + r" \\",
            r"\midrule",
            *(" & ".join(show(value) for value in row) + r" \\" for row in table.rows),
            r"\bottomrule",
            r"\end{tabular}",
            rf"\caption{{{clean(' '.join([table.title + '.', table.note]).strip())}}}",
            r"\end{table}",
            "",
        ]
    )


def _html(table: Table) -> str:
    def show(value: Entry | str) -> str:
        entry = _entry(value)
        text = html.escape(entry.text)
        text = f"<strong>{text}</strong>" if entry.best else text
        if entry.met is None:
            return f"<td>{text}</td>"
        colour, sign = (_MET, "✓") if entry.met else (_NOT_MET, "✗")
        return f'<td style="color:#{colour}">{text} {sign}</td>'

    head = "".join(f'<th scope="col">{html.escape(c)}</th>' for c in table.columns)
    body = "\n".join("<tr>" + "".join(show(value) for value in row) + "</tr>" for row in table.rows)
    note = f"<p>{html.escape(table.note)}</p>\n" if table.note else ""
    return (
        f"<table>\n<caption>{html.escape(table.title)}</caption>\n<thead><tr>{head}</tr></thead>\n"
        f"<tbody>\n{body}\n</tbody>\n</table>\n{note}"
    )


#: Renderers by name.
FORMATS: dict[str, Callable[[Table], str]] = {"md": _markdown, "latex": _latex, "html": _html}


def render(table: Table, form: str = "md") -> str:
    """Return a table as text.

    Examples
    --------
    >>> print(render(Table("T", ["a", "b"], [["x", Entry("0.05", met=True)]])))
    ### T
    <BLANKLINE>
    | a | b |
    |---|---|
    | x | 0.05 ✓ |
    <BLANKLINE>
    """
    if form not in FORMATS:
        raise ValueError(f"format {form!r} is unknown; {suggest(form, FORMATS)}")
    return FORMATS[form](table)


def body(table: Table) -> str:
    """Return the Markdown without its heading."""
    return render(table).split("\n", 2)[2]


def fold(title: str, lines: Iterable[str]) -> list[str]:
    """Return Markdown that a reader opens by its title: on a site and in a repository alike."""
    return [f"<details><summary>{title}</summary>\n", *lines, "\n</details>\n"]
