"""The fairness gate of the Action: ``fairask audit --known``, which decides from labels that exist.

It writes the outputs of the step and a summary in Markdown, and exits with the code of the command: 0 certified, 1 refuted,
3 undecided (0 if ``UNDECIDED=warn``), 2 wrong use. Settings come from the environment, as ``action.yml`` passes them.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

CODES = {"certified": 0, "refuted": 1, "undecided": 3}
WORDS = {"tpr": "true positive rate", "fpr": "false positive rate", "selection": "selection rate"}


def refuse(reason: str) -> None:
    """Say why there is no verdict, and exit with 2."""
    print(f"::error title=fairask::{reason.splitlines()[0]}")
    print(reason, file=sys.stderr)
    sys.exit(2)


def decide(env: dict[str, str], folder: Path) -> dict[str, object]:
    """Run the audit and return the certificate that decides; exit with 2 if it was refused."""
    command = [env["FAIRASK"], "audit", env["TABLE"], "--out", str(folder), "--json"]
    named = {"PREDICTIONS": "predictions", "PROTECTED": "protected", "TRUTH": "known", "METRIC": "metric"}
    named |= {"TOLERANCE": "tolerance", "DELTA": "delta", "POSITIVE": "positive"}
    for variable, option in named.items():
        if env.get(variable):
            command += [f"--{option}", env[variable]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        certificates = json.loads(done.stdout)["certificates"]
    except (json.JSONDecodeError, KeyError):
        refuse(done.stderr.strip() or f"fairask ended with code {done.returncode}")
    return certificates["population"]


def _plain(text: str) -> str:
    """Return text of the table so that Markdown shows it as it is: no link, no image, no cell of its own."""
    return re.sub(r"([\\`*_\[\]<>|])", r"\\\1", text)


def summary(certificate: dict[str, object], text: str) -> str:
    """Return the verdict and the bounds, as the certificate's text says them, and the rates by group as Markdown."""
    head, bounds, *_ = text.splitlines()
    rates: dict[str, list[float]] = certificate["rates"]  # type: ignore[assignment]
    lines = [
        "### Fairness gate",
        "",
        f"**{_plain(head)}**",
        "",
        f"`{bounds.strip()}`",
        "",
        "| group | " + " | ".join(WORDS.get(name, name) for name in rates) + " |",
        "|---" * (len(rates) + 1) + "|",
    ]
    for i, group in enumerate(certificate["groups"]):  # type: ignore[arg-type, var-annotated]
        lines.append(
            f"| {_plain(str(group))} | "
            + " | ".join("unknown" if v[i] is None else f"{v[i]:.3f}" for v in rates.values())
            + " |"
        )
    return "\n".join(lines) + "\n"


def append(variable: str, text: str) -> None:
    """Add text to the file that the runner names, or print it."""
    if path := os.environ.get(variable):
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(text)
    else:
        print(text)


def main() -> int:
    """Run the gate; return the exit code."""
    env = dict(os.environ)
    folder = Path(tempfile.mkdtemp(prefix="fairask-", dir=env.get("RUNNER_TEMP"))) / "audit"
    certificate = decide(env, folder)
    verdict = str(certificate["verdict"])
    append("GITHUB_OUTPUT", f"verdict={verdict}\ncertificate={folder / 'certificate.json'}\n")
    append("GITHUB_STEP_SUMMARY", summary(certificate, (folder / "certificate.txt").read_text("utf-8")))
    code = CODES[verdict]
    if verdict == "undecided" and env.get("UNDECIDED") == "warn":
        print(
            "::warning title=fairask::The labels do not settle whether the difference is within the tolerance."
        )
        return 0
    if code:
        print(f"::error title=fairask::The audit ended {verdict}.")
    return code


if __name__ == "__main__":
    sys.exit(main())
