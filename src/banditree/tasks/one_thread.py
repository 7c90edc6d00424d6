"""Linear algebra in one thread: more would add up in another order, and results would depend on the number of cores."""

import sys
from contextlib import AbstractContextManager
from functools import cache

from threadpoolctl import ThreadpoolController


def in_one_thread() -> AbstractContextManager[object]:
    """A context in which linear algebra uses one thread.

    >>> import numpy as np
    >>> with in_one_thread():
    ...     float(np.ones(3) @ np.ones(3))
    3.0
    """
    limited: AbstractContextManager[object] = _libraries("scipy.linalg" in sys.modules).limit(limits=1, user_api="blas")
    return limited


@cache
def _libraries(_with_scipy: bool) -> ThreadpoolController:
    """The libraries with threads of their own. To find them takes as long as many a use of them, so it is done once,
    and again when scipy has brought its own."""
    return ThreadpoolController()
