"""Draw the pictures of the concept pages before the pages are read.

A script in ``concepts/pictures`` makes one figure when it is run, or defines ``STEPS`` and ``draw(step)`` for one figure per step. The
figures go to ``concepts/img`` as SVG files; a script that is older than its figures is not run again.
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import matplotlib.pyplot as plt


def draw_all(folder: Path, out: Path) -> list[Path]:
    """Run every script of ``folder`` and return the pictures."""
    out.mkdir(parents=True, exist_ok=True)
    made = []
    for script in sorted(folder.glob("*.py")):
        old = list(out.glob(f"{script.stem}.svg")) + list(out.glob(f"{script.stem}-*.svg"))
        if old and min(path.stat().st_mtime for path in old) > script.stat().st_mtime:
            made += old
            continue
        names = runpy.run_path(str(script))
        for step in names.get("STEPS", [None]):
            if step is not None:
                names["draw"](step)
            made.append(out / (f"{script.stem}.svg" if step is None else f"{script.stem}-{step}.svg"))
            with plt.rc_context({"svg.fonttype": "path", "svg.hashsalt": "fairask"}):
                plt.gcf().savefig(made[-1], facecolor="white", metadata={"Date": None}, dpi=160)
            plt.close("all")
    return made


def setup(app: object) -> dict[str, bool]:
    """Draw before Sphinx looks for images."""
    source = Path(app.srcdir) / "concepts"  # type: ignore[attr-defined]
    draw_all(source / "pictures", source / "img")
    return {"parallel_read_safe": True, "parallel_write_safe": True}


if __name__ == "__main__":
    here = Path(__file__).parents[1] / "concepts"
    print(*draw_all(here / "pictures", Path(sys.argv[1]) if len(sys.argv) > 1 else here / "img"), sep="\n")
