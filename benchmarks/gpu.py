"""One FARE round on tensors, 10^7 to 10^9 rows: seconds, next to what plain PyTorch takes.

    PYTHONPATH=src python -m benchmarks.gpu --out results/gpu            # on a machine with a GPU
    PYTHONPATH=src python -m benchmarks.gpu --rows 1e5 1e6 --wide 1e5    # other sizes

Needs PyTorch, NumPy, SciPy and scikit-learn. Rows are made on the device: 20 float32 features, two
groups; and 384 bfloat16 features. Without a GPU the same runs on CPU tensors, with fewer
rows; the first line says so.

``read`` is one look at every value (its least and its largest). ``product`` is the matrix product of k = 10
linear rules with all rows, ``plain`` that product with the comparison, the packing of k bits and a bincount,
written in the plainest PyTorch: no group's cut, no exact decision near a cut, no row left out. ``count`` is
the counting pass of a pool, ``round`` a whole round with the paper's oracle: fits, count, design, draw, and
the features of the drawn rows. ``fixed`` is the part of a round that no row enters: the fits on the labels,
which run on the processor, and the design on the cells; ``per row`` is the rest. ``calibrated`` is a round
with the default profile, whose cuts differ by group; ``uncertainty`` ranks all rows. Every figure is the
least of several repeats.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from fairask import FairActiveLearner
from fairask.design import disagreement_design
from fairask.pools import Pool, open_pool
from fairask.pools.codes import decisions
from benchmarks.scale_parts import BATCH, K, LABELS, ask_again, exponent, machine

BLOCK = 1 << 22
NARROW, WIDE = 20, 384
EXPONENTS = ("plain", "count", "per row", "round")


def make_rows(n: int, features: int, dtype: torch.dtype, device: str) -> tuple[Any, Any]:
    generator = torch.Generator(device=device).manual_seed(1)
    X = torch.empty((n, features), dtype=dtype, device=device)
    groups = torch.empty(n, dtype=torch.uint8, device=device)
    step = max(1, BLOCK * NARROW // features)
    for start in range(0, n, step):
        X[start : start + step].normal_(generator=generator)
        groups[start : start + step].random_(0, 2, generator=generator)
    return X, groups


def least(function: Callable[[], Any], repeats: int, device: str) -> float:
    times = []
    for _ in range(repeats):
        synchronize(device)
        start = time.perf_counter()
        function()
        synchronize(device)
        times.append(time.perf_counter() - start)
    return min(times)


def synchronize(device: str) -> None:
    if device.startswith("cuda"):
        torch.cuda.synchronize()


def blocks(X: Any) -> list[slice]:
    step = max(1, BLOCK * NARROW // X.shape[1]) if X.device.type != "cpu" else 1 << 16
    return [slice(start, start + step) for start in range(0, len(X), step)]


def product(X: Any, beta: Any) -> None:
    for at in blocks(X):
        X[at].float() @ beta


def plain(X: Any, groups: Any, beta: Any, cut: Any) -> Any:
    """What one would write without us: the histogram of (group, k signs)."""
    powers = 2 ** torch.arange(K, device=X.device, dtype=torch.int32)
    table = torch.zeros(2 << K, dtype=torch.int64, device=X.device)
    for at in blocks(X):
        bits = X[at].float() @ beta > cut
        codes = (bits.int() * powers).sum(1) + groups[at].int() * (1 << K)
        table += torch.bincount(codes, minlength=2 << K)
    return table.cpu()


def labelled(pool: Any, truth: Any, strategy: str, profile: str) -> FairActiveLearner:
    settings: dict[str, Any] = {"strategy_params": {"k": K}} if strategy == "fare" else {}
    learner = FairActiveLearner(
        pool, strategy=strategy, profile=profile, batch_size=BATCH, random_state=0, **settings
    )
    query = learner.ask(LABELS)
    rng = np.random.default_rng(0)
    score = pool.take(query.indices) @ truth
    score += 0.5 * score.std() * rng.standard_normal(len(score))
    learner.tell(query.indices, (score > 0).astype(int))
    return learner


def rules_of(learner: FairActiveLearner) -> list[Any]:
    rng = np.random.default_rng(0)
    y = learner.labelled().y
    solutions = learner.fair_fit()(np.where(rng.random((K, len(y))) < 0.1, 1.0 - y, y))
    return [solution.sample(rng) for solution in solutions]


def measure(n: int, features: int, dtype: torch.dtype, device: str, repeats: int) -> dict[str, float]:
    X, groups = make_rows(n, features, dtype, device)
    truth = np.random.default_rng(7).standard_normal(features).astype(np.float32)
    pool = open_pool(X, groups)
    learner = labelled(pool, truth, "fare", "paper")
    rules = rules_of(learner)
    betas = np.array([rule.beta for rule in rules], dtype=np.float32)
    beta = torch.from_numpy(np.ascontiguousarray(betas[:, :-1].T)).to(device)
    cut = torch.from_numpy(-betas[:, -1]).to(device)
    calibrated = labelled(pool, truth, "fare", "calibrated")
    uncertainty = labelled(pool, truth, "uncertainty", "paper")
    cells = pool.by_prediction(rules)
    found: dict[str, float] = {"rows": n, "features": features}
    work: dict[str, Callable[[], Any]] = {
        "read": lambda: [torch.aminmax(X[at]) for at in blocks(X)],
        "product": lambda: product(X, beta),
        "plain": lambda: plain(X, groups, beta, cut),
        "fit": lambda: rules_of(learner),
        "design": lambda: disagreement_design(cells.patterns, cells.counts),
        "count": lambda: pool.by_prediction(rules),
        "round": lambda: ask_again(learner),
        "calibrated": lambda: ask_again(calibrated),
        "uncertainty": lambda: ask_again(uncertainty),
    }
    for name, function in work.items():
        function()  # the first call loads kernels and takes memory
        found[name] = least(function, repeats, device)
    found["fixed"] = found.pop("fit") + found.pop("design")
    found["per row"] = found["round"] - found["fixed"]
    found["per row / plain"] = found["per row"] / found["plain"]
    found["round / plain"] = found["round"] / found["plain"]
    found["ns per row"] = found["round"] / n * 1e9
    if device.startswith("cuda"):
        found["peak GB"] = torch.cuda.max_memory_allocated() / 1e9
    found["miscounted by plain"] = miscounted(pool, rules, plain(X, groups, beta, cut).numpy())
    found["as numpy"] = as_numpy(X, groups, rules)
    return found


def miscounted(pool: Any, rules: list[Any], table: Any) -> float:
    """Rows that plain PyTorch counts in another cell than the exact decision (at least)."""
    cells = pool.by_prediction(rules)
    halves = table.reshape(2, 1 << K)
    # Our cells are up to complement: bit i says whether rule i differs from rule 0.
    codes = np.arange(1 << K)
    ours = (np.where(codes & 1, ~codes, codes) >> 1) & ((1 << (K - 1)) - 1)
    folded = np.array([np.bincount(ours, weights=half, minlength=1 << (K - 1)) for half in halves])
    exact = np.zeros_like(folded)
    powers = 1 << np.arange(K - 1)
    exact[cells.groups, (cells.patterns[1:] * powers[:, None]).sum(0)] = cells.counts
    return float(np.abs(folded - exact).sum() / 2)


def as_numpy(X: Any, groups: Any, rules: list[Any], rows: int = 1 << 20) -> bool:
    """Whether the first rows have the same cells, and rows in them, as an array in memory."""
    few, codes = X[:rows], groups[:rows]
    here = Pool(few.float().cpu().numpy(), codes.cpu().numpy().astype(np.int64), 2)
    cells, same = here.by_prediction(rules), open_pool(few, codes).by_prediction(rules)
    equal = np.array_equal(cells.counts, same.counts) and np.array_equal(cells.patterns, same.patterns)
    some = np.arange(len(cells.counts))[:200]
    ranks = cells.counts[some] // 2
    signs = decisions(rules, here.take(np.arange(1000)), np.zeros(1000, dtype=np.int64))
    return bool(equal and np.array_equal(cells.locate(some, ranks), same.locate(some, ranks)) and signs.any())


def show(title: str, table: list[dict[str, float]]) -> list[str]:
    lines = ["", title]
    for name in table[0]:
        digits = ",.0f" if name in ("rows", "features", "miscounted by plain", "as numpy") else ".4g"
        lines.append(f"{name:>22}" + "".join(f"{row[name]:>16{digits}}" for row in table))
    if len(table) > 1:
        lines += [f"exponent of {name}: {exponent(table, name):.3f}" for name in EXPONENTS]
        last = table[-2:]
        slope = exponent(last, "round")
        lines.append(f"exponent of round over the last two sizes: {slope:.3f}")
    print("\n".join(lines), flush=True)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=float, nargs="+", help="rows by 20 float32 features")
    parser.add_argument("--wide", type=float, help="rows by 384 bfloat16 features; 0 for none")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--out", type=Path, help="folder for gpu.json and gpu.txt")
    args = parser.parse_args()
    warnings.filterwarnings("ignore", category=UserWarning)
    gpu = args.device.startswith("cuda")
    sizes = [int(n) for n in args.rows or ([1e7, 3e7, 1e8, 3e8, 1e9] if gpu else [3e5, 1e6, 3e6])]
    wide = int((1e8 if gpu else 1e5) if args.wide is None else args.wide)
    if gpu:
        head = f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}; {machine()}"
    else:
        head = (
            f"NO GPU: these are CPU tensors, {torch.get_num_threads()} threads, PyTorch {torch.__version__}; "
            f"{machine()}"
        )
    print(head, flush=True)
    lines, tables = [head], {}

    def run(title: str, key: str, sizes: list[int], features: int, dtype: torch.dtype) -> None:
        rows: list[dict[str, float]] = []
        for n in sizes:
            rows.append(measure(n, features, dtype, args.device, args.repeats))
            if gpu:
                torch.cuda.empty_cache()
                torch.cuda.reset_peak_memory_stats()
            tables[key] = rows
            if args.out:  # after every size: a run that is cut short keeps what it has
                args.out.mkdir(parents=True, exist_ok=True)
                (args.out / "gpu.json").write_text(json.dumps({"machine": head, **tables}, indent=1))
        lines.extend(show(title, rows))
        if args.out:
            (args.out / "gpu.txt").write_text("\n".join(lines) + "\n")

    run("20 float32 features (seconds)", "float32", sizes, NARROW, torch.float32)
    if wide:
        run("384 bfloat16 features (seconds)", "bfloat16", [wide], WIDE, torch.bfloat16)


if __name__ == "__main__":
    main()
