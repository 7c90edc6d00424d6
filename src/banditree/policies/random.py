"""Keyed random numbers: the same key gives the same number, in any order, on any number of threads.

The hash is pcg4d of Jarzynski and Olano, "Hash Functions for GPU Rendering" (JCGT 9(3), 2020): four 32-bit words in,
four out. Written with masked integers, it gives the same bits interpreted (Python integers) and compiled (int64).
"""

import math

MASK = 0xFFFFFFFF

# What the numbers are for: one stream each, so that no two uses share a key.
POLICY_STREAM = 0x243F6A88
REWARD_STREAM = 0x85A308D3
CONTEXT_STREAM = 0x13198A2E


def pcg4d(x: int, y: int, z: int, w: int) -> tuple[int, int, int, int]:
    """Four well-mixed words in [0, 2^32) from four words in [0, 2^32)."""
    x = (x * 1664525 + 1013904223) & MASK
    y = (y * 1664525 + 1013904223) & MASK
    z = (z * 1664525 + 1013904223) & MASK
    w = (w * 1664525 + 1013904223) & MASK
    x = (x + y * w) & MASK
    y = (y + z * x) & MASK
    z = (z + x * y) & MASK
    w = (w + y * z) & MASK
    x ^= x >> 16
    y ^= y >> 16
    z ^= z >> 16
    w ^= w >> 16
    x = (x + y * w) & MASK
    y = (y + z * x) & MASK
    z = (z + x * y) & MASK
    w = (w + y * z) & MASK
    return x, y, z, w


def unit(first: int, second: int) -> float:
    """A number in [0, 1) with 53 random bits, from two words."""
    return ((first >> 5) * 67108864.0 + (second >> 6)) / 9007199254740992.0


def uniform(rng: tuple[int, int, int], draw: int) -> float:
    """The policy's random number number `draw` of one round; rng is (seed, run or case, round).

    >>> round(uniform((0, 1, 2), 0), 6) == round(uniform((0, 1, 2), 0), 6) != round(uniform((0, 1, 2), 1), 6)
    True
    """
    x, y, _z, _w = pcg4d(rng[0] ^ POLICY_STREAM, rng[1], rng[2], draw)
    return unit(x, y)


def uniform_pair(rng: tuple[int, int, int], draw: int) -> tuple[float, float]:
    """Two of the policy's random numbers of one round, for the price of one; the first is `uniform(rng, draw)`."""
    x, y, z, w = pcg4d(rng[0] ^ POLICY_STREAM, rng[1], rng[2], draw)
    return unit(x, y), unit(z, w)


def reward_uniforms(seed: int, task: int, run: int, arm: int, n_arms: int, pull: int) -> tuple[float, float]:
    """Two numbers in [0, 1) for pull number `pull` of an arm: all policies that share a seed see the same rewards."""
    x, y, z, w = pcg4d(seed ^ REWARD_STREAM, run, task * n_arms + arm, pull)
    return unit(x, y), unit(z, w)


def normal(first: float, second: float) -> float:
    """A standard normal number from two numbers in [0, 1) (Box and Muller)."""
    return math.sqrt(-2.0 * math.log(1.0 - first)) * math.cos(2.0 * math.pi * second)
