"""Evidence against what a plan assumes: e-processes, so that looking every day costs nothing.

One per test, and a test is a set of boxes (all that give one option, or one alone) and a direction. With h_u the
outcomes of case u so far,

    E = (sum over shifts and starts of weight x product over u of q_u(h_u)) / (sup of product over u of p(h_u)).

q_u is what was predicted for the case when it began: a mixture of the kinds whose rates in these boxes are shifted from
some day on. p is what the plan assumes: a mixture of the kinds with any shares, the same for each `block` of cases in
the order they began, and any rates within the margins of the collection. The true p is among them, so E is at most
q/p(true), a martingale that starts at 1: whoever follows the plan, and whenever one looks, E ever reaches 1/level with
a chance of at most `level` (universal inference, Wasserman, Ramdas and Balakrishnan 2020; Ville 1939).
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from banditree.monitoring.likelihood import Rounds, alternatives, log_chances, margins
from banditree.tasks.arrays import FloatArray, IntArray
from banditree.tasks.collection import Collection

BLOCK = 100  # Among this many cases in a row the shares of the kinds are taken to be the same, whatever they are.
STEPS = 60  # Each look adds this many steps of EM to those of the look before; what is left open is added to the null.
CLOSE = 0.1  # EM stops when at most this much log-likelihood is left open.
MOVES = 4  # The shares take this many steps for each step of the rates, which costs more.
FROM_THE_START = 0.5  # The weight of a shift that was there from the first day; later starts share the rest.
LEAST_SHARE = 1e-4  # The share of a kind does not fall below this while EM goes on.


@dataclass(frozen=True)
class Question:
    """A question that is asked all the time: do these boxes give less (direction -1), or more (1), than assumed?

    box: the one box, or None where the test is about all boxes of the arm.
    """

    arm: int
    boxes: tuple[int, ...]
    direction: int
    box: int | None = None


@dataclass(frozen=True, eq=False)
class Null:
    """The likeliest state of things within what the plan assumes: shares (B, M) of each block and the places of the
    rates in their margins (M, K); log_likelihood: at least that of the truth, if the truth is as the plan assumes."""

    shares: FloatArray
    place: IntArray
    log_likelihood: float


def fit_null(table: FloatArray, block: IntArray, null: Null) -> Null:
    """EM from `null` on, over log-likelihoods (U, K, M, G) of cases in these blocks (U,).

    EM stops before it is at the top. No shares give more than n log max_i mean_u p_i(h_u) / p(h_u) above its likelihood
    (Jensen), and these means are what EM multiplies the shares with; so much is added.
    """
    n = np.bincount(block, minlength=len(null.shares)).astype(float)
    shares, place = null.shares, null.place
    for step in range(STEPS):
        joint = at_rates(table, place) + np.log(shares)[block]
        each = logsumexp(joint, axis=1)
        belief = np.exp(joint - each[:, None])
        slope = _by_block(belief, block, len(n)) / (np.maximum(n, 1)[:, None] * shares)
        left_open = float((n * np.log(np.maximum(slope.max(axis=1), 1.0))).sum())
        found = Null(shares, place, float(each.sum()) + left_open)
        if step % MOVES == 0:
            following = np.einsum("ui,ukig->ikg", belief, table, optimize=True).argmax(axis=2)
            if left_open <= CLOSE and (following == place).all():
                break
            place = following
        shares = np.maximum(np.where(n[:, None] > 0, shares * slope, shares), LEAST_SHARE)
        shares = shares / shares.sum(axis=1, keepdims=True)
    return found


def at_rates(table: FloatArray, place: IntArray) -> FloatArray:
    """The log-likelihood (U, M) of every case under every kind, with the rates at these places (M, K)."""
    if table.shape[3] == 1:
        return np.asarray(table[..., 0].sum(axis=1))
    return np.asarray(np.take_along_axis(table, place.T[None, :, :, None], axis=3)[..., 0].sum(axis=1))


def _by_block(values: FloatArray, block: IntArray, n_blocks: int) -> FloatArray:
    sums = np.zeros((n_blocks, values.shape[1]))
    np.add.at(sums, block, values)
    return sums


class Evidence:
    """The e-processes of some tests over the cases of a plan, brought forward look by look.

    starts: (T,), the days from which a shift may be there. block: see `BLOCK`; with 1, the kinds may come in any order.
    """

    def __init__(
        self, collection: Collection, tests: tuple[Question, ...], n_cases: int, starts: FloatArray, block: int = BLOCK
    ) -> None:
        M, K = collection.means.shape
        self.collection, self.tests, self.starts = collection, tests, starts
        self.sets = sorted({test.boxes for test in tests})
        self.inside, self.shifts = margins(collection), alternatives(collection)
        G, (D, S), T = self.inside.shape[2], self.shifts.shape[2:], len(starts)
        self.block = np.arange(n_cases) // block
        n_blocks = int(self.block[-1]) + 1 if n_cases else 0
        self.table = np.zeros((n_cases, K, M, G))
        self.null = Null(np.tile(np.maximum(collection.weights, LEAST_SHARE), (n_blocks, 1)), _middle(M, K, G), 0.0)
        self.base = np.zeros((n_cases, M))
        self.above = np.zeros((len(self.sets), T, n_cases, M, D, S), np.float32)  # by far the largest of all
        self.predicted = np.full((n_cases, M), np.nan)
        self.each = np.zeros((len(self.sets), T, n_cases, D, S))
        self.total = np.zeros((len(self.sets), T, D, S))
        self.begun = 1

    def add(self, rounds: Rounds) -> FloatArray:
        """Take in the rounds told since the last look; the log of every test's e-process (tests,) now."""
        if len(rounds.case):
            self._predict(np.unique(rounds.case))
            self._take_in(rounds)
            begun = ~np.isnan(self.predicted[:, 0])
            null = fit_null(self.table[begun], self.block[begun], self.null)
            self.null = null
        return np.array([float(logsumexp(self._parts(test))) for test in self.tests])

    def likeliest(self, test: Question) -> tuple[int, FloatArray]:
        """The likeliest start of a test's shift, and how likely each kind (U, M) is for each case if it is there."""
        parts = self._parts(test)
        t, s = np.unravel_index(parts.argmax(), parts.shape)
        j, d = self.sets.index(test.boxes), _side(test)
        joint = np.log(self.predicted) + self.base + self.above[j, t, :, :, d, s]
        return int(t), np.exp(joint - logsumexp(joint, axis=1, keepdims=True))

    def _parts(self, test: Question) -> FloatArray:
        """The log (T, S) of what every start and shift adds to a test's e-process."""
        T, S = self.total.shape[1], self.total.shape[3]
        later = (1 - FROM_THE_START) / max(T - 1, 1)
        weight = np.log(np.where(np.arange(T) == 0, FROM_THE_START if T > 1 else 1.0, later))
        total = self.total[self.sets.index(test.boxes), :, _side(test)]
        return np.asarray(total + weight[:, None] - np.log(S) - self.null.log_likelihood)

    def _predict(self, cases: IntArray) -> None:
        """Set the shares that are predicted for cases which begin: those of the cases so far, and the plan's."""
        M = self.predicted.shape[1]
        begun = ~np.isnan(self.predicted[:, 0])
        n = int(begun.sum())
        so_far = self.null.shares[self.block[begun]].sum(axis=0) if n else np.zeros(M)
        expected = (so_far + M * np.maximum(self.collection.weights, LEAST_SHARE)) / (n + M)
        new = cases[np.isnan(self.predicted[cases, 0])]
        self.predicted[new] = expected / expected.sum()

    def _take_in(self, rounds: Rounds) -> None:
        inside = log_chances(rounds, self.collection, self.inside)
        now = np.take_along_axis(inside, self.null.place.T[rounds.arm][:, :, None], axis=2)[..., 0]
        above = log_chances(rounds, self.collection, self.shifts) - now[:, :, None, None]
        np.add.at(self.table, (rounds.case, rounds.arm), inside)
        np.add.at(self.base, rounds.case, now)
        month = np.searchsorted(self.starts, rounds.at, side="right")
        for j, boxes in enumerate(self.sets):
            here = np.isin(rounds.box, boxes)
            for m in np.unique(month[here]).tolist():
                rows = np.flatnonzero(here & (month == m))
                active = np.arange(max(m, 1))[:, None]
                np.add.at(self.above[j], (active, rounds.case[rows]), above[rows][None])
        self.begun = max(self.begun, int(month.max()), 1)
        self._mix(np.unique(rounds.case), self.begun)

    def _mix(self, cases: IntArray, begun: int) -> None:
        """Bring the predicted likelihood of these cases up to date. begun: the starts that have come by now."""
        known = np.log(self.predicted[cases]) + self.base[cases]
        now = np.empty((*self.each.shape[:2], len(cases), *self.each.shape[3:]))
        now[:, :begun] = logsumexp(self.above[:, :begun, cases] + known[:, :, None, None], axis=3)
        now[:, begun:] = logsumexp(known, axis=1)[:, None, None]
        self.total += (now - self.each[:, :, cases]).sum(axis=2)
        self.each[:, :, cases] = now


def _middle(M: int, K: int, G: int) -> IntArray:
    return np.full((M, K), G // 2)


def _side(test: Question) -> int:
    return 0 if test.direction < 0 else 1
