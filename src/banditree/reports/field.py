"""What a plan does in the field: hand-overs, watching, cases that it was not made for, and late outcomes."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from banditree.certificates.certify import Certificate, certify
from banditree.certificates.lateness import Lateness, with_late_outcomes
from banditree.certificates.varying import certify_cases
from banditree.certificates.watching import Noticed, noticed
from banditree.errors import InvalidInput
from banditree.nouns import counted, plural
from banditree.plans.gives import BestOf
from banditree.plans.plan import Decider, Plan
from banditree.plans.words import Vocabulary, with_article
from banditree.reports.settings import CertifySettings
from banditree.tasks.arrays import FloatArray, IntArray
from banditree.tasks.cases import case_collection, draw_strangers, with_spread
from banditree.tasks.changes import with_parameters
from banditree.tasks.collection import Collection

STRANGERS = 60  # This many cases that belong to none of the tasks are drawn.
DROP = 0.25  # The plan is asked what happens when an arm gets worse by this share of the range of rewards.
NEAR_DRAWS = 20  # This many cases whose rates are off are drawn for each task.
RUNS = 4  # Each drawn case is played so often, where a plan can only be simulated.
KNOWN_RUNS = 20  # Each task is played so often, where what a plan loses in it is a rough estimate.


@dataclass(frozen=True, eq=False)
class Played:
    """What a plan lost (M,) on average over `runs` simulated cases of each task, and half its 95% intervals (M,)."""

    regret: FloatArray
    within: FloatArray
    runs: int


@dataclass(frozen=True, eq=False)
class Near:
    """What is lost on average over `draws` drawn cases of each task whose rates are off, and half its 95% interval."""

    mean: float
    within: float
    draws: int
    simulated: bool


@dataclass(frozen=True, eq=False)
class Strange:
    """What drawn cases that belong to none of the tasks lose (S,); for a plan with a fallback, how often (S,) they are
    handed over, and after how many rounds on average."""

    regret: FloatArray
    handed_over: FloatArray | None
    until: float | None
    simulated: bool


@dataclass(frozen=True, eq=False)
class FieldReport:
    """The answers. rule_costs: (M,), what the safety rule adds to the regret of each task, below 0 where it pays off.

    played: the known tasks, where the certificate is a rough estimate; strangers: cases that belong to none of the
    tasks; near: cases whose rates are off.
    """

    played: Played | None
    handed_over: float | None
    to: Decider | None
    rule_costs: np.ndarray | None
    noticed: Noticed | None
    near: Near | None
    strangers: Strange | None
    unknown: float
    lateness: tuple[tuple[str, Lateness], ...]


def field_report(plan: Plan, collection: Collection, certificate: Certificate, asked: CertifySettings) -> FieldReport:
    """The answers for one plan; what cannot be worked out for it is None."""
    exact = certificate.at_end is not None and plan.theta is None
    return FieldReport(
        played=_known(plan, collection, certificate.horizon),
        handed_over=None if certificate.handed_over is None else float(certificate.handed_over.max()),
        to=None if plan.fallback is None else plan.fallback.to,
        rule_costs=_rule_costs(plan, collection, certificate) if exact else None,
        noticed=noticed(plan, collection, certificate, DROP * _width(collection)) if exact else None,
        near=_near(plan, collection, certificate.horizon, asked.allow),
        strangers=_strangers(plan, collection, certificate.horizon) if asked.unknown else None,
        unknown=asked.unknown,
        lateness=_lateness(plan, collection, certificate.horizon, asked),
    )


def _lateness(
    plan: Plan, collection: Collection, horizon: int, asked: CertifySettings
) -> tuple[tuple[str, Lateness], ...]:
    found = []
    if asked.late:
        found.append((f"outcomes that come {counted(asked.late, 'round')} late", {"late": asked.late}))
    if asked.batch:
        found.append((f"batches of {counted(asked.batch, 'round')}", {"batch": asked.batch}))
    if plan.theta is None or not found:
        return tuple((name, with_late_outcomes(plan, collection, **how, horizon=horizon)) for name, how in found)
    from banditree.simulation.late import late_by_simulation

    return tuple((name, late_by_simulation(plan, collection, **how, horizon=horizon)) for name, how in found)


def _width(collection: Collection) -> float:
    return collection.rewards.width if collection.rewards.has_range else 2.0 * collection.rewards.sigma


def _rule_costs(plan: Plan, collection: Collection, certificate: Certificate) -> np.ndarray | None:
    if plan.rule is None or plan.rule.hands_over:
        return None
    without = certify(replace(plan, rule=None), collection, certificate.horizon, must_rest=False)
    return certificate.regret - without.regret


def _is_simulated(plan: Plan) -> bool:
    """Whether what the odds of the fallback do can only be simulated; what a person does cannot even be simulated."""
    return plan.fallback is not None and plan.fallback.odds > 0 and plan.fallback.to is not Decider.PERSON


def _near(plan: Plan, collection: Collection, horizon: int, allow: float) -> Near | None:
    if not allow:
        return None
    if collection.theta is not None or collection.parameters.ndim > 2:
        raise InvalidInput("allow must be omitted with contexts and with graded rewards: it is for rates.")
    varied = with_spread(replace(collection, radius=np.zeros(()), spread=None), allow / np.sqrt(3.0))
    if not _is_simulated(plan):
        regret = certify_cases(plan, varied, horizon, draws=NEAR_DRAWS).regret
        return Near(regret.mean, regret.within, NEAR_DRAWS, simulated=False)
    lost = _played(plan, case_collection(varied, NEAR_DRAWS), horizon)[0]
    weights = np.repeat(collection.weights, NEAR_DRAWS) / NEAR_DRAWS
    mean = float(weights @ lost)
    within = 1.96 * float(np.sqrt((weights**2 * (lost - mean) ** 2).sum()))
    return Near(mean, within, NEAR_DRAWS, simulated=True)


def _known(plan: Plan, collection: Collection, horizon: int) -> Played | None:
    if not (_is_simulated(plan) and any(isinstance(row.gives, BestOf) for row in plan.rows)):
        return None
    from banditree.simulation.engine import simulate

    sure = replace(collection, radius=np.zeros(()), spread=None)
    lost = simulate(sure, {"plan": plan}, horizon=horizon, runs=KNOWN_RUNS, rounds=[horizon]).regret[0, ..., -1]
    within = 1.96 * lost.std(axis=1, ddof=1) / np.sqrt(KNOWN_RUNS)
    return Played(lost.mean(axis=1), within, KNOWN_RUNS)


def _played(plan: Plan, cases: Collection, horizon: int) -> tuple[FloatArray, IntArray]:
    """What each of some cases loses (S,) on average over its runs, and when each run (S, R) is handed over, or 0."""
    from banditree.simulation.engine import simulate

    results = simulate(cases, {"plan": plan}, horizon=horizon, runs=RUNS, rounds=[horizon])
    return np.asarray(results.regret[0, ..., -1].mean(axis=1)), results.alarmed[0]


def _strangers(plan: Plan, collection: Collection, horizon: int) -> Strange:
    if collection.theta is not None:
        raise InvalidInput("unknown must be omitted with contexts: plans with contexts have no fallback of their own.")
    names = tuple(f"stranger {number}" for number in range(1, STRANGERS + 1))
    drawn = with_parameters(
        collection,
        draw_strangers(collection, STRANGERS),
        tasks=names,
        counts=None,
        shares=None,
        spread=None,
        radius=0.0,
    )
    if _is_simulated(plan):
        lost, handed = _played(plan, drawn, horizon)
        until = float(handed[handed > 0].mean()) if handed.any() else None
        return Strange(lost, (handed > 0).mean(axis=1), until, simulated=True)
    found = certify(plan, drawn, horizon, must_rest=False)
    often, rounds = found.handed_over, found.until_hand_over
    until = None if often is None or rounds is None else float(np.average(rounds, weights=often + 1e-12))
    return Strange(found.regret, often, until, simulated=False)


def field_sentences(report: FieldReport, collection: Collection, words: Vocabulary, mean: float) -> list[str]:
    """The answers in words. mean: what the plan loses on average over the tasks of the collection."""
    lines = [*_as_played(report.played, collection, words), *_hand_over(report, words), *_watching(report, words)]
    if report.near is not None:
        lines.append(
            f"With rates that are off, {report.near.mean:,.1f} ± {report.near.within:.1f} is lost on average over "
            f"{report.near.draws} drawn cases of each {words.task}{_by_simulation(report.near.simulated)}."
        )
    if report.strangers is not None:
        lines += _strange(report, report.strangers, words, mean)
    for name, late in report.lateness:
        lines.append(_late(name, late, words))
    return lines


def _late(name: str, late: Lateness, words: Vocabulary) -> str:
    rates = ", at the estimated rates" if late.at_estimates else ""
    exactly = ", exactly" if not (late.claim.hedge or late.at_estimates) else ""
    more = float((late.regret - late.at_once).max())
    within = "" if late.within is None else f" ± {late.within[late.regret.argmax()]:,.1f}"
    return (
        f"With {name}, if nobody waits for them, {late.claim.hedge}{late.regret.max():,.1f}{within} is lost in "
        f"the worst {words.task}{exactly}{rates}: up to {more:,.1f} more than by waiting. A case moves on to another "
        f"{words.arm} up to {late.moves.max():,.1f} times on average."
    )


def _as_played(played: Played | None, collection: Collection, words: Vocabulary) -> list[str]:
    if played is None:
        return []
    worst, weights = int(played.regret.argmax()), collection.weights
    mean = float(weights @ played.regret)
    within = float(np.sqrt(((weights * played.within) ** 2).sum()))
    return [
        f"In {counted(played.runs, 'simulated case')} of each {words.task} it lost {mean:,.1f} ± {within:.1f} on "
        f"average, and {played.regret[worst]:,.1f} ± {played.within[worst]:.1f} in the worst "
        f"({collection.tasks[worst]}). Where the estimates above differ from that, go by the simulation."
    ]


def _hand_over(report: FieldReport, words: Vocabulary) -> list[str]:
    if report.handed_over is None:
        return []
    return [
        f"A case of a known {words.task} is handed over with a chance of at most {100 * report.handed_over:.2g}%"
        + ("; what a person then loses is not counted." if report.to is Decider.PERSON else ".")
    ]


def _watching(report: FieldReport, words: Vocabulary) -> list[str]:
    found, lines = report.noticed, []
    if found is None:
        return []
    if report.rule_costs is not None:
        cost = float(report.rule_costs.max())
        lines.append(
            f"The safety rule costs at most {cost:.2g} in any {words.task}."
            if cost >= 0
            else f"The safety rule saves at least {-cost:.2g} in every {words.task}."
        )
    if found.rounds is None or found.unwatched.all():
        return [*lines, f"Once settled, this plan would not notice if {with_article(words.arm)} stopped working."]
    in_time = ~found.unwatched & (found.rounds < found.most)
    if in_time.any():
        about = "about " if found.uncapped[in_time].any() else ""
        rounds = f"{about}{counted(round(float(found.rounds[in_time].max())), 'round')}"
        late = "" if in_time.all() else f"; in {counted(int((~in_time).sum()), words.task)}, not before the end"
        noticed = f"noticed within {rounds} on average{late}"
    else:
        noticed = "not noticed before the end: scores without a cap have far to fall"
    return [*lines, f"If the {words.arm} in force does {found.drop:.2g} worse from the middle on, this is {noticed}."]


def _by_simulation(simulated: bool) -> str:
    return f", by simulation, {RUNS} runs each" if simulated else ""


def _strange(report: FieldReport, strangers: Strange, words: Vocabulary, mean: float) -> list[str]:
    lost = float(strangers.regret.mean())
    line = (
        f"A case that belongs to none of the {plural(words.task)} (its rates drawn from all that are known) loses "
        f"{lost:,.0f} on average, {strangers.regret.max():,.0f} in the worst of {STRANGERS} drawn ones"
        f"{_by_simulation(strangers.simulated)}"
    )
    if strangers.handed_over is not None and strangers.until is not None:
        line += f"; {strangers.handed_over.mean():.0%} are handed over, after {strangers.until:,.0f} rounds on average"
    both = (1 - report.unknown) * mean + report.unknown * lost
    return [f"{line}. With {report.unknown:.0%} of such cases the plan loses {both:,.1f} on average."]


def field_document(report: FieldReport) -> dict[str, Any]:
    """The answers as JSON."""
    found, strangers, near, played = report.noticed, report.strangers, report.near, report.played
    return {
        "played": None
        if played is None
        else {"runs": played.runs, "regret": played.regret.tolist(), "within": played.within.tolist()},
        "handed_over": report.handed_over,
        "rule_costs": None if report.rule_costs is None else report.rule_costs.tolist(),
        "noticed": None
        if found is None
        else {
            "drop": found.drop,
            "rounds": None if found.rounds is None else found.rounds.tolist(),
            "unwatched": found.unwatched.tolist(),
        },
        "near": None if near is None else {"mean": near.mean, "within": near.within, "simulated": near.simulated},
        "strangers": None
        if strangers is None
        else {
            "share": report.unknown,
            "mean_regret": float(strangers.regret.mean()),
            "worst_regret": float(strangers.regret.max()),
            "simulated": strangers.simulated,
            "handed_over": None if strangers.handed_over is None else float(strangers.handed_over.mean()),
            "until_hand_over": strangers.until,
        },
        "late": [
            {
                "with": name,
                "claim": str(late.claim),
                "at_estimates": late.at_estimates,
                "worst_regret": float(late.regret.max()),
                "regret": late.regret.tolist(),
                "at_once": late.at_once.tolist(),
                "moves": float(late.moves.max()),
                "within": None if late.within is None else late.within.tolist(),
            }
            for name, late in report.lateness
        ],
    }
