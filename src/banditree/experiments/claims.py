"""What Section 5 of the paper says about its figure, as numbers, and whether our runs show it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from banditree.simulation.results import Results, mean_band

DTECE, MUCB, MTS = "DT-ECE", "mUCB", "mTS"
HARD, RAND = ("a", "b"), ("c", "d")
PAID = 0.95  # A curve has bent once this share of its final regret is paid.
ON_PAR = 2.0  # Two regrets are on par if neither is more than twice the other.
HANDFUL = 1_000  # This many rounds are "a handful of interactions", by the paper's own measure in (d).
STEADY = 0.5  # Regret grows steadily if the last quarter of the rounds adds this share of a quarter of it, or more; ...
SETTLED = 0.25  # ... it has settled if the last quarter adds less than this share.

Panels = Mapping[str, Results]


@dataclass(frozen=True)
class Verdict:
    """One sentence of the paper: the panels it is about, what it means as a number, what was measured, and the panels
    in which that agrees (`holds`)."""

    claim: str
    panels: tuple[str, ...]
    meaning: str
    measured: str
    holds: tuple[str, ...]

    @property
    def reproduced(self) -> bool:
        """Whether it agrees in every panel that the sentence is about."""
        return self.holds == self.panels

    @property
    def answer(self) -> str:
        """ "yes", "no", or where: "(a) only"."""
        if not self.holds or self.reproduced:
            return "yes" if self.holds else "no"
        return f"{', '.join(f'({name})' for name in self.holds)} only"


def check_claims(panels: Panels) -> list[Verdict]:
    """The verdict on every sentence of Section 5 that can be checked. panels: the results of a, b, c and d."""
    return [claim(panels) for claim in CLAIMS]


def final(results: Results, policy: str) -> float:
    """Regret at the horizon, averaged over tasks and runs."""
    return float(results.final(policy).mean())


def bend(results: Results, policy: str) -> float:
    """The round by which `PAID` of the final mean regret is paid: where the curve bends."""
    mean = mean_band(results, policy).mean
    return float(results.rounds[int(np.searchsorted(mean, PAID * mean[-1]))])


def commitment(results: Results, policy: str) -> float:
    """The mean round at which runs begin to use one arm for good."""
    return float(results.committed[results.number(policy)].mean())


def rightly(results: Results, policy: str) -> float:
    """The share of runs that settle on a best arm."""
    return float((results.arm_right[results.number(policy)] == 1).mean())


def late_growth(results: Results, policy: str) -> float:
    """Regret added by the last quarter of the rounds, as a share of a quarter of all: 1 is a straight line."""
    mean = mean_band(results, policy).mean
    H = results.rounds[-1]
    before = np.interp(0.75 * H, results.rounds, mean)
    return float(4 * (mean[-1] - before) / mean[-1])


def _each(panels: Panels, names: tuple[str, ...], number: Callable[[Results], str]) -> str:
    return "; ".join(f"({name}) {number(panels[name])}" for name in names)


def _where(panels: Panels, names: tuple[str, ...], holds: Callable[[Results], bool]) -> tuple[str, ...]:
    return tuple(name for name in names if holds(panels[name]))


def _ratio(results: Results, one: str, other: str) -> float:
    return final(results, one) / final(results, other)


def small_regret_in_a_handful(panels: Panels) -> Verdict:
    """DT-ECE classifies early on `hard`."""
    return Verdict(
        "DT-ECE achieves a small regret by classifying the test task in a handful of interactions, both when "
        "separation is large (a) or small (b).",
        HARD,
        f"runs commit within {HANDFUL:,} rounds on average, and to a best arm",
        _each(panels, HARD, _committed_rightly),
        _where(panels, HARD, lambda r: commitment(r, DTECE) <= HANDFUL and rightly(r, DTECE) >= 0.99),
    )


def _committed_rightly(results: Results) -> str:
    return (
        f"{commitment(results, DTECE):,.0f} of {results.rounds[-1]:,} rounds, {rightly(results, DTECE):.1%} right, "
        f"{_ratio(results, DTECE, MTS):,.0f} times the regret of mTS"
    )


def commits_before_mts(panels: Panels) -> Verdict:
    """DT-ECE settles before mTS does on `hard`."""
    return Verdict(
        "DT-ECE is able to commit to the optimal strategy even before mTS, whose posterior takes slightly longer to "
        "converge.",
        HARD,
        f"DT-ECE's runs commit, on average, before the mean curve of mTS has paid {PAID:.0%} of its regret",
        _each(panels, HARD, lambda r: f"DT-ECE at {commitment(r, DTECE):,.0f}, mTS at {bend(r, MTS):,.0f}"),
        _where(panels, HARD, lambda r: commitment(r, DTECE) < bend(r, MTS)),
    )


def pays_for_exploration(panels: Panels) -> Verdict:
    """DT-ECE pays more than mTS on `hard`."""
    return Verdict(
        "DT-ECE suffers larger regret due to pure exploration.",
        HARD,
        "final mean regret of DT-ECE above that of mTS",
        _each(panels, HARD, lambda r: f"{final(r, DTECE):,.1f} against {final(r, MTS):,.1f}"),
        _where(panels, HARD, lambda r: final(r, DTECE) > final(r, MTS)),
    )


def optimism_fails(panels: Panels) -> Verdict:
    """mUCB never settles on `hard`."""
    return Verdict(
        "Optimistic strategies like mUCB are bound to fail: mUCB cannot identify the test task efficiently, and the "
        "regret grows steady.",
        HARD,
        f"the last quarter of the rounds adds at least {STEADY:.0%} of a quarter of mUCB's regret, which ends highest",
        _each(
            panels,
            HARD,
            lambda r: f"{late_growth(r, MUCB):.0%}, ends at {final(r, MUCB):,.0f}, DT-ECE at {final(r, DTECE):,.0f}",
        ),
        _where(panels, HARD, lambda r: late_growth(r, MUCB) >= STEADY and final(r, MUCB) > final(r, DTECE)),
    )


def optimism_works_better(panels: Panels) -> Verdict:
    """mUCB settles on `rand`."""
    return Verdict(
        "Optimism works considerably better in the rand family.",
        RAND,
        f"the last quarter of the rounds adds less than {SETTLED:.0%} of a quarter of mUCB's regret",
        _each(panels, RAND, lambda r: f"{late_growth(r, MUCB):.0%}"),
        _where(panels, RAND, lambda r: late_growth(r, MUCB) < SETTLED),
    )


def optimism_behind_mts(panels: Panels) -> Verdict:
    """mTS pays less than mUCB on `rand`."""
    return Verdict(
        "mUCB does not match the efficiency of mTS in the rand family.",
        RAND,
        "final mean regret of mUCB above that of mTS",
        _each(panels, RAND, lambda r: f"{final(r, MUCB):,.1f} against {final(r, MTS):,.1f}"),
        _where(panels, RAND, lambda r: final(r, MUCB) > final(r, MTS)),
    )


def optimism_behind_dt_ece(panels: Panels) -> Verdict:
    """DT-ECE pays less than mUCB on `rand`."""
    return Verdict(
        "mUCB does not match the efficiency of DT-ECE in the rand family.",
        RAND,
        "final mean regret of mUCB above that of DT-ECE",
        _each(panels, RAND, lambda r: f"{final(r, MUCB):,.1f} against {final(r, DTECE):,.1f}"),
        _where(panels, RAND, lambda r: final(r, MUCB) > final(r, DTECE)),
    )


def forty_tasks_in_a_thousand(panels: Panels) -> Verdict:
    """DT-ECE classifies among 40 tasks within 1,000 samples."""
    return Verdict(
        "DT-ECE can classify the test task into a set of 40, with 40 arms each, by taking less than 1000 samples on "
        "average.",
        ("d",),
        "mean round of commitment below 1,000, to a best arm",
        _each(panels, ("d",), lambda r: f"{commitment(r, DTECE):,.0f} rounds, {rightly(r, DTECE):.1%} right"),
        _where(panels, ("d",), lambda r: commitment(r, DTECE) < 1000 and rightly(r, DTECE) >= 0.99),
    )


def on_par(panels: Panels) -> Verdict:
    """DT-ECE is on par with the opaque algorithms."""
    names = HARD + RAND
    return Verdict(
        "DT-ECE performance is on par with such renowned algorithms.",
        names,
        f"final mean regret of DT-ECE at most {ON_PAR:g} times that of the better of mUCB and mTS",
        _each(panels, names, lambda r: f"{max(_ratio(r, DTECE, MTS), _ratio(r, DTECE, MUCB)):,.1f} times"),
        _where(panels, names, lambda r: max(_ratio(r, DTECE, MTS), _ratio(r, DTECE, MUCB)) <= ON_PAR),
    )


def worst_case_design_costs(panels: Panels) -> Verdict:
    """DT-ECE is further behind mTS on `rand` than on `hard` at the same separation."""
    return Verdict(
        "DT-ECE is designed for the worst case, which can limit the performance of the algorithm in more forgiving "
        "instances (such as the rand family).",
        RAND,
        "DT-ECE's regret is a larger multiple of mTS's in (c) and (d) than in (a), at the same separation",
        _each(panels, ("a", "c", "d"), lambda r: f"{_ratio(r, DTECE, MTS):,.1f} times"),
        _where(panels, RAND, lambda r: _ratio(r, DTECE, MTS) > _ratio(panels["a"], DTECE, MTS)),
    )


CLAIMS: tuple[Callable[[Panels], Verdict], ...] = (
    on_par,
    small_regret_in_a_handful,
    commits_before_mts,
    pays_for_exploration,
    optimism_fails,
    optimism_works_better,
    optimism_behind_mts,
    optimism_behind_dt_ece,
    forty_tasks_in_a_thousand,
    worst_case_design_costs,
)
