"""The invented clinic of the demos: five groups of patients, five treatments, and the rounds of one patient."""

from importlib.resources import as_file, files

from banditree.files.collections import load_collection
from banditree.plans.words import vocabulary_from
from banditree.tasks.collection import Collection

HORIZON = 1000  # The rounds of one patient.
WORDS = vocabulary_from({"arm": "treatment", "task": "patient group", "success": "recovery", "failure": "relapse"})
_TABLE = files("banditree.files").joinpath("data/treatments.csv")


def clinic_table() -> str:
    """The success rates as a CSV, as a user would write them."""
    return _TABLE.read_text(encoding="utf-8")


def clinic() -> Collection:
    """The clinic as a collection.

    >>> clinic().means.shape
    (5, 5)
    """
    with as_file(_TABLE) as path:
        return load_collection(path)
