"""Pages for options that a case must not get: what they lose, and how long they take.

    python benchmarks/bench_pages.py --draws 9500-9509 --jobs 16

For each draw of rand-10-20: the exact worst loss of the plan and, for each option that it gives, of the page without
that option, against the best option that is left; and the worst page divided by a plan searched without its option. The
exit status is 1 if such a ratio is above 1.2. Times are processor seconds of one core.
"""

import argparse
import multiprocessing
import os
import sys
import time
from pathlib import Path

import numpy as np
from bench_plans import HORIZON, SEPARATION, SIZES, compile_all, numbers

from banditree.certificates.certify import certify
from banditree.certificates.missing import missing_losses
from banditree.plans.pages import given_arms
from banditree.protocols.build import add_pages, build_plan
from banditree.tasks.changes import without_arms
from banditree.tasks.instances import rand

ASKED = 1.2
HEAD = " seed  plan  pages  s per page  median page  worst page  the worst to a plan searched without the option"


def collection(seed):
    """One draw."""
    return rand(*SIZES["rand-10-20"], SEPARATION, seed=seed)


def planned(seed):
    """The plan of a draw."""
    compile_all()
    return build_plan(collection(seed), HORIZON)


def page_lost(task):
    """(worst loss on the page, seconds) for one option of a plan."""
    seed, arm, plan = task
    compile_all()
    start = time.process_time()
    paged = add_pages(plan, collection(seed), [(arm,)])
    seconds = time.process_time() - start
    return missing_losses(paged, collection(seed), only=[(arm,)])[(arm,)].max(), seconds


def alone_lost(task):
    """The worst loss of a plan searched without an option."""
    seed, arm, _plan = task
    fewer = without_arms(collection(seed), [arm])
    return certify(build_plan(fewer, HORIZON), fewer).worst_regret


def main():
    """The table, on the screen and in the folder $OUT if there is one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", default="9500")
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args()
    seeds = numbers(asked.draws)
    with multiprocessing.get_context("spawn").Pool(asked.jobs) as pool:
        plans = dict(zip(seeds, pool.map(planned, seeds, chunksize=1), strict=True))
        tasks = [(seed, arm, plan) for seed, plan in plans.items() for arm in plan.arms if arm in given_arms(plan)]
        found = dict(zip([task[:2] for task in tasks], pool.map(page_lost, tasks, chunksize=1), strict=True))
        worst = [max((task for task in tasks if task[0] == seed), key=lambda one: found[one[:2]][0]) for seed in seeds]
        alone = pool.map(alone_lost, worst, chunksize=1)
    ratios, rows = [found[task[:2]][0] / lost for task, lost in zip(worst, alone, strict=True)], [HEAD]
    for (seed, plan), ratio in zip(plans.items(), ratios, strict=True):
        lost, seconds = np.array([one for key, one in found.items() if key[0] == seed]).T
        own = certify(plan, collection(seed)).worst_regret
        numbers_of = f"{own:5.2f} {len(lost):6} {seconds.mean():11.1f} {np.median(lost):12.2f} {lost.max():11.2f}"
        rows.append(f"{seed:5} {numbers_of} {ratio:8.4f}")
    print("\n".join(rows))
    if "OUT" in os.environ:
        Path(os.environ["OUT"], "pages.txt").write_text("\n".join(rows) + "\n")
    return int(max(ratios) > ASKED)


if __name__ == "__main__":
    sys.exit(main())
