"""Protocols against mTS: exact worst regret of the plan divided by the simulated worst regret of mTS.

    python benchmarks/bench_plans.py                       # the demo and hard-5-10: a minute
    python benchmarks/bench_plans.py --draws 7000-7009     # and ten draws of rand-10-20
    python benchmarks/bench_plans.py --large 7000-7004     # and five draws of rand-40-40
    python benchmarks/bench_plans.py --huge 7000           # and rand-100-50 with 2 lines per task
    python benchmarks/bench_plans.py --share 1 --longest-path 8
    python benchmarks/bench_plans.py --draws 7000-7009 --jobs 16
    python benchmarks/bench_plans.py --draws 9800-9801 --islands 2     # two searches side by side that share the steps
    python benchmarks/bench_plans.py --draws 9800-9801 --seconds 4     # what is found in a time
    python benchmarks/bench_plans.py --draws 9850-9859 --longest-path 8 --runs 10000       # the tails need many runs
    python benchmarks/bench_plans.py --draws 7000-7009 --objective worst                   # whatever single cases lose

The asked ratios are averages over the draws: the exit status is 1 only if an average misses its own. mTS has 2,000 runs
per task (`--runs`), because the worst of noisy means is too large, which flatters whoever is compared with it. "load"
is the reading load, "passed" the lines that a case passes on average. Times are processor seconds of all cores: of the
search and its tables without compiling, until the first plan with all its lines ("soon"), and of the certificate;
"wall" is the time by the clock of the search.
"worst 1%" is the mean loss of the worst 1% of cases, in the kind where it is largest: computed for plans, simulated for
mTS, of which the largest of noisy numbers is too large as well.
Each plan is made in a process of its own (`--jobs`: so many at once, which makes each slower). Seeds 0 to 29, 100 to
109 and 1000 to 1009 were looked at while the search was made: use others.
"""

import argparse
import multiprocessing
import sys
import time

import numpy as np

from banditree.certificates.certify import certify
from banditree.files.clinic import clinic
from banditree.plans.reading_load import reading_load
from banditree.protocols.protocol import build_protocol
from banditree.simulation.engine import simulate
from banditree.tasks.instances import hard, rand

HORIZON = 10_000
SEPARATION = 0.4
# (lines per task, asked ratio to mTS) by the name of the collections.
ASKED = {
    "demo": {1.0: 0.65},
    "hard-5-10": {1.0: 0.5},
    "rand-10-20": {1.0: 1.0, 1.5: 0.75, 2.0: 0.65},
    "rand-40-40": {1.5: 1.15, 2.0: 1.0},
    "rand-100-50": {2.0: 2.0},
}
SIZES = {"rand-10-20": (10, 20), "rand-40-40": (40, 40), "rand-100-50": (100, 50)}
HEAD = "collection    seed  lines path  load passed   cpu s   wall  soon  cert   plan    mTS  ratio  asked"
TAIL = "  worst 1%    mTS  ratio"


def numbers(text):
    """`20-22` as [20, 21, 22]."""
    if not text:
        return []
    first, _, last = text.partition("-")
    return list(range(int(first), int(last or first) + 1))


def instance(name, seed):
    """(collection, horizon)."""
    if name == "demo":
        return clinic(), 1_000
    if name == "hard-5-10":
        return hard(5, 10, SEPARATION, 0.01), HORIZON
    return rand(*SIZES[name], SEPARATION, seed=seed), HORIZON


def mts(name, seed, runs):
    """The worst regret over tasks, and the worst mean of the worst 1%."""
    collection, horizon = instance(name, seed)
    results = simulate(collection, ["mts"], horizon=horizon, runs=runs, rounds=[horizon])
    lost = np.sort(results.regret[0][..., -1], axis=1)
    return float(lost.mean(axis=1).max()), float(lost[:, -max(runs // 100, 1) :].mean(axis=1).max())


def planned(name, seed, share, longest_path, objective, islands, given):
    """What one plan is like, by name."""
    compile_all()
    collection, horizon = instance(name, seed)
    lines, start, soon = round(share * collection.n_tasks), time.process_time(), []

    def look(progress):
        if not soon and progress.text == f"{lines} lines":
            soon.append(time.process_time() - start)

    how = {"lines": lines, "longest_path": longest_path, "objective": objective, "islands": islands, "seconds": given}
    began = time.monotonic()
    plan = build_protocol(collection, horizon, on_progress=look, **how)
    seconds, wall = time.process_time() - start, time.monotonic() - began
    certificate = certify(plan, collection)
    return {
        "lines": plan.n_tests,
        "path": plan.depth,
        "load": reading_load(plan),
        "passed": certificate.entered[:, [bool(row.counts.exits) for row in plan.rows]].sum(axis=1).mean(),
        "seconds": seconds,
        "wall": wall,
        "soon": soon[0] if soon else np.nan,
        "certified": time.process_time() - start - seconds,
        "worst": certificate.worst_regret,
        "unlucky": np.nan if certificate.unlucky is None else certificate.unlucky.worst.max(),
    }


def compile_all():
    """Compile what a search and a certificate need, so that it is not timed."""
    small = rand(3, 3, 0.2)
    certify(build_protocol(small, 100, steps=90), small)


def job(task):
    """The task with what it gives."""
    what, *arguments = task
    return task, (mts if what == "mts" else planned)(*arguments)


def jobs_of(arguments):
    """(what, arguments) of everything to compute, what takes longest first."""
    seeds = {"rand-100-50": arguments.huge, "rand-40-40": arguments.large, "rand-10-20": arguments.draws}
    cases = [(name, seed) for name, given in seeds.items() for seed in numbers(given)]
    if not arguments.only_draws:
        cases += [("hard-5-10", 0), ("demo", 0)]
    shares = {name: ASKED[name] if arguments.share is None else [arguments.share] for name in ASKED}
    plans = [
        ("plan", *case, share, arguments.longest_path, arguments.objective, arguments.islands, arguments.seconds)
        for case in cases
        for share in shares[case[0]]
    ]
    return plans, [("mts", *case, arguments.runs) for case in cases]


def results_of(tasks, n_jobs):
    """The results as they come."""
    if n_jobs == 1:
        yield from map(job, tasks)
        return
    compile_all()  # once, for all processes
    with multiprocessing.get_context("spawn").Pool(n_jobs) as pool:
        yield from pool.imap_unordered(job, tasks)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", default="", help="seeds of rand-10-20, as 20-29")
    parser.add_argument("--large", default="", help="seeds of rand-40-40")
    parser.add_argument("--huge", default="", help="seeds of rand-100-50")
    parser.add_argument("--only-draws", action="store_true", help="neither the demo nor hard-5-10")
    parser.add_argument("--share", type=float, default=None, help="lines per task: this one alone")
    parser.add_argument("--longest-path", type=int, default=None)
    parser.add_argument("--islands", type=int, default=1, help="searches side by side, in as many threads as cores")
    parser.add_argument("--seconds", type=float, default=None, help="for each search, instead of the default's steps")
    parser.add_argument("--objective", default=None, help="worst, mean or unlucky; the default of the product")
    parser.add_argument("--runs", type=int, default=2_000, help="of mTS per task")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    arguments = parser.parse_args()
    plans, simulations = jobs_of(arguments)
    beside, waiting, ratios = {}, [], {}
    print(HEAD + TAIL)
    order = simulations + plans if arguments.jobs == 1 else plans[:12] + simulations + plans[12:]
    for (what, name, seed, *rest), found in results_of(order, arguments.jobs):
        if what == "mts":
            beside[name, seed] = found
        else:
            waiting.append((name, seed, rest[0], found))
        for row in [row for row in waiting if row[:2] in beside]:
            waiting.remove(row)
            show(*row, beside[row[:2]], ratios)
    print()
    missed = False
    for (name, share), found in sorted(ratios.items()):
        asked, (mean, tail) = ASKED[name].get(share, np.inf), np.mean(found, axis=0)
        missed |= float(mean) > asked
        print(f"{name}, {share:g} lines per task, over {len(found)}: {mean:.3f}, asked {asked:g}; worst 1% {tail:.3f}")
    return int(missed)


def show(name, seed, share, found, beside, ratios):
    """One row of the table."""
    worst, unlucky = beside
    ratio, tail = found["worst"] / worst, found["unlucky"] / unlucky
    ratios.setdefault((name, share), []).append((ratio, tail))
    print(
        f"{name:12} {seed:5} {found['lines']:6} {found['path']:4} {found['load']:5.1f} {found['passed']:6.1f} "
        f"{found['seconds']:7.1f} {found['wall']:6.1f} {found['soon']:5.1f} {found['certified']:5.1f} "
        f"{found['worst']:6.2f} {worst:6.2f} {ratio:6.2f} {ASKED[name].get(share, np.nan):6.2f} "
        f"{found['unlucky']:9.1f} {unlucky:6.1f} {tail:6.2f}",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
