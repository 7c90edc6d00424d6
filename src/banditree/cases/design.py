"""How a log was made: what decided which option a case was given, found from the log itself.

Every test adds up one number per case and divides by the root of the sum of their squares, so that it holds however
the rounds of one case depend on each other. A log whose options were drawn at random fails one of them in about 1 of
4,000 logs.
"""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from banditree.cases.table import Cases
from banditree.errors import invalid
from banditree.languages.language import message
from banditree.nouns import counted
from banditree.tasks.arrays import BoolArray, FloatArray, IntArray
from banditree.tasks.contexts import INTERCEPT

FAR = 4.0  # A test speaks against chance from this many standard deviations on.
LEAST_CASES = 10  # With fewer cases of several rounds nothing is found out about a design.
FEW_CHANGE = 0.05  # Where at most this share of the cases ever changes its option, it was decided once per case.


class Design(StrEnum):
    """What decided which option a case was given."""

    FULL = "full"
    PER_ROUND = "per-round"
    PER_CASE = "per-case"
    STICKY = "sticky"
    SEEN = "seen"
    UNKNOWN = "unknown"

    @property
    def words(self) -> str:
        """For people."""
        return WORDS[self]


WORDS = {
    Design.FULL: message("full information: every option's outcome is known"),
    Design.PER_ROUND: message("options were given at random in every round"),
    Design.PER_CASE: message("options were given once per case and kept"),
    Design.STICKY: message("options stick: what a case is given depends on what it had before"),
    Design.SEEN: message("options were chosen by what was seen of the case"),
    Design.UNKNOWN: message("how options were given is not known"),
}

ESTIMATED, STATED = message("their chances are estimated from that"), message("as stated")
CAUTIONS = {
    Design.SEEN: "Rates may be due to who was given an option, and when. If the chances of the options are known, give "
    'them: propensity="NAME".',
    Design.PER_CASE: "Which option is better for whom rests on comparing different cases, which may differ in more "
    "than what they were given.",
}


@dataclass(frozen=True)
class LogDesign:
    """The design of a log, the evidence in words, and whether the user stated it.

    is_estimated: the chances of the options were estimated from what was seen.
    """

    design: Design
    evidence: str
    is_stated: bool = False
    is_estimated: bool = False

    def __str__(self) -> str:
        how = f"; {ESTIMATED}" if self.is_estimated else ""
        return f"{self.design.words} ({f'{STATED}; ' if self.is_stated else ''}{self.evidence}{how})"

    @property
    def caution(self) -> str:
        """What to keep in mind of rates that are estimated from such a log, or ""."""
        return CAUTIONS.get(self.design, "")

    @property
    def shows_plans(self) -> bool:
        """Whether the log can show what a plan gives that changes the option within a case."""
        return self.design is not Design.PER_CASE and (self.design is not Design.SEEN or self.is_estimated)


def find_design(cases: Cases, stated: str | None = None) -> LogDesign:
    """The design of a log, as it is stated or as it is found.

    >>> from banditree.cases.table import cases_of
    >>> kept = np.tile([[1.0, np.nan], [np.nan, 0.0]], (10, 1)).repeat(5, axis=0)
    >>> print(find_design(cases_of(np.arange(20).repeat(5), ["A", "B"], kept)))
    options were given once per case and kept (0 of 20 cases ever changed their option)
    """
    if stated is not None and stated not in (*Design,):
        raise invalid("design", f"one of {', '.join(Design)}", stated)
    if cases.is_full:
        return LogDesign(Design.FULL, message("rounds have the outcomes of several options"))
    differs = np.append(False, np.diff(cases.arm) != 0) & (cases.place > 0)
    changed = int(np.count_nonzero(np.bincount(cases.owner[differs], minlength=cases.n_cases)))
    several = int(np.count_nonzero(cases.n_rounds > 1))
    if stated is not None:
        return LogDesign(Design(stated), _changing(changed, several), is_stated=True)
    if cases.chances is not None:
        return LogDesign(Design.PER_ROUND, message("with the chances that the log gives"))
    if several < LEAST_CASES:
        return LogDesign(Design.UNKNOWN, message(f"{counted(several, 'case')} of several rounds, {LEAST_CASES} needed"))
    return LogDesign(*_found(cases, differs, changed, several))


def _found(cases: Cases, differs: BoolArray, changed: int, several: int) -> tuple[Design, str]:
    counts = np.zeros((cases.n_cases, len(cases.arms)))
    np.add.at(counts, (cases.owner, cases.arm), 1.0)
    unequal = _unequal_shares(counts)
    if (unequal > FAR and changed <= max(LEAST_CASES, FEW_CHANGE * several)) or not changed:
        return Design.PER_CASE, _changing(changed, several)
    if abs(_by_outcome(cases, differs)) > FAR:
        return Design.SEEN, message("whether they change depends on the outcome before")
    if (what := _known_before(cases)) is not None:
        return Design.SEEN, message(f"they depend on {what}")
    if _sticks(cases, counts, differs) > FAR:
        share = differs[cases.place > 0].mean()
        by_chance = 1 - ((counts.sum(axis=0) / counts.sum()) ** 2).sum()
        return Design.STICKY, message(f"they change in {share:.0%} of rounds, and would in {by_chance:.0%} by chance")
    if unequal > FAR:
        return Design.SEEN, message("cases differ in what they are given more than by chance")
    return Design.PER_ROUND, message("they depend neither on the case nor on what came before, as far as the log shows")


def _changing(changed: int, several: int) -> str:
    return message(f"{changed:,} of {counted(several, 'case')} ever changed their option")


def _away(each: FloatArray) -> float:
    """How many standard deviations the sum of one number per case is from 0."""
    size = float(np.sqrt((each**2).sum()))
    return float(each.sum()) / size if size else 0.0


def _unequal_shares(counts: FloatArray) -> float:
    """Whether cases differ in how often they were given each option: Pearson's statistic of each case."""
    share, n = counts.sum(axis=0) / counts.sum(), counts.sum(axis=1, keepdims=True)
    each = ((counts - n * share) ** 2 / np.maximum(n * share, 1e-300)).sum(axis=1)
    return _away((each - (np.count_nonzero(share) - 1))[n[:, 0] > 1])


def _known_before(cases: Cases) -> str | None:
    """The context, or the time, that options depend on most; None if on none. The more there are, the more it takes."""
    from scipy.special import ndtr

    known = [(message("the time"), cases.at)] if np.isfinite(cases.at).all() else []
    if cases.contexts is not None:
        named = zip(cases.features, cases.contexts.T, strict=True)
        known += [(repr(feature.name), values) for feature, values in named if feature.name != INTERCEPT]
    given = np.eye(len(cases.arms))[cases.arm]
    given -= given.mean(axis=0)
    found = dict[str, float]()
    for name, values in known:
        moved = (values - values.mean())[:, None] * given
        each = [abs(_away(np.bincount(cases.owner, column, cases.n_cases).astype(float))) for column in moved.T]
        found[name] = max(found.get(name, 0.0), *each)
    name = max(found, key=lambda one: found[one], default="")
    is_chance = not name or ndtr(-found[name]) * len(known) * len(cases.arms) > ndtr(-FAR)
    return None if is_chance else name


def _sticks(cases: Cases, counts: FloatArray, differs: BoolArray) -> float:
    """Whether a case has the same option twice in a row more often than in a random order of its own rounds."""
    n = np.maximum(cases.n_rounds, 1)
    same = (cases.n_rounds - 1) - np.bincount(cases.owner[differs], minlength=cases.n_cases)
    return _away(np.asarray(np.where(cases.n_rounds > 1, same - (counts * (counts - 1)).sum(axis=1) / n, 0.0), float))


def _by_outcome(cases: Cases, differs: BoolArray) -> float:
    """Whether an option is changed more often after low outcomes, or after high ones."""
    after = np.flatnonzero((cases.place > 0) & np.append(False, cases.told[:-1]))
    before = cases.arm[after - 1]
    outcome = _less_mean(cases.reward[after - 1], before, len(cases.arms))
    moved = _less_mean(differs[after].astype(float), before, len(cases.arms))
    return _away(np.bincount(cases.owner[after], outcome * moved, cases.n_cases).astype(float))


def _less_mean(values: FloatArray, group: IntArray, n_groups: int) -> FloatArray:
    n = np.maximum(np.bincount(group, minlength=n_groups), 1)
    return np.asarray(values - (np.bincount(group, values, n_groups) / n)[group])
