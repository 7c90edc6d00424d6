"""Cases that are near a kind, or none of them: what plans and policies lose as the truth moves away from what is known.

    python benchmarks/bench_field.py                                  # one draw of rand-10-20, some minutes
    python benchmarks/bench_field.py --draws 2000-2009 --workers 16   # ten draws side by side
    python benchmarks/bench_field.py --known docs/images/distance.json --picture docs/images/distance.svg
    python benchmarks/bench_field.py --changes                        # only: how fast a change half-way is noticed

For each draw of rand-10-20 (H = 10,000) the truths are the known kinds, kinds with every rate off by up to 0.025, 0.05,
0.1 and 0.2 (evenly, kept within 0.01 and 0.99), and none of the kinds (uniform rates). Printed is the worst task / the
mean over tasks of the regret, each averaged over runs; then both averaged over the draws, beside what was asked. Plans
are searched for with `--steps`; all numbers are simulated, also those of plans. `--json` writes them for the figure of
loss against distance. Seeds 500 to 510 were looked at while this was made: use others.
"""

import argparse
import json
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

from banditree.figures.curves import STYLES
from banditree.figures.matplotlib import matplotlib_settings, save_figure
from banditree.figures.scene import PALETTE
from banditree.files.plans import load_plan, save_plan
from banditree.nouns import counted
from banditree.protocols.protocol import build_protocol
from banditree.simulation.engine import simulate
from banditree.tasks.collection import Collection
from banditree.tasks.instances import rand

HORIZON = 10_000
GRID = 200  # A CUSUM, whose points are not whole numbers, is computed on this many scores from 0 to its limit.
DISTANCES = (0.0, 0.025, 0.05, 0.1, 0.2)
NONE = "none"
PLANS = {
    "plan": {},
    "plan --unknown 0.05": {"unknown": 0.05},
    "plan --allow 0.1": {"allow": 0.1},
}
POLICIES = ("mts", "mmts", "mmts-index", "mts+alarm", "mmts+alarm", "dt-ece", "bernoulli-ts")
GUARDED = "plan --unknown 0.05"
# (truth, who) -> most that is asked for the worst task and for the mean.
ASKED = {("0.1", "plan --allow 0.1"): (100, 30), ("0.1", "mmts-index"): (60, 15)}


def capped_delay(points: tuple[int, int], floor: int, cap: int, before: float, after: float) -> tuple[float, float]:
    """(rounds between false alarms at the rate `before`, rounds until a change to `after` is noticed) of a 0/1 score.

    Both from the top, where a case that does well mostly is.

    >>> between, delay = capped_delay((-3, 1), 10, 10, 0.9, 0.5)
    >>> round(delay, 1)
    19.6
    """
    return _time_to_leave(points, floor + cap, 1.0 - before), _time_to_leave(points, floor + cap, 1.0 - after)


def _time_to_leave(points: tuple[int, int], height: int, failure: float) -> float:
    """Expected rounds from `height` steps above the floor, with a wall at the top, until the score is at the floor."""
    scores = np.arange(1, height + 1)
    move = np.eye(height)
    for point, p in zip(points, (failure, 1.0 - failure), strict=True):
        target = np.minimum(scores + point, height)
        inside = target >= 1
        np.add.at(move, (scores[inside] - 1, target[inside] - 1), -p)
    return float(np.linalg.solve(move, np.ones(height))[-1])


def cusum_delay(before: float, after: float, between: float) -> float:
    """The delay of a CUSUM that knows both rates and whose limit gives `between` rounds between false alarms.

    >>> round(cusum_delay(0.9, 0.5, 5000.0), 1)
    12.9
    """
    low, high = 0.0, 60.0
    for _ in range(40):
        limit = (low + high) / 2
        low, high = (limit, high) if _cusum_time(before, after, limit, before) < between else (low, limit)
    return _cusum_time(before, after, high, after)


def _cusum_time(before: float, after: float, limit: float, rate: float) -> float:
    """Expected rounds until the sum of log-likelihood ratios, never below 0, is above its limit, on a fine grid."""
    width = limit / GRID
    moves = np.array([np.log((1 - after) / (1 - before)), np.log(after / before)])
    scores = np.arange(GRID) * width
    system = np.eye(GRID)
    for move, p in zip(moves, (1 - rate, rate), strict=True):
        target = np.maximum(scores + move, 0.0) / width
        below = np.floor(target).astype(int)
        share = target - below  # between two scores of the grid, in proportion
        for place, part in ((below, 1 - share), (below + 1, share)):
            inside = place < GRID
            np.add.at(system, (np.arange(GRID)[inside], place[inside]), -p * part[inside])
    return float(np.linalg.solve(system, np.ones(GRID))[0])


def truths(known, seed):
    """{name: collection} from the known kinds to none of them."""
    rng = np.random.default_rng([seed, 77])
    shift = rng.uniform(-1, 1, known.means.shape)
    found = {f"{far:g}": Collection.bernoulli(np.clip(known.means + far * shift, 0.01, 0.99)) for far in DISTANCES}
    found["0"] = known
    found[NONE] = Collection.bernoulli(rng.random(known.means.shape))
    return found


def plan_of(name, known, seed, steps, folder):
    """A plan for the known kinds, from the folder if there is one that has it."""
    path = None if folder is None else Path(folder, f"{name.replace(' ', '')}-{seed}-{steps}.json")
    if path is not None and path.exists():
        return load_plan(path)
    plan = build_protocol(known, HORIZON, steps=steps, **PLANS[name])
    if path is not None:
        save_plan(plan, path)
    return plan


def one_draw(seed, runs, steps, only=(), where=(), folder=None):
    """{truth: {who: (worst, mean)}}, and {truth: (share handed over, rounds until then, largest gap)} of GUARDED."""
    start, known = time.process_time(), rand(10, 20, 0.4, seed=seed)
    plans = {name: plan_of(name, known, seed, steps, folder) for name in PLANS if not only or name in only}
    lost, handed = {}, {}
    for name, truth in truths(known, seed).items():
        if where and name not in where:
            continue
        players = {**plans, **{policy: policy for policy in POLICIES if not only or policy in only}}
        results = simulate(
            truth, players, horizon=HORIZON, runs=runs, seed=seed, believed=known, rounds=[HORIZON], workers=1
        )
        regret = results.regret[..., -1].mean(axis=2)
        lost[name] = {who: (float(own.max()), float(own.mean())) for who, own in zip(players, regret, strict=True)}
        if GUARDED not in players:
            continue
        first = results.alarmed[list(players).index(GUARDED)]
        largest = float((truth.means.max(axis=1) - truth.means.min(axis=1)).max())
        until = float(first[first > 0].mean()) if (first > 0).any() else None
        handed[name] = (float((first > 0).mean()), until, largest)
    return {"seed": seed, "lost": lost, "handed": handed, "seconds": time.process_time() - start}


def show(draw):
    """One draw, as a table."""
    print(f"\nseed {draw['seed']} ({draw['seconds']:.0f} s): worst task / mean")
    for truth, lost in draw["lost"].items():
        cells = "  ".join(f"{who} {worst:,.0f}/{mean:,.0f}" for who, (worst, mean) in lost.items())
        print(f"  off by {truth:>4}: {cells}{handed_over(draw['handed'].get(truth))}", flush=True)


def handed_over(found):
    """What happened to the cases of the plan with a fallback, where it was played."""
    if found is None:
        return ""
    share, until, gap = found
    return f"   {share:.0%} handed over, after {until or 0:,.0f} rounds on average; largest gap {gap:.2f}"


def summary(draws):
    """The averages over the draws, beside what was asked."""
    players = list(next(iter(draws[0]["lost"].values())))
    print(f"\nAveraged over {len(draws)} draws, worst task / mean:\n\n| truth | {' | '.join(players)} |")
    for truth in draws[0]["lost"]:
        mean = {who: np.mean([d["lost"][truth][who] for d in draws], axis=0) for who in players}
        print(f"| off by {truth} | {' | '.join(f'{w:,.0f} / {m:,.0f}' for w, m in mean.values())} |")
        for (where, who), (worst, average) in ASKED.items():
            if where == truth and who in mean:
                reached = mean[who][0] <= worst and mean[who][1] <= average
                print(f"    asked of {who}: {worst} / {average}: {'reached' if reached else 'missed'}")
    for truth, other, words in (("0", "plan", "known kinds"), (NONE, "bernoulli-ts", "none of the kinds")):
        if truth not in draws[0]["lost"] or not {GUARDED, other} <= set(players):
            continue
        ours, theirs = (np.mean([d["lost"][truth][who] for d in draws], axis=0) for who in (GUARDED, other))
        print(f"{words}, {GUARDED} over {other}: {ours[0] / theirs[0]:.2f} / {ours[1] / theirs[1]:.2f} (asked 1.5)")


def picture(draws, path):
    """Loss against distance, averaged over the draws."""
    far = {"0": "known kinds", NONE: "none of them"}
    names = {"bernoulli-ts": "Thompson from scratch"}
    lost = {
        names.get(who, who): [float(np.mean([d["lost"][truth][who][1] for d in draws])) for truth in draws[0]["lost"]]
        for who in next(iter(draws[0]["lost"].values()))
    }
    words = [far.get(truth, f"off by {truth}") for truth in draws[0]["lost"]]
    draw(f"rand-10-20, H = 10,000, {counted(len(draws), 'draw')}", words, lost, path)


def draw(title, truths, lost, path):
    """Write the figure as .pdf, .png or .svg: one line for each plan or policy, losses by powers of ten."""
    with matplotlib_settings():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(6.4, 4.6), layout="constrained")
        axis = figure.subplots()
        for index, (who, values) in enumerate(lost.items()):
            colour, style = PALETTE[index % len(PALETTE)], STYLES[index % len(STYLES)]
            axis.plot(range(len(truths)), values, f"o{style}", color=colour, label=who, markersize=3.5)
        axis.set(yscale="log", xlabel="rates of the cases", ylabel="lost, mean over tasks", title=title)
        axis.yaxis.set_major_formatter(lambda value, _place: f"{value:,.0f}")
        axis.set_xticks(range(len(truths)), truths)
        axis.grid(alpha=0.3, which="major")
        figure.legend(loc="outside lower center", ncols=3, fontsize=9)
        save_figure(figure, path)


def changes():
    """How fast a capped score notices a change half-way, beside a CUSUM that knows it, at the same false-alarm rate."""
    print("\n| rate before | after | points | floor | cap | rounds to a false alarm | noticed after | CUSUM | ratio |")
    for before, after in ((0.9, 0.7), (0.9, 0.5), (0.8, 0.6), (0.8, 0.4), (0.6, 0.3)):
        for points, floor, cap in (((-3, 1), 10, 10), ((-9, 1), 30, 20), ((-1, 1), 8, 4), ((-3, 2), 12, 20)):
            drift = [points[0] * (1 - rate) + points[1] * rate for rate in (before, after)]
            if not drift[0] > 0 > drift[1]:  # the score would not rise before, or would tolerate the change
                continue
            between, delay = capped_delay(points, floor, cap, before, after)
            best = cusum_delay(before, after, between)
            numbers = f"{between:,.0f} | {delay:.1f} | {best:.1f} | {delay / best:.2f} |"
            print(f"| {before} | {after} | {points[1]:+d}/{points[0]:+d} | {floor} | {cap} | {numbers}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", default="2000")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("--only", default="", help="of the plans and policies, names separated by commas")
    parser.add_argument("--where", default="", help="of the truths, separated by commas: 0, 0.025, ..., none")
    parser.add_argument("--plans", help="a folder in which plans are kept, and found again")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--changes", action="store_true", help="only how fast changes are noticed")
    parser.add_argument("--known", type=Path, help="draws that were written by --json, instead of new ones")
    parser.add_argument("--picture", type=Path)
    given = parser.parse_args()
    given.only, given.where = (tuple(filter(None, text.split(","))) for text in (given.only, given.where))
    if given.known is not None:
        draws = json.loads(given.known.read_text())
        summary(draws)
        if given.picture is not None:
            picture(draws, given.picture)
        return
    if not given.only:
        changes()
    if given.changes:
        return
    first, _, last = given.draws.partition("-")
    seeds, draws = range(int(first), int(last or first) + 1), []
    with ProcessPoolExecutor(given.workers) as pool:
        same = ([value] * len(seeds) for value in (given.runs, given.steps, given.only, given.where, given.plans))
        for draw in pool.map(one_draw, seeds, *same):
            draws.append(draw)
            show(draw)
            if given.json is not None:
                given.json.write_text(json.dumps(draws))
    summary(draws)
    if given.picture is not None:
        picture(draws, given.picture)


if __name__ == "__main__":
    main()
