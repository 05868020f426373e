"""Objects as small cards in a notebook: facts in light and in dark; figures are in ``fairask.report``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

# A notebook says by attributes whether it is dark; a plain page leaves it to the reader's system.
_DARK = "--ink:#ececee;--soft:#a8a8b0;--line:#45454c;--back:#1e1e21;--mark:#5db2e8;--limit:#ff8a5c"
_STYLE = f"""
.fairask-card{{--ink:#1d1d1f;--soft:#5c5c66;--line:#d8d8de;--back:#fff;--mark:#0072b2;--limit:#c24e00;
font:13px/1.45 system-ui,sans-serif;color:var(--ink);background:var(--back);border:1px solid var(--line);
border-radius:6px;padding:10px 14px;max-width:34rem}}
@media(prefers-color-scheme:dark){{.fairask-card{{{_DARK}}}}}
[data-jp-theme-light="false"] .fairask-card,.vscode-dark .fairask-card{{{_DARK}}}
[data-jp-theme-light="true"] .fairask-card,.vscode-light .fairask-card{{--ink:#1d1d1f;--soft:#5c5c66;
--line:#d8d8de;--back:#fff;--mark:#0072b2;--limit:#c24e00}}
.fairask-card h4{{margin:0 0 2px;font-size:14px;color:var(--ink)}}
.fairask-card p{{margin:2px 0 6px;color:var(--soft)}}
.fairask-card dl{{display:grid;grid-template-columns:max-content 1fr;gap:1px 12px;margin:6px 0}}
.fairask-card dt{{color:var(--soft);font-weight:normal}}
.fairask-card dd{{margin:0;overflow-wrap:anywhere;font-variant-numeric:tabular-nums}}
.fairask-card summary{{color:var(--soft);cursor:pointer}}
.fairask-card ul{{margin:4px 0;padding-left:18px}}
"""


def card(
    title: str,
    words: str,
    facts: Mapping[str, str],
    folded: tuple[str, Sequence[str]] = ("", ()),
) -> str:
    """Return a card as HTML without scripts; texts are escaped.

    Parameters
    ----------
    title, words : str
    facts : mapping
        Shown as a list of names and values.
    folded : (str, sequence of str)
        A summary, and lines that it unfolds.

    Examples
    --------
    >>> "<h4>&lt;b&gt;</h4>" in card("<b>", "A sentence.", {"labels": "3"})
    True
    """
    listed = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in facts.items())
    summary, lines = folded
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    more = f"<details><summary>{escape(summary)}</summary><ul>{items}</ul></details>" if lines else ""
    return (
        f'<style>{_STYLE}</style><div class="fairask-card"><h4>{escape(title)}</h4><p>{escape(words)}</p>'
        f"<dl>{listed}</dl>{more}</div>"
    )
