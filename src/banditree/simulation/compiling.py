"""Compiling a policy's functions: the very ones that a live session runs."""

from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any


@cache
def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` compiled by numba, along with the plain Python functions it calls, which it finds by their names.

    numba does not compile what a function calls unless that is compiled too, so the copy that is compiled has, as its
    globals, the compiled versions of the functions that its source names.
    """
    from numba import njit

    if not isinstance(function, FunctionType):
        return function
    names = {
        name: compiled(value)
        for name in function.__code__.co_names
        if isinstance(value := function.__globals__.get(name), FunctionType)
    }
    copy = FunctionType(
        function.__code__,
        {**function.__globals__, **names},
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    return njit(copy)
