"""``fairask doctor``: what is installed, what is missing, and how to get it."""

from __future__ import annotations

from dataclasses import asdict

from fairask.cli._options import Json, say

EXAMPLE = "fairask doctor"


def doctor(as_json: Json = False) -> None:
    """Show versions, extras and browser, and how to get what is missing."""
    from fairask import __version__
    from fairask.installation import examine

    findings = examine()
    width = max(len(finding.what) for finding in findings)
    lines = [f"fairask {__version__}"]
    for finding in findings:
        lines.append(f"{finding.what:<{width}}  {finding.state:<7}  {finding.found}")
        if finding.remedy:
            lines.append(f"{'':<{width}}  {'':<7}  -> {finding.remedy}")
    say(as_json, {"version": __version__, "findings": [asdict(f) for f in findings]}, "\n".join(lines))
