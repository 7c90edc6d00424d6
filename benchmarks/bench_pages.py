"""Pages for options that a case must not get: what they lose, and how long they take.

    python benchmarks/bench_pages.py --draws 9500-9509 --jobs 16 [--steps 2000]

For each draw of rand-10-20: the exact worst loss of the plan and, for each option that it gives, of the page without
that option, against the best option that is left; and one page divided by a plan searched without its option. The exit
status is 1 if such a ratio is above 1.2. Times are processor seconds of one core.
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
HEAD = " seed  plan  pages  s per page  median page  worst page  one page to a plan searched without its option"


def collection(seed):
    """One draw."""
    return rand(*SIZES["rand-10-20"], SEPARATION, seed=seed)


def planned(task):
    """The plan of a draw, for some steps of the search."""
    seed, steps = task
    compile_all()
    return build_plan(collection(seed), HORIZON, steps=steps)


def page_lost(task):
    """(draw, option, worst loss on the page, seconds) for one option of a plan."""
    seed, arm, plan, steps = task
    compile_all()
    start = time.process_time()
    paged = add_pages(plan, collection(seed), [(arm,)], steps=steps)
    seconds = time.process_time() - start
    return seed, arm, missing_losses(paged, collection(seed), only=[(arm,)])[(arm,)].max(), seconds


def alone_lost(task):
    """(draw, option, the worst loss of a plan searched without the option, seconds)."""
    seed, arm, _plan, steps = task
    compile_all()
    fewer, start = without_arms(collection(seed), [arm]), time.process_time()
    return seed, arm, certify(build_plan(fewer, HORIZON, steps=steps), fewer).worst_regret, time.process_time() - start


def found(work):
    """One search, whichever it is."""
    search, task = work
    return search.__name__, search(task)


def line(seed, plan, pages, alone):
    """The row of a draw. pages: (loss, seconds) by option; alone: the loss for one of them."""
    lost, seconds = np.array(list(pages.values())).T
    own, (arm, other) = certify(plan, collection(seed)).worst_regret, alone
    about = f"{own:5.2f} {len(lost):6} {seconds.mean():11.1f} {np.median(lost):12.2f} {lost.max():11.2f}"
    return f"{seed:5} {about} {pages[arm][0] / other:8.4f}"


def main():
    """The table, row by row, on the screen and in the folder $OUT if there is one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", default="9500")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--steps", type=int, help="of each search [default: as many as by default]")
    asked = parser.parse_args()
    seeds, rows, worst = numbers(asked.draws), [HEAD], 0.0
    print(HEAD, flush=True)
    with multiprocessing.get_context("spawn").Pool(asked.jobs) as pool:
        plans = dict(zip(seeds, pool.map(planned, [(seed, asked.steps) for seed in seeds], chunksize=1), strict=True))
        tasks = {
            seed: [(seed, arm, plan, asked.steps) for arm in plan.arms if arm in given_arms(plan)]
            for seed, plan in plans.items()
        }
        work = [one for own in tasks.values() for one in [(alone_lost, own[0]), *((page_lost, task) for task in own)]]
        pages, alone = {seed: {} for seed in seeds}, {}
        for name, (seed, arm, lost, seconds) in pool.imap_unordered(found, work):
            if name == "alone_lost":
                alone[seed] = arm, lost
            else:
                pages[seed][arm] = lost, seconds
            if seed in alone and len(pages[seed]) == len(tasks[seed]):
                rows.append(line(seed, plans[seed], pages[seed], alone[seed]))
                worst = max(worst, pages[seed][alone[seed][0]][0] / alone[seed][1])
                print(rows[-1], flush=True)
                if "OUT" in os.environ:
                    Path(os.environ["OUT"], "pages.txt").write_text("\n".join(rows) + "\n")
    return int(worst > ASKED)


if __name__ == "__main__":
    sys.exit(main())
