"""Where a case stands, in words."""

from typing import TYPE_CHECKING

from banditree.plans.case_wording import MOST_NAMES, is_scored, possible_sentence, tally_sentence
from banditree.plans.counts import Rounds
from banditree.plans.plan import Plan
from banditree.plans.state_wording import pending_sentence
from banditree.plans.wording import box_sentence, fallback_sentence, on_page, place_name, rounds, rule_sentence
from banditree.plans.words import Vocabulary, harm_noun
from banditree.policies.base import Facts
from banditree.trees.tree import LazyTree

if TYPE_CHECKING:
    from banditree.certificates.waiting import GoingOn
    from banditree.policies.session import Session


def describe(session: "Session") -> str:
    """Sentences on where the case is, its evidence, the tasks still possible, and what comes next and why."""
    facts, subject = session.explain(), session.subject
    words = subject.vocabulary if isinstance(subject, Plan | LazyTree) else Vocabulary()
    horizon = words.digits(f"{session.horizon:,}")
    lines = [
        words.count(
            len(session.rounds), "{n} round of {horizon} asked.", "{n} rounds of {horizon} asked.", horizon=horizon
        )
    ]
    if (waiting := session.open_rounds) and len(waiting) <= MOST_NAMES:
        numbers = ", ".join(map(str, waiting))
        lines.append(words.say("Waiting for the outcome of round {numbers}.", numbers=numbers))
    elif waiting:
        lines.append(words.say("Waiting for the outcomes of {rounds}.", rounds=rounds(words, len(waiting))))
    if (going_on := session.going_on()) is not None:
        lines.append(going_on_sentence(session, going_on))
    if isinstance(subject, Plan) and facts.box is not None:
        lines.append(_place(subject, facts.box))
    elif not facts.exploiting and facts.arm is not None and "at_most" in facts.details:
        lines.append(_lazy_test(facts, session.arms[facts.arm], words))
    if facts.pulls is not None and (not facts.exploiting or _has_score(subject, facts.box)):
        lines.append(_tally(session, facts.pulls, facts, words))
    if isinstance(subject, Plan):
        lines.append(points_by_state(subject, facts))
    if facts.possible is not None:
        lines.append(
            possible_sentence([words.quoted(session.tasks[i]) for i in facts.possible], len(session.tasks), words)
        )
    if facts.exploiting and facts.arm is not None and facts.possible is not None and len(facts.possible) == 1:
        lines.append(words.say("{name} is best for it.", name=words.quoted(session.arms[facts.arm])))
    if barred := [words.quoted(session.arms[arm]) for arm in sorted(session.harmful)]:
        names = ", ".join(barred)
        lines.append(words.say("Not given again after {a_harm}: {names}.", a_harm=harm_noun(words), names=names))
    if strayed := len(session.off_plan_rounds):
        lines.append(
            words.count(
                strayed,
                "Not as planned: {n} round with another {arm}, not tallied.",
                "Not as planned: {n} rounds with another {arm}, not tallied.",
            )
        )
    return " ".join(filter(None, lines))


def going_on_sentence(session: "Session", found: "GoingOn") -> str:
    """What it costs to give one more round now, without the outcomes still awaited."""
    words = session.subject.vocabulary if isinstance(session.subject, Plan) else Vocabulary()
    return cost_of_going_on(words, found, session.arms[found.arm], session.rewards.counts)


def cost_of_going_on(words: Vocabulary, found: "GoingOn", arm: str, counts: bool) -> str:
    """The same where only these are known: the arm by name, and whether outcomes are counted."""
    values = {"name": words.quoted(arm), "lost": words.plural("success") if counts else words.reward}
    values["loss"] = words.digits(f"{found.loss:.2g}")
    if found.loss == 0.0:
        return words.count(
            found.n_out,
            "{n} outcome is still awaited. One more round of {name} without it costs nothing.",
            "{n} outcomes are still awaited. One more round of {name} without them costs nothing.",
            **values,
        )
    if found.at_estimates:
        return words.count(
            found.n_out,
            "{n} outcome is still awaited. One more round of {name} without it loses about {loss} {lost} more than "
            "waiting for it; waiting costs nothing but time.",
            "{n} outcomes are still awaited. One more round of {name} without them loses about {loss} {lost} more than "
            "waiting for them; waiting costs nothing but time.",
            **values,
        )
    return words.count(
        found.n_out,
        "{n} outcome is still awaited. One more round of {name} without it loses at most {loss} {lost} more than "
        "waiting for it; waiting costs nothing but time.",
        "{n} outcomes are still awaited. One more round of {name} without them loses at most {loss} {lost} more than "
        "waiting for them; waiting costs nothing but time.",
        **values,
    )


def _place(plan: Plan, box: int) -> str:
    at_end = not plan.rows[box].counts.exits and is_scored(plan, box)
    if box == plan.hand_over:
        return fallback_sentence(plan)
    place = f"{place_name(plan, box)}{on_page(plan)}"
    says = f"{box_sentence(plan, box)}{f' {rule_sentence(plan)}' if at_end else ''}"
    return plan.vocabulary.say("The case is at {place}: {says}", place=place, says=says)


def points_by_state(plan: Plan, facts: Facts) -> str:
    """The tallies of a plan that remembers, and whether points are still to come; "" for a plan without states."""
    words, tallies, said = plan.vocabulary, facts.details.get("tallies"), []
    if tallies is not None:
        each = zip(map(words.quoted, plan.tasks), tallies, strict=True)
        said.append(words.say("Tallies: {tallies}.", tallies=", ".join(f"{name} {tally}" for name, tally in each)))
    if facts.details.get("waits_for_state") and (tallies is not None or _has_score(plan, facts.box)):
        said.append(pending_sentence(words))
    return " ".join(said)


def _has_score(subject: object, box: int | None) -> bool:
    return isinstance(subject, Plan) and box is not None and is_scored(subject, box)


def _lazy_test(facts: Facts, arm: str, words: Vocabulary) -> str:
    return words.say(
        "The test at hand: {to_give} {name} {times}; a total of at most {limit} leads one way, more leads the other.",
        name=words.quoted(arm),
        times=words.times(facts.details["pulls"]),
        limit=words.number(facts.details["at_most"]),
    )


def _tally(session: "Session", pulls: int, facts: Facts, words: Vocabulary) -> str:
    if pulls == 0:
        return words.say("Nothing is tallied here yet.")
    if isinstance(session.subject, Plan) and facts.box is not None:
        tallied = tally_sentence(session.subject, facts.box, pulls, facts.total)
        return words.say("So far: {tallied}", tallied=tallied)
    if "at_most" not in facts.details:
        return words.count(
            pulls,
            "So far: {n} round tallied, a total of {total}.",
            "So far: {n} rounds tallied, a total of {total}.",
            total=words.digits(f"{facts.total:g}"),
        )
    test = Rounds(facts.details["pulls"], facts.details["at_most"])
    tallied = test.tallied(words, session.rewards, pulls, facts.total)
    return words.say("So far: {tallied}", tallied=tallied)
