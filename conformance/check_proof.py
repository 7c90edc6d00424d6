"""Check what `banditree certify --proof` claims: `python check_proof.py plan.json collection.json proof.json`.

Whole numbers, and nothing of banditree. The chance of every (row, score) is carried from round to round, in units of
2^-58 and always rounded down: what is found are lower bounds, and what is missing to all rounds of all cases is charged
the most it can be. The scores of a row stand side by side in one whole number, so that one product moves them all.
"""

import json
import math
import sys
from bisect import bisect_left
from fractions import Fraction
from hashlib import sha256

UNIT, RATE, SLOT = 58, 60, 120  # Bits of a chance that is carried, of the chance of an outcome, of the slot of a score.
ALL, SUM = 1 << UNIT, (1 << SLOT) - 1  # A number modulo SUM is the sum of its slots.
RARE = 40  # A case that leaves a row with a chance below 2^-40 is no longer followed: that chance is missing.
SAME = Fraction(1, 10**12)  # Options whose values differ by no more are equally good.
OFF, WIDE = Fraction(3, 10**9), Fraction(1, 10**6)  # How far a claim may be off, and a proof be open, of the most.


def need(condition, sentence):
    if not condition:
        raise ValueError(sentence)


class Row:
    """Where a case can stand under one task: what is given, how it counts, where it leads, and who stands there."""

    def __init__(self, line, chances, values, horizon):
        counts, self.arm, self.exits = line["counts"], line["gives"].get("arm"), line["exits"]
        self.kind, self.inside, self.seen, self.spent, self.stays = counts["kind"], 0, 0, 0, 0
        if self.kind == "for good":
            return
        if self.kind == "rounds":
            self.rounds, parts, least = counts["rounds"], math.lcm(*(v.denominator for v in values)), min(values)
            places = [int((value - least) * parts) for value in values]
            slots = self.rounds * max(places) + 1
        else:
            points, cuts = counts["points"], [*map(Fraction, counts["points"]["cuts"])]
            need(points["kind"] == "outcome", "Points that look at more than the outcome are not checked.")
            steps = [points["points"][sum(value > cut for cut in cuts)] for value in values]
            self.floor, self.cap, self.fall = counts["floor"], counts.get("cap", 0), max(0, -min(steps))
            top = counts.get("ceil") or (self.cap + 1 if self.cap else safe(chances, steps, self.floor, horizon))
            self.top = self.floor - 1 + top  # The slots, from the lowest score at which a case is still here.
            places = [step + self.fall for step in steps]
            slots = self.top + max(places)
        self.moves = [(int(chance * (1 << RATE)), SLOT * place) for chance, place in zip(chances, places) if chance]
        self.keep = ((1 << RATE) - 1) * (((1 << SLOT * slots) - 1) // SUM)
        if self.kind == "rounds":
            sums, at_most = ALL, Fraction(counts["at_most"]) + Fraction(1, 10**9) - least * self.rounds
            for _ in range(self.rounds):
                sums = self.moved(sums)
            below = SLOT * max(math.floor(at_most * parts) + 1, 0)
            self.sides = (sums & ((1 << below) - 1)) % SUM, (sums >> below) % SUM

    def moved(self, slots):
        return sum(slots * chance << shift for chance, shift in self.moves) >> RATE & self.keep


def safe(chances, steps, floor, horizon):
    """A score that is left with a chance below 2^-RARE, or out of reach: if E r^step <= 1 for an r < 1, a score s falls
    to -floor with a chance of at most r^(s + floor) (Lundberg)."""
    least, far, rates = min(steps), max(steps) * horizon + 1, [Fraction(k, 4096) for k in range(1, 4096)]
    holds = lambda r: sum(c * r ** (s - least) for c, s in zip(chances, steps)) <= r**-least  # noqa: E731
    place = bisect_left(rates, True, key=holds)
    return far if place == len(rates) else min(max(1, math.ceil(1 - RARE / math.log2(rates[place])) - floor), far)


def follow(rows, horizon, washout):
    """Carry a plan to the horizon: (changes of what is given, who is in a test of fixed length or a pause then)."""
    arriving, changes, testing = {0: [(0, ALL)]}, 0, 0
    for now in range(horizon + 1):
        leaving = []  # (from, to, chance, when)
        for number, mass in arriving.pop(now, ()):
            row = rows[number]
            if row.kind == "for good":
                row.stays += mass
            elif row.kind == "rounds":
                row.spent += mass * min(row.rounds, horizon - now)
                leaving += [(row, to, mass * side >> UNIT, now + row.rounds) for to, side in zip(row.exits, row.sides)]
            else:
                row.inside += mass << SLOT * (row.floor - 1)
        for row in rows if now < horizon else ():
            row.spent += row.stays
            if row.inside:
                row.seen += row.inside
                slots = row.moved(row.inside)
                below, slots = (slots & ((1 << SLOT * row.fall) - 1)) % SUM, slots >> SLOT * row.fall
                above, row.inside = (slots >> SLOT * row.top) % SUM, slots & ((1 << SLOT * row.top) - 1)
                leaving += [(row, to, mass, now + 1) for to, mass in zip(row.exits, (below, above)) if mass]
                if above and row.kind == "watch":
                    row.inside += (above << SLOT * (row.top - 1)) if row.cap else 0
                    row.stays += 0 if row.cap else above - (above >> RARE) - 1
        for row, to, mass, when in leaving:
            turns = rows[to].arm is None or rows[to].arm != row.arm
            changes += mass if turns and when < horizon else 0
            if washout and turns and row.arm and rows[to].arm and rows[to].kind != "for good":
                rows[to].spent += mass * max(min(washout, horizon - when), 0)
                when += washout
            testing += mass if when > horizon else 0
            arriving.setdefault(when, []).append((to, mass))
    return changes, testing


def lines_of(plan):
    """The lines, the ends inside them and the hand-over, with the safety rule written out; exits lead to places."""
    rule, lines, fallback = plan.get("rule"), list(plan["lines"]), plan.get("fallback", {"to": "person"})
    lines.append({"gives": {"kind": "hand over"}, "counts": {"kind": "for good"}})
    away = len(lines) - 1
    for line in lines:  # which grows
        line["exits"], kind = [], line["gives"]["kind"]
        need(kind in ("give", "hand over") and fallback["to"] != "thompson", "A line that is learned is not checked.")
        for exit in (line[side] for side in ("below", "above") if side in line):
            lines += [exit] if isinstance(exit, dict) else []
            line["exits"].append(len(lines) - 1 if isinstance(exit, dict) else exit - 1)
        if kind == "hand over":
            line["gives"] = {"kind": kind, "arm": fallback.get("arm")}
        elif rule and line["counts"]["kind"] == "for good":
            line["counts"] = {**rule, "kind": "watch", "points": {**rule, "kind": "outcome"}}
            line["exits"] = [away if rule["hands_over"] else 0]
    return lines


def proven(plan, lines, collection, task, horizon):
    """{what: (least, most, the most that it could be)} for a case of one task."""
    arms, worth, means = collection["arms"], collection.get("worth", {}), collection["means"][task]
    values = tuple(map(Fraction, collection["rewards"].get("values", (0, 1))))
    chances = collection["chances"][task] if "chances" in collection else [[1 - Fraction(p), p] for p in means]
    chances = [[*map(Fraction, chance[:-1])] for chance in chances]
    chances = [(*chance, 1 - sum(chance)) for chance in chances]  # so that thirds in decimals are chances
    need(min(map(min, chances)) >= 0, "A chance is below 0.")
    worths = [[*map(Fraction, one)] for one in worth.get("outcomes", [values] * len(arms))]
    means = [sum(c * w for c, w in zip(*both)) for both in zip(chances, worths)]
    change, gap = Fraction(worth.get("change", 0)), {a: max(means) - mean for a, mean in zip(arms, means)}
    rows = [Row(line, dict(zip(arms, chances)).get(line["gives"].get("arm")), values, horizon) for line in lines]
    changes, testing = follow(rows, horizon, plan.get("washout", 0))
    spent = [(row.arm, Fraction(row.spent + row.seen % SUM, ALL)) for row in rows]
    missing, most = horizon - sum(rounds for _, rounds in spent), max(gap.values()) + change
    lost = sum(rounds * gap.get(arm, 0) for arm, rounds in spent) + change * Fraction(changes, ALL)
    at_end = [(row, Fraction(row.stays + row.inside % SUM, ALL)) for row in rows]
    wrong = sum(p for row, p in at_end if row.kind in ("for good", "watch") and gap.get(row.arm, 0) > SAME)
    unknown = 1 - sum(p for _, p in at_end) - Fraction(testing, ALL)
    found = {"regret": (lost, lost + missing * most, horizon * most), "wrong_arm": (wrong, wrong + unknown, 1)}
    if "harm" in collection:
        rate = dict(zip(arms, map(Fraction, collection["harm"]["rates"][task])))
        harms, most = sum(rounds * rate.get(arm, 0) for arm, rounds in spent), max(rate.values())
        found["harm"] = harms, harms + missing * most, horizon * most
    return found


def read(name):
    """The JSON in a file, with decimals as they are written."""
    try:
        return json.loads(open(name, "rb").read(), parse_float=str)
    except ValueError:
        raise ValueError(f"{name} is not JSON.") from None


def check(*documents):
    """The sentences that are proven; what is not is a ValueError that says why."""
    stamp = lambda document: sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()  # noqa: E731
    plan, collection, proof = (one.get("data", one) for one in documents)  # what the service answers has data
    need(proof["schema"] == "banditree/proof/1", "This is no proof of `banditree certify --proof`.")
    for name, document in (("plan", plan), ("collection", collection)):
        need(proof[name] == stamp(document), f"This is the proof of another {name}.")
    need(proof.pop("seal") == stamp(proof), "The proof was changed after it was written.")
    odd = [collection.get(name, 0) for name in ("radius", "theta")] + [collection.get("harm", {}).get("within", 0)]
    odd += [plan.get("fallback", {}).get("odds", 0), plan.get("on_harm", 0)]
    need(
        all(one in (0, "0.0") for one in odd), "Only known rates are checked, without contexts, odds or barred options."
    )
    need(plan["rewards"]["family"] in ("bernoulli", "graded"), "Only 0/1 and graded rewards are checked.")
    same = [plan["rewards"].get(name) == collection["rewards"].get(name) for name in ("family", "values")]
    need(all(same) and plan["arms"] == collection["arms"], "The plan and the collection have other options or rewards.")
    need(collection["tasks"] == [part["task"] for part in proof["tasks"]], "The tasks are others.")
    lines, horizon = lines_of(plan), proof["horizon"]
    yield f"Proven of page 1 of the plan, over {horizon:,} rounds, at the rates of the collection:"
    for task, claims in enumerate(proof["tasks"]):
        for what, (least, most, whole) in proven(plan, lines, collection, task, horizon).items():
            claim, scale = Fraction(claims[what]), 10**12 if whole == 1 else 10**6
            low, high = math.floor(min(least, claim) * scale) / scale, math.ceil(max(most, claim) * scale) / scale
            said = f"{what} of {claims['task']!r} is at most {high} and at least {low}"
            need(most - least <= WIDE * whole, f"No more can be said than that the {said}.")
            holds = least - OFF * whole <= claim <= most + OFF * whole
            need(holds, f"The {what} of {claims['task']!r} is not {float(claim)}: it lies near {float(least)}.")
            yield said


if __name__ == "__main__":
    try:
        need(len(sys.argv) == 4, "Give three files: plan.json collection.json proof.json.")
        print(*check(*map(read, sys.argv[1:4])), sep="\n")
    except Exception as problem:
        sys.exit(f"Not proven. {problem if isinstance(problem, (OSError, ValueError)) else repr(problem)}")
