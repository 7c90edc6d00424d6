"""States as named tuples of arrays, seen from outside: their size, and functions generated for their form.

numba compiles no loop over the fields of a named tuple of arrays of different kinds, so the two functions that a GPU
kernel needs are written out, field by field, as source.
"""

from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

import numpy as np

WORD = 8  # Bytes to which every array of a state is aligned in shared memory.


def mapped(value: Any, change: Callable[[np.ndarray], Any]) -> Any:
    """`value`, a tree of named tuples, with every array changed and everything else as it is.

    >>> mapped((np.ones(2), 3.0), np.sum)
    (np.float64(2.0), 3.0)
    """
    if isinstance(value, tuple):
        parts = [mapped(part, change) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return change(value) if isinstance(value, np.ndarray) else value


def bytes_of(value: Any) -> int:
    """The bytes of all arrays of a tree of named tuples, each rounded up to whole words."""
    if isinstance(value, tuple):
        return sum(bytes_of(part) for part in value)
    return int(-(-value.nbytes // WORD) * WORD)


def layout_of(state: Any) -> tuple[Any, ...]:
    """The form of a state, as something that can be compared: named tuples, and dtype and shape of their arrays."""
    if isinstance(state, tuple):
        return (type(state), *(layout_of(value) for value in state))
    return (state.dtype.name, state.shape)


def _is_tuple(layout: tuple[Any, ...]) -> bool:
    return isinstance(layout[0], type)


def _arrays(layout: tuple[Any, ...], path: str) -> Iterator[tuple[str, str, tuple[int, ...]]]:
    """(path, dtype, shape) of every array."""
    if not _is_tuple(layout):
        yield path, *layout
        return
    for field, part in zip(layout[0]._fields, layout[1:], strict=True):
        yield from _arrays(part, f"{path}.{field}")


def taking(layout: tuple[Any, ...], block: int | None) -> FunctionType:
    """`take(pool, thread, in_block)`: the state of one thread as views into a pool with the thread as the last axis.

    block: None for a pool that is a named tuple like the state; otherwise each array lies in the shared memory of a
    block of `block` threads, and the pool, which has no axis for them, lends only its empty arrays.
    """
    views = {}
    lines = ["def take(pool, thread, in_block):"]
    names: dict[str, Any] = {"np": np}
    for number, (path, dtype, shape) in enumerate(_arrays(layout, "pool")):
        memory, place = (path, "thread") if block is None else (f"shared_{number}", "in_block")
        views[path] = f"{memory}[{':, ' * len(shape)}{place}]"
        if block is not None and 0 in shape:
            views[path] = path
        elif block is not None:  # each on a line of its own: numba's simulator tells them apart by their lines
            lines.append(f"    {memory} = cuda.shared.array({(*shape, block)}, np.{dtype})")
    if block is not None:
        from numba import cuda

        names["cuda"] = cuda
    lines.append(f"    return {_expression(layout, 'pool', views, names)}")
    return _function("\n".join(lines) + "\n", "take", names)


def resetting(layout: tuple[Any, ...]) -> FunctionType:
    """`reset(state, fresh)`: every entry of a state as it is at the start of a run."""
    lines = ["def reset(state, fresh):"]
    for path, _dtype, shape in _arrays(layout, "state"):
        indices = [f"i{axis}" for axis in range(len(shape))]
        for axis, index in enumerate(indices):
            lines.append(f"{'    ' * (axis + 1)}for {index} in range({shape[axis]}):")
        place = f"[{', '.join(indices)}]"
        lines.append(f"{'    ' * (len(shape) + 1)}{path}{place} = {path.replace('state', 'fresh', 1)}{place}")
    return _function("\n".join(lines) + "\n", "reset", {})


def _expression(layout: tuple[Any, ...], path: str, views: dict[str, str], names: dict[str, Any]) -> str:
    if not _is_tuple(layout):
        return views[path]
    kind = layout[0]
    names[kind.__name__] = kind
    parts = (
        _expression(part, f"{path}.{field}", views, names) for field, part in zip(kind._fields, layout[1:], strict=True)
    )
    return f"{kind.__name__}({', '.join(parts)})"


def _function(source: str, name: str, names: dict[str, Any]) -> FunctionType:
    exec(source, names)  # the source is made of field names and numbers only
    function = names[name]
    assert isinstance(function, FunctionType)
    return function
