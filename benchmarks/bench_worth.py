"""What heeding prices, the cost of a change and a washout saves, against plans that ignore them.

    python benchmarks/bench_worth.py --draws 9900-9909 --jobs 16

Draws of rand-10-20 in which a success is worth 100, options cost up to 20 a round (drawn with the same seed) and a
change costs 100; a washout is 5 rounds. Every plan is made with the default search and certified with everything that
is counted. The exit status is 1 if a plan that heeds something loses more in its worst kind than one that does not.
With $OUT the table is also written there.
"""

import argparse
import multiprocessing
import os
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from banditree.certificates.certify import certify
from banditree.protocols.protocol import build_protocol
from banditree.tasks.changes import with_free_changes, with_worth
from banditree.tasks.instances import rand

HORIZON, CHANGE, WASHOUT = 10_000, 100.0, 5
HEAD = "draw   prices ignored  heeded   change ignored  heeded  times before  after   washout ignored  heeded"


def numbers(text):
    """`20-22` as [20, 21, 22]."""
    first, _, last = text.partition("-")
    return list(range(int(first), int(last or first) + 1))


def priced(draw):
    """The drawn rates with their prices and the cost of a change."""
    price = np.random.default_rng(draw).uniform(0, 20, 20)
    return with_worth(rand(10, 20, 0.4, seed=draw), price=price, value=100, change=CHANGE, unit="EUR")


def made(job):
    """(draw, which, plan) of one search."""
    draw, which, steps = job
    known = priced(draw)
    free = with_free_changes(known)
    seen = {"plain": replace(known, worth=None), "prices": free, "change": known, "washout": free}[which]
    return draw, which, build_protocol(seen, HORIZON, steps=steps, washout=WASHOUT if which == "washout" else 0)


def row(draw, plans):
    """The worst losses of one draw, and how often a case is given another option on average."""
    known = priced(draw)
    free = with_free_changes(known)
    waits = replace(plans["prices"], washout=WASHOUT)
    before, after = certify(plans["prices"], known), certify(plans["change"], known)
    worst = [
        certify(plans["plain"], free).worst_regret,
        certify(plans["prices"], free).worst_regret,
        before.worst_regret,
        after.worst_regret,
    ]
    washout = [certify(plan, free).worst_regret for plan in (waits, plans["washout"])]
    return [*worst, before.changes.mean(), after.changes.mean(), *washout]


def main():
    """Print the table; 1 if heeding ever loses more."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", default="9900")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--steps", type=int, default=None, help="of each search; by default those of banditree")
    asked = parser.parse_args()
    draws, kinds = numbers(asked.draws), ("change", "washout", "prices", "plain")  # the longest searches first
    jobs = [(draw, which, asked.steps) for which in kinds for draw in draws]
    with multiprocessing.get_context("spawn").Pool(asked.jobs) as pool:
        plans = {(draw, which): plan for draw, which, plan in pool.imap_unordered(made, jobs)}
    lines, worse = [HEAD], False
    for draw in draws:
        numbers_of = row(draw, {which: plans[draw, which] for which in kinds})
        plain, prices, heedless, heeding, before, after, waits, waiting = numbers_of
        worse |= prices > plain or heeding > heedless + 1e-6 or waiting > waits + 1e-6
        lines.append(
            f"{draw:4d} {plain:16.0f} {prices:7.0f} {heedless:16.0f} {heeding:7.0f} {before:13.2f} {after:6.2f} "
            f"{waits:17.0f} {waiting:7.0f}"
        )
    print("\n".join(lines))
    if out := os.environ.get("OUT"):
        Path(out, "worth.txt").write_text("\n".join(lines) + "\n")
    return int(worse)


if __name__ == "__main__":
    sys.exit(main())
