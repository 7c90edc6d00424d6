"""The sentences of a plan, with the user's vocabulary. What is printed is the rule itself.

Each box and each outcome has one phrasing: text, pictures, sessions, pages and reports take it from here.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from banditree.plans.context_wording import context_notes
from banditree.plans.counts import ABOVE, BELOW, Pause
from banditree.plans.gives import BestOf, HandOver, TreatAs, TreatAsLeader
from banditree.plans.pages import page
from banditree.plans.plan import Decider, Form, Plan
from banditree.plans.reading_load import reading_load
from banditree.plans.state_wording import state_notes
from banditree.plans.words import Vocabulary, capital, harm_noun, named
from banditree.tasks.changes import TRUSTED


@dataclass(frozen=True)
class Exit:
    """A way out of a box: on which condition, what to do then, and the box (counted from 0) that this means."""

    when: str
    then: str
    box: int


def unit(plan: Plan) -> str:
    """The word for a numbered part of the plan: a line of a protocol, or a box."""
    return plan.vocabulary.say("line") if plan.form is Form.LINES else plan.vocabulary.say("box")


def place_name(plan: Plan, box: int) -> str:
    """Where a case is: "line 3", "box 3", or at the end of a protocol, which has no number."""
    words, box = plan.vocabulary, plan.place_of(box)
    if isinstance(plan.rows[box].counts, Pause):
        return words.say("a pause before {place}", place=place_name(plan, plan.links[box][0]))
    if is_end(plan, box):
        return words.say("an end")
    if plan.form is Form.LINES:
        return words.say("line {number}", number=box + 1)
    return words.say("box {number}", number=box + 1)


def is_end(plan: Plan, box: int) -> bool:
    """Whether a place is an end inside the lines of a protocol, which has no number."""
    return plan.form is Form.LINES and not plan.rows[box].counts.exits and plan.n_tests > 0


def on_page(plan: Plan) -> str:
    """On which page a case is, after its place: " on the page without B"; nothing on page 1."""
    words = plan.vocabulary
    return words.say(" on the page without {names}", names=either(words, plan.missing)) if plan.missing else ""


def plan_text(plan: Plan, loss: str = "") -> str:
    """The whole plan: a heading, its lines or boxes, the safety rule, the fallback, for plans with states the tables of
    points, and for plans with contexts the rules by kind and the predictions."""
    return "\n".join([heading(plan, loss), "", *_body(plan)])


def plain_text(plan: Plan) -> str:
    """The whole plan for those who follow or sign it: what it is for, without words of theory, and all the rest."""
    return "\n".join([about(plan), "", *_body(plan)])


def _body(plan: Plan) -> list[str]:
    lines = lines_and_rule(plan)
    if notes := foot_sentences(plan):
        lines += ["", *notes]
    lines += [line for part in state_notes(plan) for line in ("", *part)]
    lines += [line for part in context_notes(plan) for line in ("", *part)]
    for number in range(2, len(plan.pages) + 2):
        lines += ["", f"{page_title(plan, number)}:", "", *lines_and_rule(page(plan, number))]
    return lines


def lines_and_rule(plan: Plan) -> list[str]:
    """The lines or boxes, and the safety rule after an empty line."""
    return [*numbered_lines(plan), *([] if plan.rule is None else ["", rule_sentence(plan)])]


def page_title(plan: Plan, number: int) -> str:
    """For whom a page is: "Page 2, for a case that must not get B"."""
    names = either(plan.vocabulary, plan.pages[number - 2].missing)
    return plan.vocabulary.say("Page {number}, for a case that must not get {names}", number=number, names=names)


def either(words: Vocabulary, missing: Iterable[str]) -> str:
    """The arms that a page is without: "B", "B or C"."""
    return words.language.meant("between arms that a case must not get", " or ").join(map(words.quoted, missing))


def numbered_lines(plan: Plan) -> list[str]:
    """The lines of a protocol, whose ends are inside them, or all boxes."""
    if plan.form is Form.BOXES:
        boxes = range(plan.n_places)
        return [f"{plan.vocabulary.say('Box {number}.', number=box + 1)} {box_sentence(plan, box)}" for box in boxes]
    lines = range(max(plan.n_tests, 1))  # a protocol of one end is one line
    return [f"{line + 1}. {box_sentence(plan, line, spelled=line == 0)}" for line in lines]


def heading(plan: Plan, loss: str = "") -> str:
    """One line on what the plan is for and how large it is. loss: a sentence on what it loses, where that is known."""
    words, made = plan.vocabulary, plan.origin
    method = words.language.meant("method", made.method)
    if made.separation is not None:
        apart = words.digits(f"{made.separation:.4g}")
        method = words.say("{method}, separation {separation}", method=method, separation=apart)
    sentences = [
        words.say(
            "{what} over {rounds} (method {method}): {size}, reading load {load}.",
            what=what_for(plan),
            rounds=rounds(words, plan.horizon),
            method=method,
            size=_size(plan),
            load=words.digits(f"{reading_load(plan):,.1f}"),
        )
    ]
    return " ".join([*sentences, *_restrictions(plan), *([loss] if loss else []), *_doubts(plan)])


def about(plan: Plan) -> str:
    """What the plan is for and how long it is, without words of theory.

    >>> from banditree.trees.tree import build_tree
    >>> from banditree.tasks.collection import Collection
    >>> about(build_tree(Collection.bernoulli([[0.9, 0.1], [0.1, 0.8]]), 100))
    'Plan for 2 tasks and 2 arms, over 100 rounds of a case: 3 boxes.'
    """
    words = plan.vocabulary
    size = lines_of(words, max(plan.n_tests, 1)) if plan.form is Form.LINES else boxes_of(words, plan.n_boxes)
    sentence = words.say(
        "Plan for {tasks} and {arms}, over {rounds} of a case: {size}.",
        tasks=words.counted(len(plan.tasks), "task"),
        arms=words.counted(len(plan.arms), "arm"),
        rounds=rounds(words, plan.horizon),
        size=size,
    )
    return " ".join([sentence, *_restrictions(plan), *_doubts(plan)])


def _restrictions(plan: Plan) -> list[str]:
    missing = plan.missing
    return (
        [plan.vocabulary.say("For a case that must not get {names}.", names=either(plan.vocabulary, missing))]
        if missing
        else []
    )


def _doubts(plan: Plan) -> list[str]:
    trusted = TRUSTED in plan.origin.versions.values()
    return [plan.vocabulary.say("Made from estimates taken at their word.")] if trusted else []


def what_for(plan: Plan) -> str:
    """What a plan is about, as a title: "Plan for 3 patient groups and 4 treatments"."""
    words = plan.vocabulary
    tasks, arms = words.counted(len(plan.tasks), "task"), words.counted(len(plan.arms), "arm")
    return words.say("Plan for {tasks} and {arms}", tasks=tasks, arms=arms)


def rounds(words: Vocabulary, n: int) -> str:
    """A number of rounds."""
    return words.count(n, "{n} round", "{n} rounds")


def lines_of(words: Vocabulary, n: int) -> str:
    """A number of lines."""
    return words.count(n, "{n} line", "{n} lines")


def boxes_of(words: Vocabulary, n: int) -> str:
    """A number of boxes."""
    return words.count(n, "{n} box", "{n} boxes")


def _size(plan: Plan) -> str:
    """How large a plan is: its lines or boxes, the longest path, the most rounds of testing."""
    words = plan.vocabulary
    if plan.form is Form.LINES:
        size, longest = lines_of(words, max(plan.n_tests, 1)), lines_of(words, plan.depth) if plan.n_tests else ""
    else:
        size, longest = boxes_of(words, plan.n_places), words.count(plan.depth, "{n} test", "{n} tests")
    if longest:
        size = words.say("{size}, longest path: {longest}", size=size, longest=longest)
    if plan.most_pulls:
        most = rounds(words, plan.most_pulls)
        size = words.say("{size}, at most {rounds} of testing", size=size, rounds=most)
    return size


def box_sentence(plan: Plan, box: int, spelled: bool = True) -> str:
    """What box number `box` (counted from 0) says, without its number. spelled: points with the names of outcomes."""
    say = plan.vocabulary.say
    ways = "".join(say(" {when}: {then}.", when=way.when, then=way.then) for way in exits(plan, box))
    return f"{box_state(plan, box)}{box_action(plan, box, spelled)}.{ways}"


def box_state(plan: Plan, box: int) -> str:
    """The sentence that names the task a box has found, or nothing."""
    row = plan.rows[box]
    says_nothing = row.found is None or plan.form is Form.LINES or bool(row.counts.exits)
    return "" if says_nothing else plan.vocabulary.say("This is {kind}. ", kind=_kind(plan, str(row.found)))


def box_action(plan: Plan, box: int, spelled: bool = True) -> str:
    """What to do in a box, without what it leads to and without the full stop."""
    row = plan.rows[box]
    if isinstance(row.gives, HandOver | TreatAsLeader):
        return capital(row.gives.phrase(plan))
    if isinstance(row.gives, TreatAs) and plan.form is Form.BOXES and not plan.kind_rules:
        return plan.vocabulary.say("From now on, {to_give} the {arm} with the highest prediction for it")
    return row.counts.action(plan, capital(row.gives.phrase(plan)), spelled)


def given(plan: Plan, box: int) -> str:
    """What a box gives, in the middle of a sentence: "give A", "treat as early"."""
    return plan.rows[box].gives.phrase(plan)


def exits(plan: Plan, box: int) -> tuple[Exit, ...]:
    """The ways out of a box in the order in which they are read; none from an arm for good."""
    row, rows = plan.rows[box], dict(zip((BELOW, ABOVE), plan.links[box], strict=False))
    return tuple(
        Exit(row.counts.condition(plan, side), _leads_to(plan, plan.place_of(box), rows[side]), rows[side])
        for side in row.counts.exits
    )


def _leads_to(plan: Plan, box: int, target: int) -> str:
    """What to do on leaving a box for another, in words."""
    words, number = plan.vocabulary, target + 1
    if plan.form is Form.BOXES:
        return words.say("go to box {number}", number=number)
    if isinstance(plan.rows[box].counts, Pause) and plan.rows[target].counts.exits:
        return words.say("line {number}", number=number)
    if not plan.rows[target].counts.exits:
        return plan.rows[target].gives.settling(plan, plan.rows[box].gives)
    if target == 0:
        return words.say("start again at line 1")
    if target <= box:
        return words.say("go back to line {number}", number=number)
    return words.say("next line") if target == box + 1 else words.say("line {number}", number=number)


def end_phrase(plan: Plan, box: int, end: int) -> str:
    """What the row of a box says about an end that it leads to: "stay with D", "Task mild: give A from now on"."""
    if plan.form is Form.LINES and end != box:
        return _leads_to(plan, box, end)
    action, task = box_action(plan, end), plan.rows[end].found
    if task is None:
        return action
    found, then = capital(_kind(plan, task)), f"{action[:1].lower()}{action[1:]}"
    return plan.vocabulary.say("{found}: {action}", found=found, action=then)


def _kind(plan: Plan, task: str) -> str:
    """A task after the word for it."""
    return named(plan.vocabulary.task, plan.vocabulary.quoted(task))


def rule_sentence(plan: Plan) -> str:
    """The safety rule, at the foot of a plan."""
    assert plan.rule is not None
    counts, words = plan.rule.counts, plan.vocabulary
    points = counts.capped(plan, counts.points.phrase(plan, spelled=plan.n_tests == 0))
    values = {"an_arm": words.article("arm"), "a_task": words.article("task"), "points": points}
    if any(isinstance(row.gives, TreatAs) and not row.counts.exits for row in plan.rows):
        scored = words.say(
            "Whenever you stay with or settle on {an_arm}, or treat as {a_task} from now on, score it from 0: "
            "{points}.",
            **values,
        )
    else:
        scored = words.say("Whenever you stay with or settle on {an_arm}, score it from 0: {points}.", **values)
    return f"{scored} {_rule_exit(plan, f'{-counts.floor:+d}')}"


def _rule_exit(plan: Plan, level: str) -> str:
    """What the safety rule says of its level."""
    assert plan.rule is not None
    if plan.rule.hands_over:
        return plan.vocabulary.say("At {level} hand over.", level=level)
    if plan.form is Form.LINES:
        return plan.vocabulary.say("At {level} start again at line 1.", level=level)
    return plan.vocabulary.say("At {level} start again at box 1.", level=level)


def foot_sentences(plan: Plan) -> list[str]:
    """What does not count after a change, what harm changes, how Thompson sampling or the fallback chooses at an end,
    and who has another page, where the plan has any of it."""
    words, several = plan.vocabulary, [row.gives for row in plan.rows if isinstance(row.gives, BestOf)]
    notes = [washout_sentence(plan)] if plan.pauses else []
    notes += [] if plan.on_harm is None else [harm_sentence(plan)]
    notes += [several_sentence(plan, max(end.worth for end in several))] if several else []
    notes += [] if plan.fallback is None else [fallback_sentence(plan)]
    pages = [
        words.say("{names}: page {number}", names=either(plan.vocabulary, page.missing), number=number)
        for number, page in enumerate(plan.pages, start=2)
    ]
    return [*notes, words.say("A case that must not get {pages}.", pages="; ".join(pages))] if pages else notes


def harm_sentence(plan: Plan) -> str:
    """What harm under an arm changes for a case."""
    words = plan.vocabulary
    harm = {"a_harm": capital(harm_noun(words)), "an_arm": words.article("arm")}
    if plan.pages or plan.missing:
        return words.say(
            "{a_harm} under {an_arm}: do not give it again. Begin the page for a case that must not get it, nor what "
            "did harm before; where there is none, a person decides.",
            **harm,
        )
    return words.say("{a_harm} under {an_arm}: do not give it again. A person decides from then on.", **harm)


def washout_sentence(plan: Plan) -> str:
    """What a change of arm asks for, before anything is counted."""
    return plan.vocabulary.count(
        plan.washout,
        "Whenever you change to another {arm}, its first round is given but not counted.",
        "Whenever you change to another {arm}, its first {n} rounds are given but not counted.",
        n=str(plan.washout),
    )


def several_sentence(plan: Plan, worth: int) -> str:
    """How the best of several is found: with expected rates by their index (`theory.horizon_index`)."""
    words, rewards = plan.vocabulary, plan.rewards
    if not worth:
        return words.say(
            "The best of several: Thompson sampling chooses each time; it has learned from the first round."
        )
    mean = words.language.meant("in a formula", "mean")
    above = mean if rewards.low == 0 else f"({mean} - {words.digits(f'{rewards.low:g}')})"
    noise = words.digits(f"{rewards.sigma**2:g}")
    if rewards.has_range:
        noise = f"{above} x ({words.digits(f'{rewards.high:g}')} - {mean})"
    if plan.fallback is not None and plan.fallback.odds:
        counts = words.say(
            "The best of several: every {task} may have led there. Each time one is drawn, by how well it fits all "
            "outcomes since the first round, and each {arm} counts as if it had been given {worth} times more with the "
            "mean that this {task} expects: as in brackets, if it is the likely one.",
            worth=worth,
        )
    else:
        counts = words.say(
            "The best of several: each {arm} counts as if it had been given {worth} times more with the mean in "
            "brackets; all rounds since the first count.",
            worth=worth,
        )
    index = words.say(
        "To its mean, if its times are below the rounds left, add the root of log(rounds left / times) x {noise} / "
        "(2 x (times + 1)). {give} the highest each time.",
        noise=noise,
    )
    return f"{counts} {index}"


def fallback_sentence(plan: Plan) -> str:
    """The last line of a plan for cases that are none of the tasks: what "hand over" means."""
    assert plan.fallback is not None
    words = plan.vocabulary
    first = words.say("Hand over: what was seen contradicts every {task}.")
    decides = decider_sentence(plan) or words.say(
        "From now on Thompson sampling chooses; it has learned from the first round."
    )
    return " ".join(filter(None, [first, starts_sentence(plan), decides, odds_sentence(plan)]))


def decider_sentence(plan: Plan) -> str:
    """Who decides about a case that was handed over, where the plan says that it is not Thompson sampling; or ""."""
    fallback, words = plan.fallback, plan.vocabulary
    if fallback is None or fallback.to is Decider.THOMPSON:
        return ""
    if fallback.to is Decider.PERSON:
        return words.say("From now on a person decides.")
    return words.say("{give} {name} from now on.", name=words.quoted(str(fallback.arm)))


def starts_sentence(plan: Plan) -> str:
    """How often line 1 may be begun; "" where nothing is said of that."""
    fallback, words = plan.fallback, plan.vocabulary
    if fallback is None or not fallback.starts:
        return ""
    if plan.form is Form.LINES:
        return words.say("Do so instead of beginning line 1 more than {times}.", times=words.times(fallback.starts))
    return words.say("Do so instead of beginning box 1 more than {times}.", times=words.times(fallback.starts))


def odds_sentence(plan: Plan) -> str:
    """When a case is handed over from wherever it is; "" where only lines and the rule do so."""
    fallback, words = plan.fallback, plan.vocabulary
    if fallback is None or not fallback.odds:
        return ""
    if not fallback.allow:
        return words.say(
            "From any line and any end, hand over as soon as the outcomes since the first round speak {odds} to 1 "
            "against every {task} that may lead there; the session and the console compute this.",
            odds=fallback.odds,
        )
    return words.say(
        "From any line and any end, hand over as soon as the outcomes since the first round speak {odds} to 1 "
        "against every {task} that may lead there, whose rates may be off by {allow}; the session and the console "
        "compute this.",
        odds=fallback.odds,
        allow=words.digits(f"{fallback.allow:g}"),
    )


def outcome_names(plan: Plan) -> list[tuple[float, str]]:
    """The possible rewards as a person reports them, the best first; none where a number is reported."""
    return [(value, name) for value, name in plan.rewards.outcomes(plan.vocabulary.success, plan.vocabulary.failure)]
