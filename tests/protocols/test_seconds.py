"""A budget in seconds: the search fills it, however long it is, and ends with it, and its plan says so."""

import time

import pytest

from banditree.errors import InvalidInput
from banditree.progress import Clock
from banditree.protocols.build import build_plan
from banditree.protocols.front import pareto_front
from banditree.tasks.instances import rand
from banditree.tasks.state_instances import rand_states

SMALL = rand(3, 3, 0.2, seed=1)
LATE = 20.0  # Other processes may hold this one up for so long.


def test_the_clock_ends_a_search() -> None:
    build_plan(SMALL, 100, steps=60)  # compiled
    taken = []
    for seconds in (0.05, 1.0):
        steps, began = [], time.monotonic()
        plan = build_plan(
            SMALL, 100, seconds=seconds, on_progress=lambda progress, steps=steps: steps.append(progress.done)
        )
        passed = time.monotonic() - began
        assert passed < seconds + LATE
        assert plan.origin.versions["search"] == f"ended after {seconds:g} seconds"
        taken.append(len(steps))
    assert passed > 0.7
    assert taken[1] > 2 * taken[0]
    assert "search" not in build_plan(SMALL, 100, steps=60).origin.versions


def test_seconds_and_steps_are_two_ways_to_say_one_thing() -> None:
    with pytest.raises(InvalidInput, match="steps must be omitted with seconds"):
        build_plan(SMALL, 100, steps=100, seconds=1.0)


@pytest.mark.slow
def test_fronts_and_plans_by_state_keep_to_seconds() -> None:
    assert pareto_front(SMALL, 100, seconds=0.5)
    assert build_plan(rand_states(2, 2, 2), 200, seconds=0.3).origin.versions["search"] == "ended after 0.3 seconds"


def test_a_clock_goes_on_when_time_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("banditree.progress.time.monotonic", lambda: now)
    whole = Clock(20.0)
    clock = Clock(10.0, steps=1_000, done=50, whole=whole)
    now = 200.0
    assert clock() == 50  # it has not begun
    clock.begin()
    now = 205.0
    clock.begin()  # a second time changes nothing
    assert clock() == 550
    assert not clock.is_over
    now = 212.0
    assert clock() == 1_250
    assert (clock.is_over, whole.is_over) == (True, False)
    now = 220.0
    assert whole.is_over
