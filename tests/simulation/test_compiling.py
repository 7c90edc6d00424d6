from typing import NamedTuple

import numpy as np
import pytest

from banditree.simulation.compiling import compiled, compiled_loop, fingerprint, makes_arrays, returns_numbers

SCALE = 2.0
TABLE = np.array([1.0, 2.0])


def base(x: float) -> float:
    return SCALE * x


def outer(x: float) -> float:
    return base(x) + 1.0


def fresh(source, **names):
    """A function made anew from text, as if its module had been edited."""
    space = {"np": np, **names}
    exec(source, space)
    return space["f"]


def test_functions_are_compiled_with_what_they_call():
    assert compiled(outer)(3.0) == outer(3.0) == 7.0


def test_closures_are_compiled_with_what_they_close_over():
    def inner(x: float) -> float:
        return base(x) - 1.0

    def closed(x: float) -> float:
        return inner(x) * 2.0

    assert compiled(closed)(3.0) == 10.0


def test_a_change_anywhere_below_changes_the_fingerprint():
    def deep(constant, table):
        low = fresh(f"def f(x): return x + {constant}")
        middle = fresh("def f(x): return low(x) * T[0]", low=low, T=table)
        return fresh("def f(x): return middle(x)", middle=middle)

    one = fingerprint(deep(1, TABLE))
    assert one == fingerprint(deep(1, TABLE.copy()))
    assert one != fingerprint(deep(2, TABLE))
    assert one != fingerprint(deep(1, TABLE + 1))


def test_a_changed_closure_changes_the_fingerprint():
    def make(inner):
        return fresh("def outer(inner):\n  def g(x): return inner(x)\n  return g\nf = outer(inner)", inner=inner)

    assert fingerprint(make(base)) == fingerprint(make(base)) != fingerprint(make(outer))


def test_a_move_to_another_module_changes_the_fingerprint():
    source = "def f(x): return x"
    assert fingerprint(fresh(source, __name__="one")) != fingerprint(fresh(source, __name__="two"))


def test_a_changed_function_is_compiled_anew():
    first = compiled_loop(fresh("def f(x): return low(x)", low=fresh("def f(x): return x + 1")))
    again = compiled_loop(fresh("def f(x): return low(x)", low=fresh("def f(x): return x + 1")))
    other = compiled_loop(fresh("def f(x): return low(x)", low=fresh("def f(x): return x + 2")))
    assert first is again
    assert (first(1), other(1)) == (2, 3)


@pytest.mark.parametrize(
    ("source", "numbers", "arrays"),
    [
        ("def f(x) -> int: return 1", True, False),
        ("def f(x) -> None: pass", True, False),
        ("def f(x) -> tuple[int, float]: return 1, 2.0", True, False),
        ("def f(x) -> 'float': return 1.0", True, False),
        ("def f(x): return x", False, False),
        ("def f(x) -> np.ndarray: return np.zeros(3)", False, True),
        ("def f(x) -> float: return np.zeros(3)[0]", True, True),
    ],
)
def test_which_functions_need_no_reference_counts(source, numbers, arrays):
    function = fresh(source)
    assert returns_numbers(function) is numbers
    assert makes_arrays(function) is arrays


def test_calling_what_makes_arrays_counts_too():
    maker = fresh("def f(x) -> float: return np.zeros(3)[0]")
    assert makes_arrays(fresh("def f(x) -> float: return maker(x)", maker=maker))
    assert not makes_arrays(outer)


def test_a_tuple_that_moves_to_another_module_makes_a_new_fingerprint(monkeypatch):
    class Inside(NamedTuple):
        x: float

    class Params(NamedTuple):
        inside: Inside

    def f(params: Params) -> float:
        return params.inside.x

    before = fingerprint(f)
    monkeypatch.setattr(Inside, "__module__", "elsewhere")
    assert fingerprint(f) != before
