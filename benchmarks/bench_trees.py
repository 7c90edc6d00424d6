"""Building the tree of rand-2000-200, against scikit-learn's decision tree on the same matrix in the same run.

scikit-learn gets one row per task, one class per task, entropy: the closest job that a well-known library does.
Also the slowest single step of a lazy tree over 10,000 tasks and 200 arms. Seconds are CPU seconds of one core.
"""

import sys
import time

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from banditree.tasks.instances import rand
from banditree.trees.tree import build_tree, lazy_tree


def cpu_seconds(function, *arguments):
    start = time.process_time()
    result = function(*arguments)
    return time.process_time() - start, result


def slowest_lazy_step(tree, target=123):
    members, slowest, steps = tree.start, 0.0, 0
    while len(members) > 1:
        seconds, split = cpu_seconds(tree.split, members)
        low = tree.collection.means[target, split.arm] <= split.threshold
        members, slowest, steps = (split.low if low else split.high), max(slowest, seconds), steps + 1
    return slowest, steps


collection = rand(2000, 200, 0.4)
build_tree(rand(200, 200, 0.4), 10**6, 0.4)  # compiles, or reads what was compiled
ours, plan = cpu_seconds(build_tree, collection, 10**6, 0.4)
peer = DecisionTreeClassifier(criterion="entropy", random_state=0)
theirs, _ = cpu_seconds(peer.fit, collection.means, np.arange(2000))
lazy, steps = slowest_lazy_step(lazy_tree(rand(10_000, 200, 0.4), 10**6, 0.4))
print(f"banditree     {ours:6.2f} s   {plan.n_boxes:,} boxes, depth {plan.depth}")
print(f"scikit-learn  {theirs:6.2f} s   {peer.tree_.node_count:,} nodes; {theirs / ours:.1f} times as long")
print(f"lazy tree over 10,000 tasks: {steps} steps, the slowest {lazy:.2f} s")
sys.exit(0 if theirs > 3 * ours and ours < 10 and lazy < 0.5 else 1)
