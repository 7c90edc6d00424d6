"""Random plans that rule engines can follow, and what a session gives in random cases of them."""

import random
from dataclasses import replace

from boxes import Box, assemble
from random_plans import FAMILIES

from banditree.errors import InvalidInput
from banditree.plans.gives import HAND_OVER
from banditree.plans.plan import Decider, Fallback, Form, OnHarm, Page, SafetyRule
from banditree.policies.starting import start_session

FALLBACKS = (
    None,
    None,
    Fallback(Decider.PERSON),
    Fallback(Decider.OPTION, "arm 1"),
    Fallback(Decider.PERSON, starts=2),
    Fallback(Decider.OPTION, "arm 1", starts=3),
)


def random_plans(seed, count):
    """Random plans of score lines, watch lines with caps, fixed rounds, restarts, rules, pauses, pages."""
    rng, found = random.Random(seed), []
    while len(found) < count:
        try:
            found.append(_plan(rng))
        except InvalidInput:  # it never comes to rest, or jumps back without returning
            continue
    return found


def _plan(rng):
    make, cuts, n_bins = rng.choice(FAMILIES)
    known = make(n_arms := rng.randint(2, 4))
    fallback = rng.choice(FALLBACKS)
    whole = _lines(rng, known, range(n_arms), rng.choice(cuts), n_bins, fallback)
    pages = []
    for arm in rng.sample(range(n_arms), rng.choice([0, 0, 1, 2])):
        if n_arms > 2 and (fallback is None or fallback.arm != known.arms[arm]):
            rest = [k for k in range(n_arms) if k != arm]
            own = _lines(rng, known, rest, rng.choice(cuts), n_bins, fallback)
            pages.append(Page((known.arms[arm],), own.lines, own.rule))
    more = {"on_harm": rng.choice([None, OnHarm.NOT_AGAIN]), "washout": rng.choice([0, 0, 1, 3])}
    return replace(whole, pages=tuple(pages), **more)


def _lines(rng, known, arms, cuts, n_bins, fallback):
    n_lines = rng.randint(1, 5)
    ends = [Box(rng.choice(arms)), Box(HAND_OVER) if fallback is not None else Box(rng.choice(arms))]

    def points():
        return (-rng.randint(1, 4), *(rng.randint(-1, 1) for _ in range(n_bins - 2)), rng.randint(1, 4))

    lines = []
    for place in range(n_lines):
        onward, anywhere = rng.randint(place + 1, n_lines + 1), rng.choice([0, rng.randint(0, n_lines + 1)])
        scored = {"points": points(), "cuts": cuts, "floor": rng.randint(1, 6)}
        kind = rng.choice(["watch", "score", "score", "rounds"])
        one, other = rng.sample([onward, anywhere], 2)
        if kind == "watch":
            lines.append(Box(rng.choice(arms), low=onward, cap=rng.choice([0, 0, 2, 20]), **scored))
        elif kind == "score":
            lines.append(Box(rng.choice(arms), low=one, high=other, ceil=rng.randint(1, 6), **scored))
        else:
            pulls = rng.randint(1, 4)
            lines.append(Box(rng.choice(arms), one, other, pulls=pulls, threshold=float(rng.randint(0, pulls))))
    by_rule = SafetyRule(points(), rng.randint(1, 6), cuts, rng.choice([0, 0, 2]), fallback is not None)
    rule = by_rule if rng.random() < 0.6 else None
    return assemble([*lines, *ends], known, 30, form=Form.LINES, rule=rule, fallback=fallback)


def cases_of(plan, seed, count):
    """Random cases as the session decides them: [{without, events, given}]; given: [what, page, row, rounds, total]."""
    rng, cases = random.Random(seed), []
    for number in range(count):
        without = [rng.choice(plan.arms)] if number % 3 == 2 else []
        try:
            session = start_session(plan, without=without)
        except InvalidInput:  # no page for such a case
            session, without = start_session(plan), []
        events, given, luck = [], [], rng.choice([0.3, 1, 3])
        for number in range(plan.horizon + 1):
            given.append(_next(session))
            if session.open_rounds == []:
                break
            harm = plan.on_harm is not None and rng.random() < 0.1
            events.append({"outcome": _outcome(plan.rewards, rng.random() ** luck), "harm": harm})
            session.tell(events[-1]["outcome"], number + 1, harm=harm if plan.on_harm is not None else None)
        cases.append({"without": without, "events": events, "given": given})
    return cases


def _next(session):
    step, facts = session.ask(), session.explain()
    missing = [(), *(page.missing for page in session.whole.pages)]
    page = 0 if session.stranded else missing.index(session.subject.missing) + 1
    at = [page, facts.box, facts.pulls, facts.total] if page else [0, 0, 0, 0]
    return [step.name if step.outcome is None else step.outcome.name.lower(), *at]


def _outcome(rewards, share):
    if rewards.support:
        return rewards.support[int(share * len(rewards.support))]
    return round(rewards.low + share * rewards.width if rewards.has_range else 4 * share - 2, 2)
