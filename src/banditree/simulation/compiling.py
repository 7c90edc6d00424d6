"""Compiling a policy's functions, the very ones that a live session runs, and keeping the result on disk."""

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

COMPILING = 1  # Raise this when the way of compiling changes: it makes what is on disk out of date.
FINGERPRINT_LETTERS = 16  # The letters of a fingerprint.
NUMBER_WORDS = {"class", "int", "float", "bool", "None", "tuple"}

Compiler = Callable[[FunctionType], Callable[..., Any]]
Twins = Mapping[Callable[..., Any], Callable[..., Any]]

_loops: dict[str, Callable[..., Any]] = {}


def specialised(loop: Callable[..., Any], functions: dict[str, Callable[..., Any]]) -> FunctionType:
    """A copy of `loop` that finds `functions` under their names, to be run as it is or compiled."""
    assert isinstance(loop, FunctionType)
    copy = FunctionType(loop.__code__, {**loop.__globals__, **functions}, loop.__name__)
    copy.__annotations__ = loop.__annotations__
    return copy


def with_twins(function: FunctionType, twins: Twins) -> FunctionType:
    """A copy of `function` that calls, however deep, the twin of each function that has one; itself if it calls none.

    >>> def one(): return 1
    >>> def two(): return 2
    >>> def twice(): return 2 * one()
    >>> with_twins(twice, {one: two})()
    4
    """
    twin = twins.get(function, function)
    assert isinstance(twin, FunctionType)
    return with_callees(twin, partial(with_twins, twins=twins)) if _calls_any(twin, twins) else twin


def _calls_any(function: FunctionType, wanted: Twins) -> bool:
    """Whether a function calls, however deep, one of those that are wanted."""
    called = [value for value in _uses(function).values() if isinstance(value, FunctionType)]
    return any(value in wanted or _calls_any(value, wanted) for value in called if value is not function)


def compiled_loop(loop: FunctionType, *, lean: bool = True) -> Any:
    """`loop` compiled, with all that it calls; the second process that asks for it reads it from disk.

    numba caches neither a loop that is given compiled functions nor one that closes over them, but it caches one that
    finds them among its globals. It does not notice when they change: so the loop is cached under a name that carries
    the fingerprint of everything it calls. lean: see `compiled`.
    """
    from numba import njit

    name = f"{loop.__name__}_{'lean' if lean else 'full'}_{COMPILING}_{fingerprint(loop)}"
    if name not in _loops:
        copy = with_callees(loop, partial(compiled, lean=lean, inner=True), name)
        try:
            _loops[name] = njit(copy, cache=True, nogil=True)
        except RuntimeError:  # no folder that can be written to
            _loops[name] = njit(copy, nogil=True)
    return _loops[name]


@cache
def compiled(function: Callable[..., Any], lean: bool = True, inner: bool = False) -> Callable[..., Any]:
    """`function` compiled by numba, along with the plain Python functions it calls, which it finds by their names.

    numba does not compile what a function calls unless that is compiled too, so the copy that is compiled has, as its
    globals and closure, the compiled versions of the functions that its source names.
    Counting references to arrays takes most of the time of a loop that hands tuples of them around. `lean` leaves it
    out of functions that neither make nor return an array (5 to 15 times faster). `inner`: only compiled code calls it,
    so that nothing is compiled for calling it from Python.
    """
    from numba import njit

    if not isinstance(function, FunctionType):
        return function
    copy = with_callees(function, partial(compiled, lean=lean, inner=True))
    counts = not (lean and returns_numbers(function)) or makes_arrays(function)
    options: dict[str, Any] = {"nogil": True, "forceinline": True, "_nrt": counts}
    options |= {"no_cpython_wrapper": inner, "no_cfunc_wrapper": inner}
    return njit(copy, **options)  # type: ignore[no-any-return]


def with_callees(function: FunctionType, compile_callee: Compiler, name: str | None = None) -> FunctionType:
    """A copy of `function`, under another `name` if one is given, that finds what it calls compiled."""
    called = {
        given: compile_callee(value)
        for given in function.__code__.co_names
        if isinstance(value := function.__globals__.get(given), FunctionType)
    }
    cells = (cell.cell_contents for cell in function.__closure__ or ())
    closure = tuple(CellType(compile_callee(inner) if isinstance(inner, FunctionType) else inner) for inner in cells)
    name = name or function.__name__
    code = function.__code__.replace(co_name=name, co_qualname=name)
    copy = FunctionType(code, {**function.__globals__, **called}, name, function.__defaults__, closure)
    copy.__annotations__ = function.__annotations__  # what it returns decides how it is compiled
    return copy


def returns_numbers(function: FunctionType) -> bool:
    """Whether a function says that it returns numbers or nothing, and so no array.

    >>> def half(x: float) -> float: return x / 2
    >>> returns_numbers(half)
    True
    """
    said = function.__annotations__.get("return", "nothing said")
    return set(re.findall(r"\w+", str(said))) <= NUMBER_WORDS


def makes_arrays(function: FunctionType) -> bool:
    """Whether a function, or one that it calls, names numpy, in which case it may make an array."""
    used = [value for value in _uses(function).values() if value is not function]
    return np in used or any(makes_arrays(value) for value in used if isinstance(value, FunctionType))


def _uses(function: FunctionType) -> dict[str, Any]:
    """What the names in a function's code stand for, globals and closure alike."""
    named = {name: function.__globals__.get(name) for name in function.__code__.co_names}
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    return {**named, **{name: cell.cell_contents for name, cell in cells}}


def fingerprint(function: FunctionType) -> str:
    """A short hash of the code and module of `function` and of every function and constant it uses, however deep.

    What is on disk names the types of the arguments by their modules: so the modules of the function and of the tuples
    that it takes count as well, and moving one makes a new name instead of a file that cannot be read.

    >>> def one(): return 1
    >>> def two(): return 2
    >>> fingerprint(one) == fingerprint(one) != fingerprint(two)
    True
    """
    digest = hashlib.sha256()
    for part in _parts(function, set()):
        digest.update(part.encode() + b"\0")
    return digest.hexdigest()[:FINGERPRINT_LETTERS]


def _parts(function: FunctionType, seen: set[FunctionType]) -> Iterator[str]:
    if function in seen:
        return
    seen.add(function)
    yield str(function.__module__)
    yield from _code_parts(function.__code__)
    yield repr(function.__defaults__)
    for kind in function.__annotations__.values():
        yield from _type_parts(kind)
    for name, value in sorted(_uses(function).items()):
        yield name
        if isinstance(value, FunctionType):
            yield from _parts(value, seen)
        elif isinstance(value, type | ModuleType):
            yield value.__name__
        elif isinstance(value, np.ndarray):
            yield f"{value.dtype} {value.shape} {value.tobytes().hex()}"
        else:
            yield repr(value)


def _type_parts(kind: Any) -> Iterator[str]:
    """Where a named tuple is defined, and those inside it."""
    if isinstance(kind, type) and issubclass(kind, tuple):
        yield f"{kind.__module__}.{kind.__qualname__}"
        for inner in kind.__annotations__.values():
            yield from _type_parts(inner)


def _code_parts(code: CodeType) -> Iterator[str]:
    yield code.co_code.hex()
    yield repr((code.co_names, code.co_varnames, code.co_freevars))
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _code_parts(constant)
        else:
            yield repr(constant)
