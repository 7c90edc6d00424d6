"""The loops of `losses`: what cases have lost so far, carried from row to row.

Compiled by numba, without counting references: import this module where it is used, and make the arrays outside.
"""

from typing import NamedTuple

from banditree.certificates.lean import inlined, inner, lean
from banditree.tasks.arrays import FloatArray, IntArray

PART = 1e-2  # Of the smallest chance that is followed: single losses and exits with less than that are dropped.
ROW_WORK = 20  # Passing on a row costs as much as this many products.


class Exits(NamedTuple):
    """How the rows of one task are left: row r after rounds[i] with chance[i] (of its low and high side), for i from
    first[r] to first[r + 1]. to: (N, 2), where that leads. cost: (N,), of a round. change: (N, 2), what leaving costs,
    unless it is after the last round."""

    first: IntArray
    rounds: FloatArray
    chance: FloatArray
    to: IntArray
    cost: FloatArray
    change: FloatArray


class Losses(NamedTuple):
    """Chances (..., W) of having lost 0, 1, ... cells, which cells are in use (..., 2), and beyond them (..., 2): the
    chance of having lost more, and that times the loss."""

    cells: FloatArray
    window: IntArray
    beyond: FloatArray


class Effort(NamedTuple):
    """tiny: the smallest chance that is followed; work: that may be spent. done: (2,), what was dropped, and the
    work."""

    tiny: float
    work: float
    done: FloatArray


class Scratch(NamedTuple):
    """here: (W,), the losses of those who are passed on. kernel: (2, W), the chances to lose n cells more until
    the moment before an exit and the one after it; zero between uses. reach: (2, 2), the cells of it in use."""

    here: FloatArray
    kernel: FloatArray
    reach: IntArray


@lean()
def carry_losses(
    exits: Exits, moments: IntArray, arriving: Losses, final: Losses, effort: Effort, scratch: Scratch
) -> bool:
    """Carry all who are `arriving` (N, T) at rows and moments to the last moment, and fill in `final`; False if that
    takes too much work."""
    for moment in range(moments.size):
        moving = True
        while moving:
            moving = False
            for row in range(exits.cost.size):
                chance = arriving.beyond[row, moment, 0]
                for cell in range(arriving.window[row, moment, 0], arriving.window[row, moment, 1]):
                    chance += arriving.cells[row, moment, cell]
                if chance > effort.tiny:
                    pass_on(exits, moments, row, moment, arriving, final, effort, scratch, chance)
                    moving = moving or 0 <= exits.to[row, 0] <= row or 0 <= exits.to[row, 1] <= row
                elif chance > 0.0:
                    effort.done[0] += chance
                    clear(arriving, row, moment)
                if effort.done[1] > effort.work:
                    return False
    return True


@inner(forceinline=True)
def clear(arriving: Losses, row: int, moment: int) -> None:
    """Nobody arrives there any more."""
    low, high = arriving.window[row, moment]
    arriving.cells[row, moment, low:high] = 0.0
    arriving.window[row, moment, 0], arriving.window[row, moment, 1] = arriving.cells.shape[2], 0
    arriving.beyond[row, moment] = 0.0


@inlined()
def pass_on(
    exits: Exits,
    moments: IntArray,
    row: int,
    moment: int,
    arriving: Losses,
    final: Losses,
    effort: Effort,
    scratch: Scratch,
    chance: float,
) -> None:
    """Pass on who arrives at a row at a moment; who does not leave it before the last moment has a final loss."""
    here, kernel, reach = scratch.here, scratch.kernel, scratch.reach
    low, high = take(arriving, row, moment, effort, here)
    beyond, amount = arriving.beyond[row, moment]
    clear(arriving, row, moment)
    few, left, rest = effort.tiny * PART / chance, 1.0, moments[moments.size - 1] - moments[moment]
    for side in range(2):
        to, at = exits.to[row, side], moment
        for place in range(exits.first[row], exits.first[row + 1]):
            rounds, leaves = exits.rounds[place], exits.chance[place, side]
            if rounds > rest:
                break
            left -= leaves
            if leaves < few or to < 0:
                effort.done[0] += leaves * chance
                continue
            while at + 2 < moments.size and moments[moment] + rounds >= moments[at + 1]:
                deliver(here, kernel[0], reach[0], low, high, arriving, to, at, effort)
                advance(scratch)
                at += 1
            later = (moments[moment] + rounds - moments[at]) / (moments[at + 1] - moments[at])
            loss = rounds * exits.cost[row] + (exits.change[row, side] if rounds < rest else 0.0)
            for step in range(2):
                share, there = leaves * (later if step == 1 else 1.0 - later), arriving.beyond[to, at + step]
                leave(here, kernel[step], reach[step], low, high, share, loss, (beyond, amount), there)
        for step in range(2):
            later_on = min(at + step, moments.size - 1)
            deliver(here, kernel[step], reach[step], low, high, arriving, to, later_on, effort)
    stays, loss = max(left, 0.0), rest * exits.cost[row]
    leave(here, kernel[0], reach[0], low, high, stays, loss, (beyond, amount), final.beyond)
    add_up(here, kernel[0], reach[0], low, high, final.cells, final.beyond)


@inlined()
def take(arriving: Losses, row: int, moment: int, effort: Effort, here: FloatArray) -> tuple[int, int]:
    """The cells of those who arrive, without the ends that hold next to nobody, copied to `here`."""
    cells, few = arriving.cells[row, moment], effort.tiny * PART
    low, high = arriving.window[row, moment]
    while low < high and cells[low] < few:
        effort.done[0] += cells[low]
        low += 1
    while low < high and cells[high - 1] < few:
        high -= 1
        effort.done[0] += cells[high]
    for cell in range(low, high):
        here[cell] = cells[cell]
    return low, high


@inlined()
def advance(scratch: Scratch) -> None:
    """The moment after the exits becomes the one before them."""
    kernel, reach = scratch.kernel, scratch.reach
    for cell in range(reach[1, 0], reach[1, 1]):
        kernel[0, cell], kernel[1, cell] = kernel[1, cell], 0.0
    reach[0, 0], reach[0, 1], reach[1, 0], reach[1, 1] = reach[1, 0], reach[1, 1], kernel.shape[1], 0


@inner(forceinline=True)
def leave(
    here: FloatArray,
    kernel: FloatArray,
    reach: IntArray,
    low: int,
    high: int,
    share: float,
    loss: float,
    far: tuple[float, float],
    to: FloatArray,
) -> None:
    """Add to a kernel, between two cells in the shares that keep the mean; who has lost more than all cells, or does so
    now, goes to `to` at once. far: the chance of the first, and that times the loss."""
    to[0] += share * far[0]
    to[1] += share * (far[1] + loss * far[0])
    if loss + 1.0 >= here.size:
        for cell in range(low, high):
            to[0] += share * here[cell]
            to[1] += share * here[cell] * (cell + loss)
        return
    cell = int(loss)
    kernel[cell] += share * (cell + 1.0 - loss)
    kernel[cell + 1] += share * (loss - cell)
    reach[0], reach[1] = min(reach[0], cell), max(reach[1], cell + 2)


@inner(forceinline=True)
def deliver(
    here: FloatArray,
    kernel: FloatArray,
    reach: IntArray,
    low: int,
    high: int,
    arriving: Losses,
    to: int,
    moment: int,
    effort: Effort,
) -> None:
    """Let all of a kernel arrive at a row at a moment."""
    begin, end = reach
    if begin < end:
        window = arriving.window[to, moment]
        window[0], window[1] = min(window[0], low + begin), max(window[1], min(high + end - 1, here.size))
        effort.done[1] += (high - low) * (end - begin) + ROW_WORK
        add_up(here, kernel, reach, low, high, arriving.cells[to, moment], arriving.beyond[to, moment])


@inner()
def add_up(
    here: FloatArray, kernel: FloatArray, reach: IntArray, low: int, high: int, cells: FloatArray, beyond: FloatArray
) -> None:
    """Add the losses before and those of a kernel, and empty it."""
    for more in range(reach[0], reach[1]):
        chance, stop = kernel[more], max(min(high, cells.size - more), low)
        kernel[more] = 0.0
        if chance > 0.0:
            before, after = here[low:stop], cells[low + more : stop + more]
            for place in range(before.size):
                after[place] += chance * before[place]
            for cell in range(stop, high):
                beyond[0] += chance * here[cell]
                beyond[1] += chance * here[cell] * (cell + more)
    reach[0], reach[1] = cells.size, 0
