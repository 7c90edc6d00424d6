"""Where a case stands, in words."""

from typing import TYPE_CHECKING

from banditree.nouns import counted, plural
from banditree.plans.case_wording import MOST_NAMES, fixed_tally, is_scored, possible_sentence, tally_sentence
from banditree.plans.plan import Plan
from banditree.plans.wording import box_sentence, fallback_sentence, on_page, place_name, rule_sentence
from banditree.plans.words import Vocabulary, harm_noun, number, quoted, times
from banditree.policies.base import Facts
from banditree.trees.tree import LazyTree

if TYPE_CHECKING:
    from banditree.certificates.waiting import GoingOn
    from banditree.policies.session import Session


def describe(session: "Session") -> str:
    """Sentences on where the case is, its evidence, the tasks still possible, and what comes next and why."""
    facts, subject = session.explain(), session.subject
    words = subject.vocabulary if isinstance(subject, Plan | LazyTree) else Vocabulary()
    lines = [f"{counted(len(session.rounds), 'round')} of {session.horizon:,} asked."]
    if (waiting := session.open_rounds) and len(waiting) <= MOST_NAMES:
        lines.append(f"Waiting for the outcome of round {', '.join(map(str, waiting))}.")
    elif waiting:
        lines.append(f"Waiting for the outcomes of {counted(len(waiting), 'round')}.")
    if (going_on := session.going_on()) is not None:
        lines.append(going_on_sentence(session, going_on))
    if isinstance(subject, Plan) and facts.box is not None:
        lines.append(_place(subject, facts.box))
    elif not facts.exploiting and facts.arm is not None and "at_most" in facts.details:
        lines.append(_lazy_test(facts, session.arms[facts.arm], words))
    if facts.pulls is not None and (not facts.exploiting or _has_score(subject, facts.box)):
        lines.append(_tally(session, facts.pulls, facts, words))
    if facts.possible is not None:
        lines.append(possible_sentence([quoted(session.tasks[i]) for i in facts.possible], len(session.tasks), words))
    if facts.exploiting and facts.arm is not None and facts.possible is not None and len(facts.possible) == 1:
        lines.append(f"{quoted(session.arms[facts.arm])} is best for it.")
    if barred := [quoted(session.arms[arm]) for arm in sorted(session.harmful)]:
        lines.append(f"Not given again after {harm_noun(words)}: {', '.join(barred)}.")
    if strayed := len(session.off_plan_rounds):
        lines.append(f"Not as planned: {counted(strayed, 'round')} with another {words.arm}, not tallied.")
    return " ".join(filter(None, lines))


def going_on_sentence(session: "Session", found: "GoingOn") -> str:
    """What it costs to give one more round now, without the outcomes still awaited."""
    words = session.subject.vocabulary if isinstance(session.subject, Plan) else Vocabulary()
    lost = plural(words.success) if session.rewards.counts else words.reward
    one = found.n_out == 1
    out, them = ("1 outcome is", "it") if one else (f"{found.n_out:,} outcomes are", "them")
    give = f"One more round of {quoted(session.arms[found.arm])} without {them}"
    if found.loss == 0.0:
        return f"{out} still awaited. {give} costs nothing."
    hedge = "about" if found.at_estimates else "at most"
    return (
        f"{out} still awaited. {give} loses {hedge} {found.loss:.2g} {lost} more than waiting for {them}; "
        "waiting costs nothing but time."
    )


def _place(plan: Plan, box: int) -> str:
    at_end = not plan.rows[box].counts.exits and is_scored(plan, box)
    rule = f" {rule_sentence(plan)}" if at_end else ""
    if box == plan.hand_over:
        return fallback_sentence(plan)
    return f"The case is at {place_name(plan, box)}{on_page(plan)}: {box_sentence(plan, box)}{rule}"


def _has_score(subject: object, box: int | None) -> bool:
    return isinstance(subject, Plan) and box is not None and is_scored(subject, box)


def _lazy_test(facts: Facts, arm: str, words: Vocabulary) -> str:
    pulls, limit = facts.details["pulls"], number(facts.details["at_most"])
    return (
        f"The test at hand: {words.give.lower()} {quoted(arm)} {times(pulls)}; a total of at most {limit} leads one "
        "way, more leads the other."
    )


def _tally(session: "Session", pulls: int, facts: Facts, words: Vocabulary) -> str:
    if pulls == 0:
        return "Nothing is tallied here yet."
    if isinstance(session.subject, Plan) and facts.box is not None:
        return f"So far: {tally_sentence(session.subject, facts.box, pulls, facts.total)}"
    if "at_most" not in facts.details:
        return f"So far: {counted(pulls, 'round')} tallied, a total of {facts.total:g}."
    needed, limit = facts.details["pulls"], facts.details["at_most"]
    return f"So far: {fixed_tally(session.rewards, words, pulls, needed, limit, facts.total)}"
