"""Objects as small cards in a notebook: facts and one chart, in light and in dark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

__all__ = ["bar_chart", "card", "line_chart"]

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
.fairask-card svg{{display:block;width:100%;height:auto;margin:6px 0}}
.fairask-card svg text{{font-size:11px;fill:var(--soft)}}
.fairask-card summary{{color:var(--soft);cursor:pointer}}
.fairask-card ul{{margin:4px 0;padding-left:18px}}
"""
_WIDTH, _LEFT, _RIGHT = 480.0, 34.0, 12.0


def card(
    title: str,
    words: str,
    facts: Mapping[str, str],
    chart: str = "",
    folded: tuple[str, Sequence[str]] = ("", ()),
) -> str:
    """Return a card as HTML without scripts; texts are escaped, ``chart`` is SVG made here.

    Parameters
    ----------
    title, words : str
    facts : mapping
        Shown as a list of names and values.
    chart : str
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
        f"{chart}<dl>{listed}</dl>{more}</div>"
    )


def line_chart(x: Sequence[float], y: Sequence[float], limit: float, name: str) -> str:
    """Draw a line over labels, with a dashed line at ``limit``; ``name`` says what is drawn.

    Examples
    --------
    >>> chart = line_chart([50, 100], [0.2, 0.08], 0.1, "violation")
    >>> chart.count("<circle"), 'aria-label="violation: 0.200 at 50 labels, 0.080 at 100 labels"' in chart
    (2, True)
    """
    top = max([*y, 2 * limit, 1e-6]) * 1.1
    first, last = x[0], max(x[-1], x[0] + 1)
    at = [
        (_LEFT + (_WIDTH - _LEFT - _RIGHT) * (a - first) / (last - first), 96 - 84 * b / top)
        for a, b in zip(x, y, strict=True)
    ]
    path = " ".join(f"{a:.1f},{b:.1f}" for a, b in at)
    dots = "".join(f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3" fill="var(--mark)"/>' for a, b in at)
    height = 96 - 84 * limit / top
    ends = [(x[0], y[0])] if len(x) == 1 else [(x[0], y[0]), (x[-1], y[-1])]
    said = ", ".join(f"{b:.3f} at {a:g} labels" for a, b in ends)
    right = "" if len(x) == 1 else f'<text x="{_WIDTH - _RIGHT}" y="112" text-anchor="end">{x[-1]:g}</text>'
    across = f'x1="{_LEFT}" x2="{_WIDTH - _RIGHT}"'
    dashed = 'stroke="var(--limit)" stroke-dasharray="4 3"'
    return (
        f'<svg viewBox="0 0 {_WIDTH:g} 116" role="img" aria-label="{escape(name)}: {said}">'
        f'<line {across} y1="96" y2="96" stroke="var(--line)"/>'
        f'<line {across} y1="{height:.1f}" y2="{height:.1f}" {dashed}/>'
        f'<text x="{_WIDTH - _RIGHT}" y="{height - 4:.1f}" text-anchor="end">tolerance {limit:g}</text>'
        f'<polyline points="{path}" fill="none" stroke="var(--mark)" stroke-width="2"/>{dots}'
        f'<text x="{_LEFT - 4}" y="100" text-anchor="end">0</text>'
        f'<text x="{_LEFT}" y="10">{escape(name)}</text>'
        f'<text x="{_LEFT}" y="112">{x[0]:g} labels</text>{right}</svg>'
    )


def bar_chart(counts: Mapping[str, float], name: str) -> str:
    """Draw one bar for each of the first eight names; ``name`` says what is counted.

    Examples
    --------
    >>> bar_chart({"f": 30, "m": 10}, "rows").count("<rect")
    2
    """
    shown = list(counts.items())[:8]
    top = max([value for _, value in shown] + [1e-9])
    bars = "".join(
        f'<text x="96" y="{16 * i + 12}" text-anchor="end">{escape(label[:16])}</text>'
        f'<rect x="102" y="{16 * i + 3}" width="{300 * value / top:.1f}" height="11" fill="var(--mark)"/>'
        f'<text x="{108 + 300 * value / top:.1f}" y="{16 * i + 12}">{value:,.10g}</text>'
        for i, (label, value) in enumerate(shown)
    )
    rest = len(counts) - len(shown)
    height = 16 * len(shown) + (16 if rest else 4)
    more = f'<text x="102" y="{16 * len(shown) + 12}">and {rest} more</text>' if rest else ""
    said = ", ".join(f"{label} {value:,.10g}" for label, value in shown)
    label = escape(f"{name}: {said}")
    return f'<svg viewBox="0 0 {_WIDTH:g} {height}" role="img" aria-label="{label}">{bars}{more}</svg>'
