"""What one sentence for paper saves: the plan with and without `ask`, on the kinds, near them and on cases of no kind.

All losses are computed (`certify`), none simulated. A case that is handed over then loses what Thompson sampling loses
from scratch (`theory.thompson`, an estimate), which is more than what a person who knows the case would.

Run: python benchmarks/bench_asking.py --draws 9510-9513
"""

import argparse
from dataclasses import replace

import numpy as np

from banditree.certificates.certify import certify
from banditree.protocols.build import build_plan
from banditree.tasks.collection import Collection
from banditree.tasks.instances import rand
from banditree.theory.thompson import thompson_loss

HORIZON, OFF, CASES = 10_000, 0.1, 100


def truths(known, seed):
    """The cases of each setting, by name."""
    rng = np.random.default_rng([seed, 31])
    near = np.repeat(known.means, CASES // known.n_tasks, axis=0)
    near = np.clip(near + rng.uniform(-OFF, OFF, near.shape), 0.0, 1.0)
    none = rng.uniform(0.0, 1.0, (CASES, known.n_arms))
    return {"known": known, "off by 0.1": Collection.bernoulli(near), "none": Collection.bernoulli(none)}


def lost(plan, cases):
    """What each case loses, and how often it is handed over."""
    cases = replace(cases, arms=plan.arms)
    found = certify(plan, cases, must_rest=False)
    handed_over = np.zeros(cases.n_tasks) if found.handed_over is None else found.handed_over
    return found.regret + handed_over * thompson_loss(cases, HORIZON, np.arange(cases.n_arms)), handed_over


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", default="9510-9513")
    first, last = (int(part) for part in parser.parse_args().draws.split("-"))
    print("draw  begun at most  cases       plan: worst / mean  --ask: worst / mean  handed over: most / mean")
    for seed in range(first, last + 1):
        known = rand(10, 20, 0.4, seed=seed)
        asked = build_plan(known, HORIZON, ask=True)
        starts = None if asked.fallback is None else asked.fallback.starts
        for name, cases in truths(known, seed).items():
            before, _ = lost(replace(asked, fallback=None), cases)
            after, handed_over = lost(asked, cases)
            losses = [f"{one.max():10,.1f} / {one.mean():7,.1f}" for one in (before, after)]
            handed = f"{handed_over.max():17.3f} / {handed_over.mean():.3f}"
            print(f"{seed}  {starts!s:13}  {name:10}", *losses, handed, flush=True)


if __name__ == "__main__":
    main()
