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
class Claim:
    """One sentence of the paper: the panels it is about, what it means as a number, what is measured in a panel and
    whether that agrees; shown: the panels that are measured, by default those that it is about."""

    claim: str
    panels: tuple[str, ...]
    meaning: str
    measured: Callable[[Results], str]
    agrees: Callable[[Results, Panels], bool]
    shown: tuple[str, ...] = ()

    def verdict(self, panels: Panels) -> "Verdict":
        """Whether our runs show it."""
        measured = "; ".join(f"({name}) {self.measured(panels[name])}" for name in self.shown or self.panels)
        holds = tuple(name for name in self.panels if self.agrees(panels[name], panels))
        return Verdict(self.claim, self.panels, self.meaning, measured, holds)


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
    return [claim.verdict(panels) for claim in CLAIMS]


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


def _ratio(results: Results, one: str, other: str) -> float:
    return final(results, one) / final(results, other)


def _committed_rightly(results: Results) -> str:
    return (
        f"{commitment(results, DTECE):,.0f} of {results.rounds[-1]:,} rounds, {rightly(results, DTECE):.1%} right, "
        f"{_ratio(results, DTECE, MTS):,.0f} times the regret of mTS"
    )


def _behind(results: Results) -> float:
    """The regret of DT-ECE as a multiple of that of the better of mUCB and mTS."""
    return max(_ratio(results, DTECE, MTS), _ratio(results, DTECE, MUCB))


CLAIMS = (
    Claim(
        "DT-ECE performance is on par with such renowned algorithms.",
        HARD + RAND,
        f"final mean regret of DT-ECE at most {ON_PAR:g} times that of the better of mUCB and mTS",
        lambda r: f"{_behind(r):,.1f} times",
        lambda r, _: _behind(r) <= ON_PAR,
    ),
    Claim(
        "DT-ECE achieves a small regret by classifying the test task in a handful of interactions, both when "
        "separation is large (a) or small (b).",
        HARD,
        f"runs commit within {HANDFUL:,} rounds on average, and to a best arm",
        _committed_rightly,
        lambda r, _: commitment(r, DTECE) <= HANDFUL and rightly(r, DTECE) >= 0.99,
    ),
    Claim(
        "DT-ECE is able to commit to the optimal strategy even before mTS, whose posterior takes slightly longer to "
        "converge.",
        HARD,
        f"DT-ECE's runs commit, on average, before the mean curve of mTS has paid {PAID:.0%} of its regret",
        lambda r: f"DT-ECE at {commitment(r, DTECE):,.0f}, mTS at {bend(r, MTS):,.0f}",
        lambda r, _: commitment(r, DTECE) < bend(r, MTS),
    ),
    Claim(
        "DT-ECE suffers larger regret due to pure exploration.",
        HARD,
        "final mean regret of DT-ECE above that of mTS",
        lambda r: f"{final(r, DTECE):,.1f} against {final(r, MTS):,.1f}",
        lambda r, _: final(r, DTECE) > final(r, MTS),
    ),
    Claim(
        "Optimistic strategies like mUCB are bound to fail: mUCB cannot identify the test task efficiently, and the "
        "regret grows steady.",
        HARD,
        f"the last quarter of the rounds adds at least {STEADY:.0%} of a quarter of mUCB's regret, which ends highest",
        lambda r: f"{late_growth(r, MUCB):.0%}, ends at {final(r, MUCB):,.0f}, DT-ECE at {final(r, DTECE):,.0f}",
        lambda r, _: late_growth(r, MUCB) >= STEADY and final(r, MUCB) > final(r, DTECE),
    ),
    Claim(
        "Optimism works considerably better in the rand family.",
        RAND,
        f"the last quarter of the rounds adds less than {SETTLED:.0%} of a quarter of mUCB's regret",
        lambda r: f"{late_growth(r, MUCB):.0%}",
        lambda r, _: late_growth(r, MUCB) < SETTLED,
    ),
    Claim(
        "mUCB does not match the efficiency of mTS in the rand family.",
        RAND,
        "final mean regret of mUCB above that of mTS",
        lambda r: f"{final(r, MUCB):,.1f} against {final(r, MTS):,.1f}",
        lambda r, _: final(r, MUCB) > final(r, MTS),
    ),
    Claim(
        "mUCB does not match the efficiency of DT-ECE in the rand family.",
        RAND,
        "final mean regret of mUCB above that of DT-ECE",
        lambda r: f"{final(r, MUCB):,.1f} against {final(r, DTECE):,.1f}",
        lambda r, _: final(r, MUCB) > final(r, DTECE),
    ),
    Claim(
        "DT-ECE can classify the test task into a set of 40, with 40 arms each, by taking less than 1000 samples on "
        "average.",
        ("d",),
        "mean round of commitment below 1,000, to a best arm",
        lambda r: f"{commitment(r, DTECE):,.0f} rounds, {rightly(r, DTECE):.1%} right",
        lambda r, _: commitment(r, DTECE) < 1000 and rightly(r, DTECE) >= 0.99,
    ),
    Claim(
        "DT-ECE is designed for the worst case, which can limit the performance of the algorithm in more forgiving "
        "instances (such as the rand family).",
        RAND,
        "DT-ECE's regret is a larger multiple of mTS's in (c) and (d) than in (a), at the same separation",
        lambda r: f"{_ratio(r, DTECE, MTS):,.1f} times",
        lambda r, panels: _ratio(r, DTECE, MTS) > _ratio(panels["a"], DTECE, MTS),
        shown=("a", "c", "d"),
    ),
)
