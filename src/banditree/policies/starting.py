"""Sessions that begin, and sessions that go on from a snapshot."""

from collections.abc import Iterable, Mapping
from typing import Any

from banditree.certificates.waiting import WaitingCosts
from banditree.errors import InvalidInput, invalid
from banditree.plans.pages import page_for
from banditree.plans.plan import ODDS, Plan
from banditree.policies.base import Policy
from banditree.policies.following import session_policy
from banditree.policies.guarding import guarded, needs_alarm, with_alarm_of
from banditree.policies.hand_over import follow_thompson
from banditree.policies.rounds import Missing, arm_number, checked_harm
from banditree.policies.session import Session
from banditree.policies.snapshots import check_origin, fill_state, round_from_json
from banditree.tasks.collection import Collection
from banditree.trees.tree import LazyTree


def start_session(
    subject: Plan | LazyTree,
    *,
    seed: int = 0,
    case: int = 0,
    collection: Collection | None = None,
    without: Iterable[str | int] = (),
) -> Session:
    """A new case that follows a plan.

    collection: by which a case that fits none of its tasks is handed over to Thompson sampling (`guarding`), and
    `going_on` says what it costs not to wait for outcomes. without: the arms that this case must never get, by name or
    number: it follows the page of the plan for such a case.

    >>> from banditree import Collection, Give, Line, make_plan
    >>> from banditree.plans.plan import Page
    >>> two = Collection.bernoulli([[0.7, 0.2, 0.5], [0.3, 0.6, 0.5]], arms=["A", "B", "C"])
    >>> plan = make_plan([Line(Give("A"))], two, 50, pages=(Page(("A",), (Line(Give("C")),)),))
    >>> print(start_session(plan, without=["A"]).ask())
    Round 1: C
    """
    horizon, missing = subject.horizon, _missing(subject, without)
    page = page_for(subject, [subject.arms[k] for k in missing]) if isinstance(subject, Plan) else subject
    costs, followed = _waiting_costs(page, collection), _followed(page, collection)
    policy = _guarding_policy(followed, collection)
    session = Session(policy, followed, horizon=horizon, seed=seed, case=case, waiting_costs=costs)
    session.without, session.whole = missing, subject if isinstance(subject, Plan) else None
    return session


def _missing(subject: Plan | LazyTree | Collection, arms: Iterable[str | int]) -> tuple[int, ...]:
    return tuple(sorted({arm_number(subject.arms, arm) for arm in arms}))


def _followed(subject: Plan | LazyTree, collection: Collection | None) -> Plan | LazyTree:
    """What is followed, with the guard where the collection is known."""
    return subject if collection is None or not isinstance(subject, Plan) else guarded(subject, collection)


def _guarding_policy(followed: Plan | LazyTree, collection: Collection | None) -> Policy:
    """The policy that follows it, with the alarm where that is the guard."""
    own = session_policy(followed)
    if collection is None or not isinstance(followed, Plan) or not needs_alarm(followed, collection):
        return own
    return with_alarm_of(followed, own, collection, 1.0 / ODDS)


def _waiting_costs(subject: Plan | LazyTree | Collection, collection: Collection | None) -> "WaitingCosts | None":
    if collection is None or not isinstance(subject, Plan) or subject.features:
        return None
    return WaitingCosts(subject, collection)


def resume_session(
    subject: Plan | LazyTree | Collection,
    snapshot: Mapping[str, Any],
    policy: Policy | None = None,
    *,
    collection: Collection | None = None,
) -> Session:
    """The session that `snapshot` was taken of, with the plan or collection it was started with.

    collection: as in `start_session`, if the session was started with it.
    """
    own = policy is None
    if policy is None:
        if isinstance(subject, Collection):
            raise invalid("policy", "given for a session over a collection", None)
        policy = _policy_of(subject, snapshot, collection)
    check_origin(snapshot, policy.name)
    try:
        missing, whole = _missing(subject, snapshot.get("without", ())), None
        if isinstance(subject, Plan):
            whole, subject = subject, page_for(subject, [subject.arms[k] for k in missing])
        is_guarded = own and isinstance(subject, Plan) and policy is not session_policy(subject)
        session = Session(
            policy,
            _followed(subject, collection) if is_guarded and isinstance(subject, Plan) else subject,
            horizon=snapshot["horizon"],
            seed=snapshot["seed"],
            case=snapshot["case"],
            options=snapshot["options"],
            waiting_costs=_waiting_costs(subject, collection),
        )
        session.rounds = [round_from_json(entry) for entry in snapshot["rounds"]]
        session.n_applied = int(snapshot["n_applied"])
        session.without, session.whole = missing, whole
        barred = {entry.arm for entry in session.rounds[: session.n_applied] if entry.harm}
        if barred and session.bars_harmful:
            session.bar(barred)
        fill_state(session.state, snapshot["state"])
        _check_rounds(session)
        for entry in session.rounds[session.n_applied :][:1]:
            session.fits(entry, session.context_of(entry))  # what does not belong together fails here
        session.ask()  # or here
        del session.rounds[len(snapshot["rounds"]) :]
    except (KeyError, TypeError, ValueError, OverflowError, IndexError, AttributeError) as problem:
        if isinstance(problem, InvalidInput):
            raise
        raise InvalidInput(
            f"The snapshot does not fit this plan ({problem}). Resume it with the plan it was started with."
        ) from None
    return session


def _policy_of(subject: Plan | LazyTree, snapshot: Mapping[str, Any], collection: Collection | None) -> Policy:
    """The policy that a snapshot was taken of: the plan's own, or that of the plan with the guard."""
    own = session_policy(subject)
    if snapshot.get("policy") == own.name:
        return own
    if collection is None and snapshot.get("policy") in (follow_thompson.name, f"{own.name}+alarm"):
        raise InvalidInput("This case is guarded by a collection. Resume it with the collection it was started with.")
    return _guarding_policy(_followed(subject, collection), collection)


def _check_rounds(session: Session) -> None:
    """Refuse rounds that cannot have been played."""
    told = [entry.reward is not None for entry in session.rounds[: session.n_applied]]
    if not (0 <= session.n_applied <= len(session.rounds) <= session.horizon) or not all(told):
        raise ValueError("its rounds do not add up")
    for entry in session.rounds:
        if type(entry.arm) is not int or not 0 <= entry.arm < len(session.arms):
            raise ValueError(f"it has an arm {entry.arm!r}")
        checked_harm(entry.harm)
        if entry.reward is not None and not isinstance(entry.reward, Missing):
            session.rewards.check(entry.reward)
        session.context_of(entry)
