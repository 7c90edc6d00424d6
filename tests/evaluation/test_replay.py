import numpy as np
import pytest
from simulated_logs import TRUTH, full_log, partial_log, switching_plan

from banditree.cases.table import cases_of
from banditree.evaluation.replay import NOT_REACHED, replay
from banditree.evaluation.singles import hindsight, replay_single
from banditree.policies.registry import policy_named
from banditree.policies.session import Session
from banditree.policies.starting import start_session


def followed(session, outcomes, horizon, waits):
    """The slow and obvious replay: ask, look up, tell."""
    got, chosen = [], []
    for row in outcomes:
        if len(got) == horizon:
            break
        step = session.ask()
        chosen.append(step.arm)
        if np.isnan(row[step.arm]):
            if not waits:
                break
            continue
        session.tell(row[step.arm], step.round)
        got.append(row[step.arm])
    return got, chosen


def rounds_of(history):
    return [history.outcomes[a:b] for a, b in zip(history.first[:-1], history.first[1:], strict=True)]


@pytest.mark.parametrize("waits", [True, False])
@pytest.mark.parametrize("log", [full_log(30, 9, 1), partial_log(30, 9, 1)])
def test_replay_is_asking_and_telling(log, waits):
    plan = switching_plan(6)
    played = replay(plan, log, 6, waits=waits)
    for case, outcomes in enumerate(rounds_of(log)):
        got, chosen = followed(start_session(plan), outcomes, 6, waits)
        assert played.total[case] == sum(got)
        assert played.rounds[case] == len(got)
        assert played.rewards[case, : len(got)].tolist() == got
        there = played.chosen[log.first[case] : log.first[case + 1]]
        assert there.tolist() == chosen + [NOT_REACHED] * (len(outcomes) - len(chosen))


@pytest.mark.parametrize("name", ["mts", "mids", "bernoulli-ts"])
def test_policies_are_replayed_as_sessions_play_them(name):
    log, policy = full_log(10, 8, 2), policy_named(name)
    played = replay(TRUTH, log, 8, policy=policy, seed=5)
    for case, outcomes in enumerate(rounds_of(log)):
        session = Session(policy, TRUTH, horizon=8, seed=5, case=case)
        assert played.total[case] == sum(followed(session, outcomes, 8, True)[0])


def test_one_arm_for_all_and_hindsight_are_what_they_say():
    log = partial_log(20, 7, 3)
    for arm in (0, 1):
        played = replay_single(log, arm, 2)
        for case, outcomes in enumerate(rounds_of(log)):
            known = outcomes[~np.isnan(outcomes[:, arm]), arm][:2]
            assert (played.total[case], played.rounds[case]) == (known.sum(), len(known))
    full = full_log(20, 7, 3)
    best = [outcomes[:5].sum(axis=0).max() for outcomes in rounds_of(full)]
    assert hindsight(full, 5).total.tolist() == best


def test_a_round_without_the_outcome_is_passed_over():
    log = cases_of(["a"] * 3, ["A", "B"], [[np.nan, 1], [1, 0], [1, 0]])
    assert replay(switching_plan(3), log, 3).rewards[0, :2].tolist() == [1, 1]
