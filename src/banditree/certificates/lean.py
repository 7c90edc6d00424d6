"""Compiling loops with numba, without its runtime and whatever else they do not need: a first plan waits for that.

Compiled so, a loop neither makes nor returns an array: the arrays that it fills in are made outside. In exchange
references to arrays are not counted, which would take most of the time of a loop that hands tuples of them around.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit

from banditree.compiled import warn_if_unkept

warn_if_unkept()
Function = TypeVar("Function", bound=Callable[..., Any])


def lean(**options: Any) -> Callable[[Function], Function]:
    """numba's njit, without the counting of references, for a loop that Python calls; the lock is free meanwhile."""
    how = {"cache": True, "nogil": True, "no_cfunc_wrapper": True, "_nrt": False, "error_model": "numpy"}
    return njit(**how | options)  # type: ignore[no-any-return, call-overload]


def inner(**options: Any) -> Callable[[Function], Function]:
    """The same for a loop that only other compiled loops call: nothing is compiled for calling it from Python."""
    return lean(**{"cache": False, "no_cpython_wrapper": True} | options)


def inlined(**options: Any) -> Callable[[Function], Function]:
    """The same for a loop that is called at one place: it is compiled as a part of its caller, in half the time."""
    return inner(**{"inline": "always"} | options)
