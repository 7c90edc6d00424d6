import os
import subprocess
import sys

CODE = """
import numpy as np
from threadpoolctl import threadpool_info
from banditree.tasks.one_thread import in_one_thread

def threads():
    return {one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}

with in_one_thread():
    print(threads())
import scipy.linalg
before = threads()
with in_one_thread():
    print(threads(), len(before))
print(threads() == before)
"""


def test_all_of_linear_algebra_has_one_thread_also_what_came_later():
    two = {**os.environ, "OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"}
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True, env=two)
    assert done.stdout.splitlines() == ["{1}", "{1} 1", "True"]
