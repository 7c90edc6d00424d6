"""Array types, and arrays that nobody can change by accident."""

from typing import Any

import numpy as np
import numpy.typing as npt

from banditree.errors import InvalidInput, invalid

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
ComplexArray = npt.NDArray[np.complex128]
ByteArray = npt.NDArray[np.uint8]


def frozen(values: Any, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """A private, contiguous, read-only copy of `values`.

    >>> frozen([1, 2], float).flags.writeable
    False
    """
    array = np.array(values, dtype=dtype, order="C")
    array.setflags(write=False)
    return array


def frozen_numbers(name: str, values: Any, n_dimensions: int) -> FloatArray:
    """A read-only float array of the given number of dimensions, with every entry finite.

    >>> frozen_numbers("means", [[0.2, float("nan")]], 2)
    Traceback (most recent call last):
        ...
    banditree.errors.InvalidInput: means must be finite everywhere. Got nan at row 1, column 2. Replace or remove it.
    """
    try:
        array = frozen(values, np.float64)
    except (TypeError, ValueError):
        raise invalid(name, f"a rectangular array of numbers with {n_dimensions} dimensions", values) from None
    if array.ndim != n_dimensions:
        raise invalid(name, f"an array with {n_dimensions} dimensions", f"shape {array.shape}")
    bad = np.argwhere(~np.isfinite(array))
    if bad.size:
        first = tuple(bad[0])
        words = ("row", "column", "depth")
        place = ", ".join(f"{words[axis]} {index + 1}" for axis, index in enumerate(first))
        raise InvalidInput(f"{name} must be finite everywhere. Got {array[first]} at {place}. Replace or remove it.")
    return array
