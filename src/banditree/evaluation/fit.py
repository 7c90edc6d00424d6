"""From a log to a plan whose value on other cases is known: one call."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from banditree.cases.design import LogDesign
from banditree.cases.reading import read_cases
from banditree.cases.table import Cases, only_arms, only_cases, shuffled
from banditree.errors import InvalidInput, invalid
from banditree.evaluation.by_context import SIZES, beside_by_context, curve_plan, rule_plans
from banditree.evaluation.choice import Candidate, Trial, cross_validate, trials_of
from banditree.evaluation.evaluate import Evaluation, evaluate
from banditree.evaluation.expected import expecting
from banditree.evaluation.intervals import Estimate, Measured, per_round
from banditree.evaluation.judging import Judge, judge_of
from banditree.evaluation.kinds import Kinds, find_kinds, settled
from banditree.evaluation.kinds_by_context import KindsByContext, find_kinds_by_context
from banditree.evaluation.order import order_notes
from banditree.evaluation.promise import Promise, promise_of
from banditree.evaluation.propensities import understood
from banditree.evaluation.settings import FitSettings
from banditree.evaluation.singles import best_single, replay_single
from banditree.evaluation.splits import hold_out
from banditree.evaluation.weighting import logged_chances
from banditree.plans.gives import Give
from banditree.plans.line import Line
from banditree.plans.plan import Origin, Plan
from banditree.plans.points import rare_outcome_notes
from banditree.plans.words import Vocabulary
from banditree.progress import OnProgress
from banditree.protocols.build import build_plan
from banditree.settings import keywords
from banditree.shown import Shown
from banditree.tasks.arrays import BoolArray, FloatArray, IntArray
from banditree.tasks.changes import TRUSTED
from banditree.tasks.collection import Collection
from banditree.tasks.rewards import Rewards, family_named
from banditree.training.cells import statistics_of
from banditree.training.links import find_links, require_links, weak_links

AnyKinds = Kinds | KindsByContext

MOST_CHOSEN_BY = 20_000  # More cases would not change the choice; the plan itself is made from all of them.
PARTS = 5  # A case's rounds are split into this many parts: its kind is told from all but one, and used in that one.
LEAST_TRIED = 15  # A plan gives only options that this many cases have tried, or a third of them where cases are few.
STEPS = 200  # Each search is short, since there are some hundred, and plans are judged by other cases anyway.
LAST_STEPS = 2_000  # The search for the plan itself is longer.
# Unlike `learn`, `fit` needs the chance of each reward, so bounded rewards are none of these.
OTHER_REWARDS = 'If rewards are not 0 or 1, say what they are: rewards="graded" or rewards="gaussian".'


@dataclass(frozen=True, eq=False)
class Fit(Shown):
    """A plan, what it earns on the cases held out, and how it was chosen.

    collection: the kinds, estimated from the cases learned from. trials: the candidates, of which
    one is chosen. knowing: what a held-out case would earn per round above the best single option if its kind were
    known from the start. kind and certainty (U,): everyone's kind in that collection, and how certain it is.
    is_held_out: (U,). single: the option that is best for everyone. promise: what the plan promised for the cases held
    out before it was evaluated on them; None where the log does not know every outcome. Log, settings and seed give the
    same again.
    """

    plan: Plan
    single: str
    collection: Collection
    evaluation: Evaluation
    trials: tuple[Trial, ...]
    knowing: Estimate
    cases: tuple[str, ...]
    kind: IntArray
    certainty: FloatArray
    is_held_out: BoolArray
    horizon: int
    seed: int
    notes: tuple[str, ...] = ()
    promise: Promise | None = None

    @property
    def chosen(self) -> Trial:
        """The trial that the plan was made by."""
        return next(trial for trial in self.trials if trial.is_chosen)


@keywords(FitSettings)
def fit(
    log: Any,
    horizon: int,
    *,
    vocabulary: Vocabulary | None = None,
    on_progress: OnProgress | None = None,
    **settings: Any,
) -> Fit:
    """The plan that a log supports, and what it earns on cases of the log that it was not made from.

    log: a Cases, or what `read_cases` takes. settings: of `FitSettings`. A part `held_out` of the cases is put aside.
    From the others, the number of kinds and the length of the plan are chosen by cross-validated reward, with a rule of
    one standard error towards shorter plans and fewer kinds; giving one option to everyone is among the candidates. The
    plan is then made from all cases learned from, and evaluated on those put aside. The search trusts the estimated
    rates: what protects against their errors is that plans are judged on other cases. centre is for cases that differ
    most in how much they give. typical_rounds matter since what is found out about a case pays off in the rounds that
    are left; by default they are those of the log, or the horizon where the log has one outcome per round.
    Where the design of the log cannot show what a plan gives, no plan is tried.
    When on_progress returns False, the choice is made from the folds that are done.
    """
    how = FitSettings(horizon=horizon, **settings)
    family, shuffle, seed = _family(how.rewards), how.shuffle, how.seed
    history = log if isinstance(log, Cases) else _read(log, family, how)
    history, rare = _without_rare(history)
    once = _decided_once(history, horizon)
    links = () if once and history.features else _check_links(history)
    notes = (*history.notes, *rare, *links, *(() if shuffle else order_notes(history)))
    history = shuffled(history, seed) if shuffle else history
    history, made = understood(history, how.design, seed)
    learned, held = hold_out(history.n_cases, how.held_out, seed)
    known = only_cases(history, learned)
    rounds = _typical_rounds(known, horizon, how.typical_rounds)
    sizes = SIZES if history.features and made.shows_plans else ()
    words = vocabulary or Vocabulary()
    maker = Maker(settled(family, history), horizon, rounds, how.lines, how.centre, seed, words, sizes)
    tried = sorted({1, *(n for n in how.kinds if n <= len(learned))})
    tried = tried if made.shows_plans and not once else [1]
    some, chosen_by = _some(known, seed)

    def judge(rest: Cases, others: Cases) -> Judge:
        return judge_of(others, made, horizon, maker.rewards, kinds=maker.expecting(rest), seed=seed)

    found = cross_validate(some, tried, maker.plans, judge, folds=how.folds, seed=seed, on_progress=on_progress)
    trials = trials_of(found)
    return _fitted(history, learned, held, maker, tuple(trials), (*notes, *once, *chosen_by), made)


def _some(known: Cases, seed: int) -> tuple[Cases, tuple[str, ...]]:
    """The cases to choose by: of very many some, drawn by the seed, and a note that says so."""
    if known.n_cases <= MOST_CHOSEN_BY:
        return known, ()
    drawn = np.sort(np.random.default_rng([seed, 6]).permutation(known.n_cases)[:MOST_CHOSEN_BY])
    return only_cases(known, drawn), (
        f"Kinds and lines were chosen on {MOST_CHOSEN_BY:,} of the {known.n_cases:,} cases learned from.",
    )


def _read(log: Any, family: Rewards, how: FitSettings) -> Cases:
    return read_cases(log, rewards=family, hint=OTHER_REWARDS, seed=how.seed, context=how.context, **how.reading)


def _decided_once(history: Cases, horizon: int) -> tuple[str, ...]:
    """A note if every case is decided for once only."""
    if min(horizon, int(history.n_rounds.max())) > 1:
        return ()
    return ("Every case has one round, so what it shows comes too late to help it: no score is kept.",)


def _typical_rounds(known: Cases, horizon: int, given: float | None) -> int:
    """How long the search takes a case to go on: the average over cases of the rounds within the horizon."""
    if given is not None and not 1 <= given <= horizon:
        raise invalid("typical_rounds", f"from 1 to the horizon, {horizon}", given)
    if given is None:
        given = float(np.minimum(known.n_rounds, horizon).mean()) if known.is_full else horizon
    return max(1, round(given))


def _family(rewards: str | Rewards) -> Rewards:
    family = rewards if isinstance(rewards, Rewards) else family_named(rewards).unknown()
    if not family.has_likelihood:
        raise InvalidInput(
            "fit needs the chance of each reward, and of bounded rewards only the mean is known. Use 0/1, graded or "
            'Gaussian rewards, or learn the kinds and build a plan with method="tree".'
        )
    return family


def _without_rare(history: Cases) -> tuple[Cases, tuple[str, ...]]:
    """The history without options that hardly anyone tried, and a note that names them."""
    tried = statistics_of(history)
    n_cases = np.bincount(tried.arm, minlength=len(history.arms))
    kept = np.flatnonzero(n_cases >= min(LEAST_TRIED, history.n_cases / 3))
    if len(kept) == len(history.arms):
        return history, ()
    if len(kept) < 2:
        raise InvalidInput(
            "Fewer than two options were tried by enough cases, so there is nothing to choose. Give a longer log."
        )
    rare = ", ".join(repr(name) for k, name in enumerate(history.arms) if k not in kept)
    return only_arms(history, kept), (f"Omitted, since hardly any case tried them: {rare}.",)


def _check_links(history: Cases) -> tuple[str, ...]:
    """Refuse a log in which nobody tried both of some options, and say which of them few did."""
    links = find_links(statistics_of(history))
    require_links(links, int(history.known.sum()))
    return tuple(weak_links(links))


@dataclass(frozen=True)
class Maker:
    """How plans are made from cases, in every fold and in the end; rounds: how long cases typically go on."""

    rewards: Rewards
    horizon: int
    rounds: int
    lines: tuple[int, ...]
    centre: bool
    seed: int
    vocabulary: Vocabulary
    rule_sizes: tuple[int, ...] = ()

    def kinds(self, history: Cases, n_kinds: int) -> Kinds:
        """The kinds among these cases."""
        about = f"fitted, {TRUSTED}"
        return find_kinds(history, n_kinds, self.rewards, centre=self.centre, seed=self.seed, provenance=about)

    def kinds_by_context(self, history: Cases, n_kinds: int) -> KindsByContext:
        """The kinds among these cases that differ in what contexts mean for them."""
        about = f"fitted, {TRUSTED}"
        return find_kinds_by_context(history, n_kinds, self.rewards, seed=self.seed, provenance=about)

    def expecting(self, history: Cases) -> Kinds | None:
        """The kinds by which cases of other logs are expected to go on, where these do not show it."""
        return None if history.is_full else expecting(history, self.rewards, self.seed)

    def plans(self, history: Cases, n_kinds: int) -> Iterator[tuple[Candidate, Plan]]:
        """A plan of each length for these cases; for one kind one option for everyone, and rules by context. Where the
        log has contexts, also plans for kinds that differ in what contexts mean for them.

        The longest comes first: where it needs fewer lines than it may have, it is the plan of shorter lengths too.
        """
        if n_kinds == 1:
            yield Candidate(0, 1), self.one_option(history)
            for size, plan in self.rules(history, self.rule_sizes):
                yield Candidate(0, 1, rows=size), plan
            if self.rule_sizes:
                yield Candidate(0, 1, by_context=True), self.curves(history)
            return
        kinds: list[AnyKinds] = [self.kinds(history, n_kinds)]
        if self.rule_sizes and not self.rewards.by_chances:
            kinds.append(self.kinds_by_context(history, n_kinds))
        for one in kinds:
            found = None
            for lines in sorted(self.lines, reverse=True):
                if found is None or found.n_tests > lines:
                    found = self.plan(one.collection, lines)
                yield Candidate(lines, n_kinds, by_context=isinstance(one, KindsByContext)), found

    def rules(self, history: Cases, sizes: Sequence[int]) -> Iterator[tuple[int, Plan]]:
        """The rule by context of each of these sizes."""
        return rule_plans(history, self.rewards, self.horizon, self.vocabulary, sizes) if sizes else iter(())

    def curves(self, history: Cases) -> Plan:
        """The plan that gives everyone the best option at the context by a curve for each option."""
        return curve_plan(history, self.rewards, self.horizon, self.vocabulary)

    def made(self, history: Cases, kinds: AnyKinds, chosen: Candidate) -> Plan:
        """The plan itself, of the candidate that is chosen."""
        if chosen.rows:
            return next(plan for _, plan in self.rules(history, [chosen.rows]))
        if chosen.by_context and chosen.kinds == 1:
            return self.curves(history)
        return self.plan(kinds.collection, chosen.lines, LAST_STEPS) if chosen.kinds > 1 else self.one_option(history)

    def one_option(self, history: Cases) -> Plan:
        """The plan that gives everyone the option that is best on average."""
        return self.always(history.arms, best_single(history))

    def always(self, arms: tuple[str, ...], arm: int) -> Plan:
        """The plan that gives everyone the same arm."""
        about: dict[str, Any] = {
            "arms": arms,
            "tasks": ("everyone",),
            "rewards": self.rewards,
            "vocabulary": self.vocabulary,
        }
        return Plan((Line(Give(arms[arm])),), horizon=self.horizon, origin=Origin("one option"), **about)

    def plan(self, collection: Collection, lines: int, steps: int = STEPS) -> Plan:
        """The plan of at most N lines that loses least on average over the kinds in their shares."""
        if collection.theta is None and len(set(collection.best_arms.tolist())) == 1:
            return self.always(collection.arms, int(collection.best_arms[0]))
        options: dict[str, Any] = {"objective": "mean", "lines": lines, "steps": steps, "seed": self.seed}
        # Comparing plans over cases that vary takes longer than such a short search, and no other plans are shown.
        options["compared"] = not collection.varies
        plan = build_plan(collection, self.rounds, "protocol", vocabulary=self.vocabulary, **options)
        return replace(plan, horizon=self.horizon, origin=plan.origin.marked(TRUSTED))


def _fitted(
    history: Cases,
    learned: IntArray,
    held: IntArray,
    maker: Maker,
    trials: tuple[Trial, ...],
    notes: tuple[str, ...],
    made: LogDesign,
) -> Fit:
    """The plan of the chosen candidate, made from all cases learned from and judged on those held out."""
    known, other = only_cases(history, learned), only_cases(history, held)
    chosen = next(trial for trial in trials if trial.is_chosen).candidate
    find = maker.kinds_by_context if chosen.by_context and chosen.kinds > 1 else maker.kinds
    kinds = find(known, _kinds_looked_for(trials))
    plan = maker.made(known, kinds, chosen)
    single = best_single(known)
    about: dict[str, Any] = {"single": history.arms[single], "seed": maker.seed, "design": made}
    about["kinds"] = maker.expecting(known)
    if history.features:
        about["beside"] = beside_by_context(known, maker.rewards, maker.horizon)
    if not plan.features or isinstance(kinds, KindsByContext):
        about["collection"] = kinds.collection
    judged = evaluate(plan, other, horizon=maker.horizon, **about)
    told = {*notes, *order_notes(other)}  # of the whole log, which shows the order of its rounds better than a part
    chances = kinds.chances(history)
    is_held_out = np.zeros(history.n_cases, bool)
    is_held_out[held] = True
    return Fit(
        plan,
        history.arms[single],
        kinds.collection,
        replace(judged, notes=tuple(note for note in judged.notes if note not in told)),
        trials,
        _knowing(other, kinds, single, maker.horizon),
        history.cases,
        chances.argmax(axis=1),
        chances.max(axis=1),
        is_held_out,
        maker.horizon,
        maker.seed,
        (*notes, *_length_notes(maker), *rare_outcome_notes(plan.points), *_generosity_notes(kinds)),
        None
        if plan.features or isinstance(kinds, KindsByContext)
        else promise_of(plan, kinds, known, other, maker.horizon, maker.seed),
    )


def _kinds_looked_for(trials: Sequence[Trial]) -> int:
    """The chosen number of kinds, or if that is one, the best of the others, or two: what there would be to know."""
    chosen = next(trial for trial in trials if trial.is_chosen).candidate.kinds
    others = [trial for trial in trials if trial.candidate.kinds > 1]
    best = max(others, key=lambda t: t.value.value).candidate.kinds if others else 2
    return chosen if chosen > 1 else best


def _knowing(other: Cases, kinds: AnyKinds, single: int, horizon: int) -> Estimate:
    """Reward per round above the single option if every case got the best arm of its kind from the start.

    The kind is told from the rest of the case's rounds: told from the very round in which it is used, it would be
    hindsight. A case of one round has no rest, and is taken to be like everyone.
    """
    place = np.arange(len(other.outcomes)) - other.first[other.owner]
    best = np.empty(len(place), np.int64)
    for part in range(PARTS):
        here = place % PARTS == part
        rest = replace(other, outcomes=np.where(here[:, None], np.nan, other.outcomes))
        best[here] = kinds.expected(other, kinds.chances(rest)).argmax(axis=1)[here]
    return _given(other, best, horizon).above(_given(other, single, horizon))


def _given(other: Cases, arm: int | IntArray, horizon: int) -> Measured:
    """What is earned per round with these arms (R,): of one outcome per round, by one over the chance of seeing it."""
    if other.is_full:
        one = replay_single(other, arm, horizon)
        return per_round(one.total, one.rounds)
    weight = np.where((other.arm == arm) & other.told, 1 / logged_chances(other), 0.0)
    total, n = np.zeros((2, other.n_cases))
    np.add.at(total, other.owner, weight * np.nan_to_num(other.reward))
    np.add.at(n, other.owner, weight)
    return per_round(total, n)


def _length_notes(maker: Maker) -> tuple[str, ...]:
    if maker.rounds == maker.horizon:
        return ()
    return (
        f"Cases of the log have {maker.rounds} of the {maker.horizon} rounds on average, and the plan is made for such "
        f"cases. If yours go on longer, say how long, as in typical_rounds={maker.horizon}.",
    )


def _generosity_notes(kinds: AnyKinds) -> tuple[str, ...]:
    if isinstance(kinds, KindsByContext):
        return ()
    best = set(kinds.collection.best_arms.tolist())
    if kinds.collection.n_tasks < 2 or len(best) > 1:
        return ()
    arm = kinds.collection.arms[best.pop()]
    if kinds.mixture.strength is not None:  # one option is taken each time, so that all give the same on the whole
        return (
            f"The kinds differ in how often they take {arm!r}, not in their best option: it is best for all of them.",
        )
    more = "" if kinds.centre else " Kinds that differ in their best option may still be found: centre=True."
    return (
        f"The kinds differ in how much they give, not in their best option: {arm!r} is best for all of them.{more}",
    )
