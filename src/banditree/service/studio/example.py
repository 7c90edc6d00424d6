"""A log to start with: an invented clinic whose patients are of three kinds that nobody wrote down."""

import csv
import io

import numpy as np

RATES = {"Alpha": (0.85, 0.25, 0.30), "Beta": (0.30, 0.80, 0.35), "Gamma": (0.40, 0.30, 0.90)}  # by kind
SHARES = (0.5, 0.3, 0.2)
PATIENTS, VISITS = 300, 20
NAME = "example-clinic.csv"


def example_log() -> bytes:
    """The file: one row per visit, treatments given by chance. The same every time."""
    rng = np.random.default_rng(20)
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["patient", "visit", "treatment", "recovered"])
    names = list(RATES)
    for patient in range(1, PATIENTS + 1):
        kind = rng.choice(len(SHARES), p=SHARES)
        for visit in range(1, VISITS + 1):
            given = names[rng.integers(len(names))]
            rows.writerow([f"P{patient:03d}", visit, given, "yes" if rng.random() < RATES[given][kind] else "no"])
    return text.getvalue().encode()
