"""How to read a plan, explained by numbers that occur in it: a reader looks for what is quoted."""

from collections.abc import Iterator

from banditree.plans.counts import Score, Watch
from banditree.plans.plan import Form, Plan
from banditree.plans.wording import outcome_names


def reading_notes(plan: Plan) -> tuple[str, ...]:
    """How to read a plan that keeps a score, in the words of a person who explains it."""
    if not plan.points and plan.rule is None:
        return ()
    words = plan.vocabulary
    if plan.form is Form.LINES:
        notes = [words.say("Every line counts its own score from 0.")]
    else:
        notes = [words.say("Every box counts its own score from 0.")]
    if (levels := score_levels(plan)) is not None:
        high, low = (f"{level:+d}" for level in levels)
        notes.append(
            words.say('"At {high}" means at {high} or above, "at {low}" at {low} or below.', high=high, low=low)
        )
    elif (level := watch_level(plan)) is not None:
        below = f"{level:+d}"
        notes.append(words.say('"Stays above {level}" ends as soon as the score is {level} or below.', level=below))
    if points := short_points(plan):
        notes.append(
            words.say('"{points}" are the points of {outcomes}.', points=points, outcomes=named_outcomes(plan))
        )
    return (" ".join(notes),)


def score_levels(plan: Plan) -> tuple[int, int] | None:
    """The scores at which the first line with two exits is left."""
    return next(((row.counts.ceil, -row.counts.floor) for row in plan.rows if isinstance(row.counts, Score)), None)


def watch_level(plan: Plan) -> int | None:
    """The score above which the first watch line is kept."""
    return next((-row.counts.floor for row in plan.rows if isinstance(row.counts, Watch)), None)


def cap_level(plan: Plan) -> int | None:
    """The first score that is never counted above."""
    watched = [row.counts for row in plan.rows] + ([] if plan.rule is None else [plan.rule.counts])
    return next((counts.cap for counts in watched if isinstance(counts, Watch) and counts.cap), None)


def short_points(plan: Plan) -> str:
    """The first points that a protocol prints without the names of their outcomes, "+1/-3"; "" if it prints none."""
    short = (points for points in _points(plan) if "/" in points and " " not in points)
    return next(short, "") if plan.form is Form.LINES else ""


def _points(plan: Plan) -> Iterator[str]:
    """The points after the first line, in short where a protocol is."""
    for row in plan.rows[1 : plan.n_seen]:
        if row.counts.points is not None:
            yield from row.counts.points.short_phrases(plan)
    if plan.rule is not None and plan.n_tests:
        yield from plan.rule.counts.points.short_phrases(plan)


def named_outcomes(plan: Plan) -> str:
    """What the points in short stand for, in their order: "recovery and of relapse"."""
    words = plan.vocabulary
    if names := [name for _, name in outcome_names(plan)]:
        of = words.language.meant("between outcomes", ", of ")
        and_of = words.language.meant("between outcomes", " and of ")
        return and_of.join(filter(None, [of.join(names[:-1]), names[-1]]))
    first, *others = map(words.number, plan.first_cuts[::-1])
    a_reward = words.article("reward")
    said = [words.say("{a_reward} above {cut}", cut=first, a_reward=a_reward)]
    said += [words.say("one above {cut}", cut=cut) for cut in others]
    return words.say("{outcomes} and any other", outcomes=", ".join(said))
