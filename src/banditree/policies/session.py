"""Session: ask and tell over any policy, for one case, with late, batched, repeated and missing outcomes."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from banditree.certificates.waiting import Place, UnderWay
from banditree.errors import InvalidInput, invalid
from banditree.plans.pages import page_for
from banditree.plans.plan import Plan
from banditree.policies.base import Facts, Outcome, Policy
from banditree.policies.following import policy_for
from banditree.policies.known import STATE, context_given, in_state
from banditree.policies.rounds import Missing, Reported, Round, Step, arm_number, checked_harm, kept_context, shown
from banditree.policies.snapshots import SCHEMA, round_to_json, state_to_json
from banditree.policies.wording import describe
from banditree.tasks.arrays import BoolArray, FloatArray
from banditree.tasks.collection import Collection
from banditree.tasks.contexts import Feature
from banditree.tasks.rewards import Rewards
from banditree.tasks.states import StateCollection
from banditree.trees.tree import LazyTree

if TYPE_CHECKING:
    from banditree.certificates.waiting import GoingOn, WaitingCosts

LOOKED_BACK = 100  # A context of the case is looked for among this many rounds with an outcome.
MAX_KEY = 2**32  # Seeds and case numbers are words of the random number keys.


class Session:
    """One case played by one policy. Rounds are numbered from 1.

    Outcomes may come late and in any order; they are applied in the order of the rounds. A `tell` or `ask` that
    fails leaves everything as it was. Use `start_session` to begin, `snapshot` and `resume_session` to go on later.

    >>> from banditree import build_tree, start_session
    >>> plan = build_tree(Collection.bernoulli([[0.9, 0.1], [0.1, 0.8]], arms=["A", "B"]), horizon=50)
    >>> case = start_session(plan)
    >>> print(case.ask())
    Round 1: A
    >>> case.tell(1)
    >>> case.ask().round
    2
    """

    def __init__(
        self,
        policy: Policy,
        subject: Plan | LazyTree | Collection,
        *,
        horizon: int,
        seed: int = 0,
        case: int = 0,
        options: Mapping[str, Any] | None = None,
        waiting_costs: "WaitingCosts | None" = None,
    ) -> None:
        for name, value in (("seed", seed), ("case", case)):
            if not 0 <= value < MAX_KEY:
                raise invalid(name, f"a whole number in [0, {MAX_KEY:,})", value)
        if horizon < 1:
            raise invalid("horizon", "at least 1", horizon)
        self.policy, self.subject, self.horizon, self.seed, self.case = policy, subject, horizon, seed, case
        self.options = dict(options or {})
        self.params = policy.make(subject, horizon, self.options)
        self.state = policy.init(self.params)
        self.rounds: list[Round] = []
        self.n_applied = 0
        self.waiting_costs = waiting_costs
        self.without: tuple[int, ...] = ()  # the arms that the case must never get
        self.barred: set[int] = set()  # those that have harmed it, where the plan has a rule about harm
        self.whole: Plan | None = None  # the plan with all its pages, where harm may turn to another one
        self.policy_for: Callable[[Plan], Policy] = policy_for
        self.stranded = False  # no page is left for the case: a person decides
        self.turned_at = 0  # how many rounds were applied when the case turned to its page
        self.arms: tuple[str, ...] = subject.arms
        self.tasks: tuple[str, ...] = subject.tasks
        self.rewards: Rewards = subject.rewards
        self.states: tuple[str, ...] = subject.states if isinstance(subject, Plan | StateCollection) else ()
        self.features: tuple[Feature, ...] = () if self.states else subject.features

    @property
    def looks(self) -> tuple[str, ...]:
        """What must be known before a round: the names of features, or the state."""
        return (STATE,) if self.states else tuple(dict.fromkeys(one.name for one in self.features))

    @property
    def round_states(self) -> dict[int, str]:
        """The state that each open round was asked in, by its number; empty for what does not know of states."""
        given = {n: self.rounds[n - 1].context for n in self.open_rounds} if self.states else {}
        return {n: self.states[int(state[0])] for n, state in given.items() if state is not None}

    @property
    def open_rounds(self) -> list[int]:
        """The rounds that were asked and wait for an outcome."""
        return [n for n, entry in enumerate(self.rounds[self.n_applied :], self.n_applied + 1) if entry.reward is None]

    @property
    def off_plan_rounds(self) -> list[int]:
        """The rounds whose arm was not the policy's: overridden, or asked before a correction led elsewhere."""
        return [n for n, entry in enumerate(self.rounds, 1) if entry.strayed(n <= self.n_applied)]

    @overload
    def ask(
        self,
        n: None = None,
        *,
        context: Any = None,
        state: str | int | None = None,
        available: Iterable[str | int] | None = None,
        wait: bool = True,
    ) -> Step: ...

    @overload
    def ask(
        self,
        n: int,
        *,
        context: Any = None,
        state: str | int | None = None,
        available: Iterable[str | int] | None = None,
        wait: bool = True,
    ) -> list[Step]: ...

    def ask(
        self,
        n: int | None = None,
        *,
        context: Any = None,
        state: str | int | None = None,
        available: Iterable[str | int] | None = None,
        wait: bool = True,
    ) -> Step | list[Step]:
        """The open round and its arm, the same again until it is told; with `n`, up to n open rounds at once.

        With `n`, rounds are opened never past the earliest moment at which an outcome would change what comes next.
        wait: False to open them all the same, with the arm that the outcomes known so far lead to; without `n`, one
        more round each time. Where an awaited outcome then leads to another arm, such rounds are recorded and not
        tallied. `going_on` says what that costs.
        context: a vector (d,) or a mapping of names to values, for policies that look at it. What stays the same
        for a whole case need be given only once.
        state: the name or number of the state that the case is in, for plans with states; it also completes the points
        of the round before, so no round can be opened before the outcome of the last one is told.
        available: names or numbers of the arms that can be pulled now; by default all but those that the case is
        `without`. Where the plan's arm is not, the step has an outcome that says so: wait, or `override`.
        """
        if n is not None and n < 1:
            raise invalid("n", "at least 1", n)
        x, mask = self._known(context, state), self._mask(available)
        if self.states and (n or 1) > 1:
            raise invalid("n", "1 with states, as the next state follows from what is given", n)
        before = self.open_rounds
        wanted = n or (1 if wait else len(before) + 1)
        steps = [self._step(number) for number in before[:wanted]]
        while len(steps) < wanted:
            step = self._open(x, mask, wait)
            if step.outcome is None or n is None or not steps:
                steps.append(step)
            if step.outcome is not None:
                break
        if before and (going_on := self.going_on()) is not None:
            steps[-1] = replace(steps[-1], going_on=going_on)
        return steps[-1] if n is None else steps

    def going_on(self) -> "GoingOn | None":
        """What one more round now (`ask(wait=False)`) costs, against waiting for the outcomes still awaited.

        None where none are awaited, where a person or what was learned chooses, where harm has barred an arm, and where
        the rates are not known: they are those of the `collection` that the session was started with.
        """
        if self.waiting_costs is None or not self.open_rounds or len(self.rounds) >= self.horizon or self.harmful:
            return None
        facts = self.explain()
        if facts.box is None or facts.pulls is None:
            return None
        under_way = tuple(UnderWay(entry.arm, entry.counted) for entry in self.rounds[self.n_applied :])
        return self.waiting_costs.of(Place(facts.box, facts.pulls, facts.total), under_way)

    def tell(self, reward: float | Missing, round: int | None = None, *, harm: bool | None = None) -> None:
        """Report the reward of an open round (by default the only one), or `MISSING`.

        harm: whether the arm did harm in this round, such as a side effect, which may be said later than the reward.
        The same report again changes nothing; another value for a closed round is refused.
        A missing outcome is not tallied: its round is used up and the policy goes on as if it had not been.
        """
        number = self._round_to_tell(round)
        value: Reported = reward if isinstance(reward, Missing) else self.rewards.check(reward)
        entry = self.rounds[number - 1]
        harm = checked_harm(harm)
        if entry.reward is None:
            entry.reward, entry.harm = value, entry.harm if harm is None else harm
            self._apply_told()
            return
        if entry.reward != value or (harm is not None and entry.harm not in (None, harm)):
            raise InvalidInput(
                f"Round {number} was already told as {shown(entry.reward, entry.harm)}. Got {shown(value, harm)}. "
                f"{self._open_rounds_sentence()}"
            )
        if harm is not None and entry.harm is None:
            entry.harm = harm
            self._harmed_late(number)

    def override(
        self, arm: str | int, round: int | None = None, *, context: Any = None, state: str | int | None = None
    ) -> Step:
        """The round in which a person gives an arm other than the policy's: an open one, or a new one if none is open.

        Its outcome is told like any other and recorded, but not tallied; the round counts towards the horizon.
        """
        k, x = arm_number(self.arms, arm), self._known(context, state)
        if round is None and not self.open_rounds:
            if len(self.rounds) >= self.horizon:
                return Step(len(self.rounds) + 1, outcome=Outcome.HORIZON_REACHED)
            self.rounds.append(Round(k, kept_context(x), overridden=True))
            return self._step(len(self.rounds))
        number = self._round_to_tell(round)
        entry = self.rounds[number - 1]
        if entry.reward is not None:
            raise InvalidInput(f"Round {number} already has its outcome. {self._open_rounds_sentence()}")
        if entry.arm == k and not entry.overridden:
            raise invalid("arm", f"other than the one of round {number}", self.arms[k], "That is no override.")
        self.rounds[number - 1] = Round(
            k, entry.context if context is None and state is None else kept_context(x), overridden=True
        )
        return self._step(number)

    def correct(self, reward: float | Missing, round: int, *, harm: bool | None = None) -> None:
        """Replace the outcome of a round, and play the case again from its start with the right value.

        harm: whether the arm did harm in it; as it was told, where omitted.
        Rounds that were asked because of the wrong value keep their arm; where the policy would not have given it
        after the right one, they are not tallied.
        """
        number = self._round_to_tell(round)
        value: Reported = reward if isinstance(reward, Missing) else self.rewards.check(reward)
        if self.rounds[number - 1].reward is None:
            raise InvalidInput(f"Round {number} has no outcome to correct yet: tell it. {self._open_rounds_sentence()}")
        harm = checked_harm(harm)
        self.rounds[number - 1].reward = value
        if harm is not None:
            self.rounds[number - 1].harm = harm
        self._play_again()

    def explain(self) -> Facts:
        """Where the case stands, in numbers; `describe` puts it in words."""
        return self.policy.explain(self.params, self.state)

    def describe(self) -> str:
        """Where the case stands, what evidence it has, which tasks are still possible, what comes next and why."""
        return describe(self)

    def snapshot(self) -> dict[str, Any]:
        """Everything needed to go on later, besides the plan or collection itself, as plain JSON data."""
        return {
            "schema": SCHEMA,
            "policy": self.policy.name,
            "options": self.options,
            "horizon": self.horizon,
            "seed": self.seed,
            "case": self.case,
            **({"without": list(self.without)} if self.without else {}),
            "n_applied": self.n_applied,
            "rounds": [round_to_json(entry) for entry in self.rounds],
            "state": state_to_json(self.state),
        }

    def _step(self, number: int) -> Step:
        arm = self.rounds[number - 1].arm
        return Step(number, arm, self.arms[arm])

    def _open(self, context: FloatArray, mask: BoolArray, wait: bool) -> Step:
        number = len(self.rounds) + 1
        if number > self.horizon:
            return Step(number, outcome=Outcome.HORIZON_REACHED)
        if self.stranded:
            return Step(number, outcome=Outcome.PERSON_NEEDED)
        if self.harmful - self.barred:  # another page follows, but only once earlier outcomes are known
            return Step(number, outcome=Outcome.OUTCOME_NEEDED)
        if not mask.any():
            return Step(number, outcome=Outcome.NO_ARM_AVAILABLE)
        waiting = len(self.rounds) - self.n_applied
        if wait and waiting and waiting >= self._patience():
            return Step(number, outcome=Outcome.OUTCOME_NEEDED)
        arm = int(self.policy.choose(self.params, self.state, context, mask, (self.seed, self.case, number)))
        if arm < 0:
            return Step(number, outcome=Outcome(arm))
        self.rounds.append(Round(arm, kept_context(context)))
        return self._step(number)

    def _patience(self) -> int:
        return 1 if self.policy.patience is None else int(self.policy.patience(self.params, self.state))

    def _harmed_late(self, number: int) -> None:
        """Harm, or none, was reported of a round whose outcome is known."""
        if not self.rounds[number - 1].harm or not self.bars_harmful:
            return
        if number == self.n_applied:
            self.bar(self.barred | {self.rounds[number - 1].arm})
        elif number < self.n_applied:
            self._play_again()

    def _play_again(self) -> None:
        if self.barred:
            self.bar(set())
        self.state, self.n_applied, self.turned_at = self.policy.init(self.params), 0, 0
        self._apply_told()

    def _apply_told(self) -> None:
        while self.n_applied < len(self.rounds):
            entry = self.rounds[self.n_applied]
            if entry.reward is None:
                return
            context = self.context_of(entry)
            entry.tallied = False
            if not isinstance(entry.reward, Missing) and self.fits(entry, context):
                entry.tallied = True
                self.policy.update(self.params, self.state, context, entry.arm, entry.reward)
                if self.policy.replan is not None:
                    self.policy.replan(self.params, self.state)
            elif self.policy.pass_over is not None:
                self.policy.pass_over(self.params, self.state, context)
            self.n_applied += 1
            if entry.harm and self.bars_harmful and entry.arm not in self.barred:
                self.bar(self.barred | {entry.arm})

    @property
    def bars_harmful(self) -> bool:
        """Whether an arm that has harmed the case is not given again."""
        return self.whole is not None and self.whole.on_harm is not None

    @property
    def harmful(self) -> set[int]:
        """The arms that are barred by all that was told, also of rounds after one that is awaited."""
        if not self.bars_harmful:
            return set()
        return self.barred | {entry.arm for entry in self.rounds[self.n_applied :] if entry.harm}

    def bar(self, arms: set[int]) -> None:
        """Never give these arms: turn to the page for such a case, and begin there, unless it is on that page."""
        self.barred = arms
        assert self.whole is not None
        try:
            page = page_for(self.whole, [self.arms[k] for k in {*self.without, *arms}])
        except InvalidInput:
            self.stranded = True
            return
        self.stranded = False
        if page.missing != self._page_missing:
            self._turn_to(page)

    @property
    def _page_missing(self) -> tuple[str, ...]:
        return self.subject.missing if isinstance(self.subject, Plan) else ()

    def _turn_to(self, page: Plan) -> None:
        self.subject, self.policy, self.waiting_costs = page, self.policy_for(page), None
        self.turned_at = self.n_applied
        self.params, before = self.policy.make(page, self.horizon, self.options), self.state
        self.state = self.policy.init(self.params)
        if hasattr(before, "alarm"):  # what speaks against all tasks goes on to speak
            self.state = self.state._replace(alarm=before.alarm, fallback=before.fallback)

    def fits(self, entry: Round, context: FloatArray) -> bool:
        """Whether the policy, were this arm the only one available, would give it."""
        if entry.overridden or self.stranded or entry.arm in self.barred:
            return False
        mask, rng = np.zeros(len(self.arms), dtype=bool), (self.seed, self.case, self.n_applied + 1)
        mask[entry.arm] = True
        return self.policy.choose(self.params, self.state, context, mask, rng) == entry.arm

    def _round_to_tell(self, number: int | None) -> int:
        if number is None:
            if len(self.open_rounds) != 1:
                raise invalid("round", "given", None, self._open_rounds_sentence())
            return self.open_rounds[0]
        if (
            isinstance(number, bool)
            or not isinstance(number, int | np.integer)
            or not (1 <= number <= len(self.rounds))
        ):
            raise invalid("round", "one that was asked", number, self._open_rounds_sentence())
        return int(number)

    def _open_rounds_sentence(self) -> str:
        rounds = self.open_rounds
        if not rounds:
            return "No round is open: ask first."
        return f"Open: {', '.join(map(str, rounds))}."

    @property
    def own_context(self) -> FloatArray | None:
        """The last context of the case, whose features of the case itself need not be given again; None without any."""
        if not any(feature.per_case for feature in self.features):
            return None
        for entry in reversed(self.rounds[max(self.n_applied - LOOKED_BACK, 0) :]):
            if entry.context is not None:
                return np.array(entry.context)
        return None

    def context_of(self, entry: Round) -> FloatArray:
        """The context of a round that was asked."""
        return context_given(self.states, self.features, entry.context)

    def _known(self, context: Any, state: str | int | None) -> FloatArray:
        """What is known before a round: what is given now, and of the case from an earlier one."""
        return context_given(self.states, self.features, in_state(self.states, state, context), self.own_context)

    def _mask(self, available: Iterable[str | int] | None) -> BoolArray:
        mask = np.full(len(self.arms), available is None)
        for arm in available or ():
            mask[arm_number(self.arms, arm)] = True
        if gone := [*self.without, *self.barred]:
            mask[gone] = False
        return mask
