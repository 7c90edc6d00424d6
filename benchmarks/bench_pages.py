"""Pages for options that a case must not get, against plans searched without these options.

    python benchmarks/bench_pages.py --draws 9500-9509 --jobs 16

For each option that the plan of a draw gives: the exact worst loss on its page divided by that of a plan which the same
search, with all its steps, finds for the collection without the option; both against the best option that is left. The
exit status is 1 if one ratio is above 1.2. Times are processor seconds of one core.
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
    """(worst loss of a plan searched without the option, seconds)."""
    seed, arm, _plan = task
    compile_all()
    fewer, start = without_arms(collection(seed), [arm]), time.process_time()
    return certify(build_plan(fewer, HORIZON), fewer).worst_regret, time.process_time() - start


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
        alone = pool.map_async(alone_lost, tasks, chunksize=1)
        pages = pool.map(page_lost, tasks, chunksize=1)
        alone = alone.get()
    rows = [" seed  plan  pages   s per page   worst page: loss  alone  ratio   median ratio"]
    worst = 0.0
    for seed, plan in plans.items():
        mine = [place for place, task in enumerate(tasks) if task[0] == seed]
        ratios = np.array([pages[place][0] / alone[place][0] for place in mine])
        top = mine[int(ratios.argmax())]
        worst = max(worst, ratios.max())
        loss, seconds = certify(plan, collection(seed)).worst_regret, np.mean([pages[place][1] for place in mine])
        rows.append(
            f"{seed:5} {loss:5.2f} {len(mine):6} {seconds:12.1f} {pages[top][0]:18.2f} {alone[top][0]:6.2f} "
            f"{ratios.max():6.3f} {np.median(ratios):14.3f}"
        )
    rows.append(f"worst ratio {worst:.3f}, asked at most {ASKED}")
    print("\n".join(rows))
    if "OUT" in os.environ:
        Path(os.environ["OUT"], "pages.txt").write_text("\n".join(rows) + "\n")
    return int(worst > ASKED)


if __name__ == "__main__":
    sys.exit(main())
