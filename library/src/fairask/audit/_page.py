"""A certificate as one HTML file without scripts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairask.audit.certificate import Certificate

VERDICT_COLOURS = {"certified": "#1a7f4b", "refuted": "#b3261e", "undecided": "#8a6100"}
_STYLE = """
body{font:16px/1.5 system-ui,sans-serif;max-width:44rem;margin:2rem auto;padding:0 1rem;color:#1d1d1f}
h1{font-size:1.35rem;border-left:.4rem solid var(--c);padding-left:.8rem}
table{border-collapse:collapse;width:100%;margin:1rem 0}th,td{text-align:left;padding:.3rem .6rem;
border-bottom:1px solid #ddd}td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}
svg{width:100%;height:auto}h2{font-size:1.1rem}td{overflow-wrap:anywhere}th{vertical-align:top}small{color:#555}
@media(prefers-color-scheme:dark){body{background:#161618;color:#ececee}td,th{border-color:#444}small{color:#aaa}}
"""


def draw_bounds(certificate: Certificate) -> str:
    """Draw the bounds on a line, with the tolerance marked."""
    top = min(1.0, max(2 * certificate.tolerance, 1.15 * certificate.upper))

    def x(value: float) -> float:
        return 20 + 560 * min(value, top) / top

    low, high, tolerance = x(certificate.lower), x(certificate.upper), x(certificate.tolerance)
    dot = ""
    if not math.isnan(certificate.estimate):
        dot = f'<circle cx="{x(certificate.estimate):.1f}" cy="40" r="5" fill="var(--c)"/>'
    span = f"{certificate.lower:.3f} and {certificate.upper:.3f}"
    label = f"Violation between {span}, tolerance {certificate.tolerance:g}"
    return (
        f'<svg viewBox="0 0 600 80" role="img" aria-label="{label}">'
        '<line x1="20" y1="40" x2="580" y2="40" stroke="#999"/>'
        f'<line x1="{low:.1f}" y1="40" x2="{high:.1f}" y2="40" stroke="var(--c)" stroke-width="6"/>{dot}'
        f'<line x1="{tolerance:.1f}" y1="18" x2="{tolerance:.1f}" y2="58" '
        'stroke="currentColor" stroke-dasharray="4 3"/>'
        f'<text x="{tolerance:.1f}" y="74" text-anchor="middle" font-size="13" fill="currentColor">tolerance '
        f"{certificate.tolerance:g}</text>"
        '<text x="20" y="30" font-size="13" fill="currentColor">0</text>'
        f'<text x="580" y="30" text-anchor="end" font-size="13" fill="currentColor">{top:.2g}</text></svg>'
    )


def render(
    certificate: Certificate, also: Sequence[Certificate] = (), facts: Mapping[str, str] | None = None
) -> str:
    """Return the page of a certificate; ``also`` are shown in short, ``facts`` say how it was made."""
    colour = VERDICT_COLOURS[certificate.verdict]
    others = "".join(_short(c, certificate) for c in also)
    rows = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{escape(value)}</td></tr>'
        for name, value in (facts or {}).items()
    )
    made = f"<h2>How it was made</h2><table>{rows}</table>" if rows else ""
    rests = "".join(f"<li>{escape(text)}</li>" for text in certificate.assumptions)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Fairness certificate</title>'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<style>:root{{--c:{colour}}}{_STYLE}</style></head><body><h1>{escape(certificate.headline())}</h1>"
        f"{draw_bounds(certificate)}<p>{escape(certificate.advice())}</p>{_groups(certificate)}"
        f"<p>About: {escape(certificate.target)}. Labels used: {certificate.n_labels:,}.</p>"
        f"{others}<h2>What it rests on</h2><ul>{rests}</ul>{made}"
        f"<p><small>metric {escape(certificate.metric)}, method {escape(certificate.method)} "
        f"({escape(certificate.valid)}), delta {certificate.delta:g}</small></p></body></html>"
    )


def _short(certificate: Certificate, first: Certificate) -> str:
    """A certificate from the same labels, and what it rests on besides."""
    more = " ".join(text for text in certificate.assumptions if text not in first.assumptions)
    besides = f" It also rests on this: {escape(more)}" if more else ""
    colour = VERDICT_COLOURS[certificate.verdict]
    return (
        f'<section style="--c:{colour}"><h2>About {escape(certificate.target)}</h2>'
        f"<p>{escape(certificate.headline())}</p>{draw_bounds(certificate)}"
        f"<p>{escape(certificate.advice())}{besides}</p></section>"
    )


def _groups(certificate: Certificate) -> str:
    head = "".join(f'<th class="n">{escape(name)}</th>' for name in certificate.rates)
    rows = "".join(
        f"<tr><td>{escape(str(group))}</td>"
        f'<td class="n">{certificate.positives[g]:,}</td><td class="n">{certificate.negatives[g]:,}</td>'
        + "".join(f'<td class="n">{rate[g]:.3f}</td>' for rate in certificate.rates.values())
        + "</tr>"
        for g, group in enumerate(certificate.groups)
    )
    return (
        '<table><tr><th>group</th><th class="n">positives</th><th class="n">negatives</th>'
        f"{head}</tr>{rows}</table>"
    )
