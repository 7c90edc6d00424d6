"""Check what `banditree certify --proof` claims: `python check_proof.py plan.json collection.json proof.json`.

Whole numbers, and nothing of banditree. Chances are in units of 2^-58 and rounded down, so that they are lower bounds;
what is missing to all rounds of all cases is charged the most it can be. The chances of all scores on a line, of all
rounds, or of all losses stand side by side in one whole number, so that one product moves them all.
"""

import json
import math
import sys
from bisect import bisect_left, bisect_right
from fractions import Fraction as F
from hashlib import sha256
from itertools import accumulate, pairwise

UNIT, RATE, SLOT = 58, 60, 120  # Bits of a chance that is carried, of the chance of an outcome, of a slot.
ALL, SUM = 1 << UNIT, (1 << SLOT) - 1  # A number modulo SUM is the sum of its slots.
RARE, LUMP = 40, 22  # Bits: scores that are left with a smaller chance stay; exits of a smaller chance go together.
CELLS, STEPS, SWEEPS = 400, 48, 100  # Cells of losses up to 1.4 times the claim; moments are at most 1/48 apart.
SHARES = {"0.9", "0.99", "0.999"}  # of which it may be claimed what the unlucky lose
SAME = F(1, 10**12)  # Options whose values differ by no more are equally good.
OFF, WIDE = F(3, 10**9), F(1, 10**6)  # Of the most that it could be: how far a claim may be off, how open a proof be,
NEAR = F(1, 20)  # and how far a claim on what the unlucky lose may be off, of that.


def need(condition, sentence):
    if not condition:
        raise ValueError(sentence)


def slots(count, bits):
    return int.from_bytes(((1 << bits) - 1).to_bytes(SLOT // 8, "little") * count, "little")


def law(counts, chances, values, horizon):
    """The chances to be on a line after 0, 1, ... rounds, and to have left it by then below, and above."""
    here, low, high, inside, stays, kind = [ALL], [0], [0], ALL, 0, counts["kind"]

    def moved(inside, places, keep):
        return sum(inside * int(c * (1 << RATE)) << SLOT * place for c, place in zip(chances, places)) >> RATE & keep

    if kind == "rounds":
        parts, least, rounds = math.lcm(*(v.denominator for v in values)), min(values), counts["rounds"]
        places = [int((value - least) * parts) for value in values]
        keep = slots(rounds * max(places) + 1, RATE)
        for _ in range(rounds):
            inside = moved(inside, places, keep)
        below = math.floor((F(counts["at_most"]) + F(1, 10**9) - least * rounds) * parts) + 1
        sides = [part % SUM for part in ((inside & ((1 << SLOT * max(below, 0)) - 1)), inside >> SLOT * max(below, 0))]
        here, low, high = [ALL] * rounds + [0], *([0] * rounds + [side] for side in sides)
    elif kind != "for good":
        points, cuts = counts["points"], [*map(F, counts["points"]["cuts"])]
        need(points["kind"] == "outcome", "Points that look at more than the outcome are not checked.")
        steps = [points["points"][sum(value > cut for cut in cuts)] for value in values]
        floor, cap, fall = counts["floor"], counts.get("cap", 0), max(0, -min(steps))
        top = floor - 1 + (counts.get("ceil") or (cap + 1 if cap else safe(chances, steps, floor, horizon)))
        places, keep = [step + fall for step in steps], slots(top + max(steps) + fall, RATE)
        inside <<= SLOT * (floor - 1)  # The first slot is the lowest score at which a case is still here.
        while len(here) <= horizon and inside % SUM >> UNIT - RARE:
            after = moved(inside, places, keep)
            under, after = (after & ((1 << SLOT * fall) - 1)) % SUM, after >> SLOT * fall
            above, inside = (after >> SLOT * top) % SUM, after & ((1 << SLOT * top) - 1)
            low.append(low[-1] + under)
            high.append(high[-1] + above if kind == "score" else 0)
            if kind == "watch" and above:
                inside += above << SLOT * (top - 1) if cap else 0
                stays += 0 if cap else above - (above >> RARE) - 1
            here.append(stays + inside % SUM)
        here.append(stays)
    return [(part + part[-1:] * horizon)[: horizon + 1] for part in (here, low, high)]


def safe(chances, steps, floor, horizon):
    """A score that is left with a chance below 2^-RARE, or out of reach: if E r^step <= 1 for an r < 1, a score s falls
    to -floor with a chance of at most r^(s + floor) (Lundberg)."""
    least, far, rates = min(steps), max(steps) * horizon + 1, [F(k, 4096) for k in range(1, 4096)]
    holds = lambda r: sum(c * r ** (s - least) for c, s in zip(chances, steps)) <= r**-least  # noqa: E731
    place = bisect_left(rates, True, key=holds)
    return far if place == len(rates) else min(max(1, math.ceil(1 - RARE / math.log2(rates[place])) - floor), far)


def follow(lines, laws, horizon):
    """On average: rounds on each line, chances to be there at the end, changes of option, chance of a pause then."""
    steps = [[[b - a for a, b in pairwise(side)] for side in sides] for _, *sides in laws]
    exits = [
        [int.from_bytes(b"".join(c.to_bytes(SLOT // 8, "little") for c in side), "little") for side in s] for s in steps
    ]
    rounds, keep = [[*accumulate(here, initial=0)] for here, *_ in laws], slots(horizon + 1, SLOT - UNIT)
    spent, ends, changes, pauses, entries = [0] * len(laws), [0] * len(laws), 0, 0, 0
    coming = [ALL] + [0] * (len(laws) - 1)  # who comes to each line, in a slot for each round from now on
    for left in range(horizon, -1, -1):
        masses, coming = [one & SUM for one in coming], [one >> SLOT for one in coming]
        for number, mass in enumerate(masses):
            if mass:
                here, *sides = laws[number]
                entries += mass
                spent[number] += mass * rounds[number][left]
                ends[number] += mass * here[left]
                for (to, turns, pause), side, gone in zip(lines[number]["leads"], sides, exits[number]):
                    coming[to] += (mass * gone >> UNIT & keep) << SLOT * pause
                    changes += mass * side[max(left - 1, 0)] * turns
                    spent[to] += mass * sum(side[left - k] for k in range(1, min(pause, left) + 1))
                    pauses += mass * (side[left] - side[max(left - pause, 0)])
    return [[F(one, ALL * ALL) for one in part] for part in (spent, ends, [changes, pauses, entries * ALL])]


def losses(lines, laws, gaps, unit, change, moments, over):
    """The chances to lose 0, 1, ... units, from CELLS on this or more. `over`: no case loses more than here; else none
    less. Who leaves a line goes on from one of some moments: `over` from the one before, since a case that begins again
    earlier loses no less; else from the one after. Those who leave between two moments are charged as many rounds as
    the last of them was on the line; else as the first."""
    up, horizon, last, top = math.ceil if over else math.floor, moments[-1], len(moments) - 1, SLOT * CELLS
    keep, (change, *gaps) = slots(2 * CELLS + 1, SLOT - UNIT), [up(one / unit * ALL) for one in (change, *gaps)]
    place = lambda loss: min(SLOT * (-(-loss >> UNIT) if over else loss >> UNIT), top)  # noqa: E731
    coming = [[0] * len(laws) for _ in moments]
    coming[0][0] = ALL << UNIT
    for i, now in enumerate(moments[:-1]):
        for _ in range(SWEEPS):
            masses, coming[i] = coming[i], [0] * len(laws)
            for number, mass in enumerate(masses):
                mass, (here, *sides), gap = mass >> UNIT & keep, laws[number], gaps[number]
                mass = (mass & ((1 << top) - 1)) + ((mass >> top) % SUM << top)
                whole = mass % SUM
                if not whole >> UNIT - LUMP - 6:
                    continue
                coming[last][number] += mass * here[horizon - now] << place(gap * (horizon - now))
                for (to, turns, pause), side in zip(lines[number]["leads"], sides):
                    done, end, lump = 0, horizon - now, (1 << 2 * UNIT - LUMP) // whole + 1
                    while side[end] > done:
                        first, then = bisect_right(side, done), min(bisect_left(side, done + lump), end)
                        j = (
                            bisect_right(moments, now + first + pause) - 1
                            if over
                            else bisect_left(moments, now + then + pause)
                        )
                        if j < last:
                            then = max(then, moments[j + 1] - 1 - now - pause) if over else moments[j] - now - pause
                        j, then = (j, min(then, end)) if j < last else (last, end)
                        loss = gap * (then if over else first)
                        loss += gaps[to] * pause + turns * change if over or j < last else 0
                        coming[j][to] += mass * (side[then] - done) << place(loss)
                        done = side[then]
            if not any(coming[i]):
                break
    whole = sum(coming[last])
    return [(whole >> SLOT * k & SUM) >> UNIT for k in range(2 * CELLS + 1)]


def lines_of(plan):
    """The lines, the ends inside them and the hand-over, with the safety rule written out, and where their exits lead:
    (to which line, whether another option is given there, the rounds of a pause before it counts)."""
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
    for line in lines:
        arm, line["leads"] = line["gives"].get("arm"), []
        for to in line["exits"]:
            then = lines[to]["gives"].get("arm")
            pause = (
                plan.get("washout", 0)
                if arm and then and arm != then and lines[to]["counts"]["kind"] != "for good"
                else 0
            )
            line["leads"].append((to, arm != then or then is None, pause))
    return lines


def proven(plan, lines, collection, task, horizon, tails):
    """{what: (least, most, the most that it could be)} for a case of one task."""
    arms, worth, means = collection["arms"], collection.get("worth", {}), collection["means"][task]
    values = tuple(map(F, collection["rewards"].get("values", (0, 1))))
    chances = collection["chances"][task] if "chances" in collection else [[1 - F(p), p] for p in means]
    chances = [[*map(F, chance[:-1])] for chance in chances]
    chances = [(*chance, 1 - sum(chance)) for chance in chances]  # so that thirds in decimals are chances
    need(min(map(min, chances)) >= 0, "A chance is below 0.")
    worths = [[*map(F, one)] for one in worth.get("outcomes", [values] * len(arms))]
    means = [sum(c * w for c, w in zip(*both)) for both in zip(chances, worths)]
    given = [line["gives"].get("arm") for line in lines]
    laws = [law(line["counts"], dict(zip(arms, chances)).get(arm), values, horizon) for line, arm in zip(lines, given)]
    gap, change = {a: max(means) - mean for a, mean in zip(arms, means)}, F(worth.get("change", 0))
    gaps, most = [gap.get(arm, F(0)) for arm in given], max(gap.values()) + change
    spent, ends, (changes, pauses, entries) = follow(lines, laws, horizon)
    lost, missing = sum(map(F.__mul__, spent, gaps)) + change * changes, horizon - sum(spent)
    over = [line["counts"]["kind"] in ("for good", "watch") and gap > SAME for line, gap in zip(lines, gaps)]
    wrong, unknown = sum(p for p, bad in zip(ends, over) if bad), 1 - sum(ends) - pauses
    found = {"regret": (lost, lost + missing * most, horizon * most), "wrong_arm": (F(wrong), wrong + unknown, 1)}
    if "harm" in collection:
        rate = dict(zip(arms, map(F, collection["harm"]["rates"][task])))
        harms, worst = sum(rounds * rate.get(arm, 0) for arm, rounds in zip(given, spent)), max(rate.values())
        found["harm"] = harms, harms + missing * worst, horizon * worst
    return found | unlucky(lines, laws, gaps, change, horizon, entries, tails)


def unlucky(lines, laws, gaps, change, horizon, entries, tails):
    """The same for losses that this share of the cases does not exceed; tails: {share: claim}."""
    found, moments, most = {}, [0], max(gaps) + change
    while moments[-1] < horizon:
        moments.append(min(moments[-1] + max(1, min(moments[-1] // STEPS, int(horizon / entries))), horizon))
    for share, claim in tails.items():
        unit = (max(F(claim) * F(7, 5), most) or 1) / CELLS
        low, high = (losses(lines, laws, gaps, unit, change, moments, over) for over in (False, True))
        more = [*accumulate(reversed(low))]  # who loses the last cell or more, the last but one, ...
        least = len(low) - 1 - bisect_right(more, (1 - F(share)) * ALL)
        place = bisect_left([*accumulate(high[:CELLS])], F(share) * ALL)
        found[share] = max(least, 0) * unit, place * unit if place < CELLS else horizon * most, horizon * most
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
        tails = claims.get("unlucky", {})
        need(set(tails) <= SHARES, f"Only {', '.join(sorted(SHARES))} of the cases are checked.")
        for what, (least, most, whole) in proven(plan, lines, collection, task, horizon, tails).items():
            claim, scale = F(tails[what] if what in tails else claims[what]), 10**12 if whole == 1 else 10**6
            low, high = math.floor(least * scale) / scale, math.ceil(most * scale) / scale
            if what in tails:
                name, off = f"loss that {what} of the cases of {claims['task']!r} do not exceed", NEAR * claim
            else:
                name, off = f"{what} of {claims['task']!r}", OFF * whole
                low, high = min(low, math.floor(claim * scale) / scale), max(high, math.ceil(claim * scale) / scale)
                need(
                    most - least <= WIDE * whole,
                    f"The {name} is at most {high} and at least {low}: no more can be said.",
                )
            need(least - off <= claim <= most + off, f"The {name} is not {float(claim)}: it lies near {float(least)}.")
            yield f"The {name} is at most {high} and at least {low}."


if __name__ == "__main__":
    try:
        need(len(sys.argv) == 4, "Give three files: plan.json collection.json proof.json.")
        print(*check(*map(read, sys.argv[1:4])), sep="\n")
    except Exception as problem:
        sys.exit(f"Not proven. {problem if isinstance(problem, (OSError, ValueError)) else repr(problem)}")
