"""Check what `banditree certify --proof` claims: `python check_proof.py plan.json collection.json proof.json`.

Whole numbers, and nothing of banditree. All scores of a line, and all losses at each of them, stand side by side in one
whole number, so that a product moves all cases on by a round. Chances are units of 2^-52 and rounded down; what is
missing to all cases is charged the most that it can be. A fourth argument, such as 10, allows that much more work.
"""

import json
import math
import sys
from fractions import Fraction as F
from functools import lru_cache
from hashlib import sha256
from itertools import accumulate

ALL, RATE, ONE, SLOT, SUM = 1 << 52, 50, 1 << 50, 104, (1 << 104) - 1  # A number modulo SUM is the sum of its slots.
RARE, WORK, SHARES = 36, 2 * 10**9, {"0.9", "0.99", "0.999"}  # Bits of a chance given up at once; slots times rounds.
SAME, OFF, WIDE = F(1, 10**12), F(3, 10**9), F(1, 10**6)  # Of the most: no gap; off by so much; open by so much.


def need(condition, sentence):
    if not condition:
        raise ValueError(sentence)


@lru_cache(maxsize=1000)
def ones(bits, empty, full, times=1):
    """Some bits of each of the full slots after the empty ones, and all of this as often as is said."""
    return int.from_bytes((bytes(13 * empty) + ((1 << bits) - 1).to_bytes(13, "little") * full) * times, "little")


def places_of(plan):
    """Where a case can stand: (option, how it counts, [(place that it leads to, whether the option changes)])."""
    rule, fallback, washout = plan.get("rule"), plan.get("fallback", {"to": "person"}), plan.get("washout", 0)
    lines = [*plan["lines"], {"gives": {"kind": "hand over"}, "counts": {"kind": "for good"}}]
    away, starts, keys, places = len(lines) - 1, fallback.get("starts"), [(0, 1, False)], []
    for line in lines:  # which grows
        exits, kind = [line[side] for side in ("below", "above") if side in line], line["gives"]["kind"]
        need(kind in ("give", "hand over") and fallback["to"] != "thompson", "A line that is learned is not checked.")
        line["exits"] = [lines.append(to) or len(lines) - 1 if isinstance(to, dict) else to - 1 for to in exits]
        line["arm"] = line["gives"]["arm"] if kind == "give" else fallback.get("arm")
        if kind == "give" and rule and line["counts"]["kind"] == "for good":
            line["counts"] = {**rule, "kind": "watch", "points": {**rule, "kind": "outcome"}}
            line["exits"] = [away if rule["hands_over"] else 0]
    for number, time, pause in keys:  # which grows: a line, how often line 1 was begun, if this is the pause before it
        line, leads = lines[number], []
        for to in [number] if pause else line["exits"]:
            again = time + (to == 0 and not pause) if starts else time
            to, again = (away, time) if again > (starts or again) else (to, again)
            then, turns = lines[to], line["arm"] != lines[to]["arm"] or lines[to]["arm"] is None
            waits = turns and line["arm"] and then["arm"] and then["counts"]["kind"] != "for good"
            keys += [key] if (key := (to, again, bool(washout and waits))) not in keys else []
            leads.append((keys.index(key), turns))
        places.append((line["arm"], {"kind": "rounds", "rounds": washout} if pause else line["counts"], leads))
    return places


def rows_of(places, options, values, horizon):
    """(option, whether it may be the last, how many scores, how far one falls, [(chance, points)], what is done below,
    and above), where that is [(chance, row, its score there, whether the option changes)]."""
    rows, safe = [], []
    for number, (arm, counts, leads) in enumerate(places):
        kind, size, fall, moves, low, high = counts["kind"], 1, 0, [], [], []
        ways = [(ONE, to, places[to][1].get("floor", 1) - 1, turns) for to, turns in leads]
        if kind == "rounds":
            sides = sides_of(counts, options[arm], values) if "at_most" in counts else [1]
            size, moves, high = counts["rounds"], [(ONE, 1)], [(int(p * ONE), *w[1:]) for p, w in zip(sides, ways)]
        elif kind != "for good":
            points, cuts = counts["points"], [*map(F, counts["points"]["cuts"])]
            need(points["kind"] == "outcome", "Points that look at more than the outcome are not checked.")
            steps = [points["points"][sum(value > cut for cut in cuts)] for value in values]
            size, fall, low = (
                counts["floor"] - 1 + (counts.get("ceil") or counts["cap"] + 1),
                max(0, -min(steps)),
                ways[:1],
            )
            moves, high = [(int(p * ONE), step + fall) for p, step in zip(options[arm], steps)], ways[1:]
            if kind == "watch" and counts["cap"]:
                high = [(ONE, number, size - 1, False)]
            elif kind == "watch":  # who is high enough stays for good, in a row of its own
                high, safe = [(..., len(places) + len(safe), 0, False)], [*safe, (arm, True, 1, 0, [], [], [])]
                higher, stays = high_enough(options[arm], steps, horizon)
                size, high = size + higher, [(stays, *high[0][1:])]
        rows.append((arm, kind in ("for good", "watch"), size, fall, moves, low, high))
    return rows + safe


def sides_of(counts, chances, values):
    """The chances that a test of fixed length leads below, and above: a power of all chances side by side."""
    rounds, least, whole = counts["rounds"], min(values), math.lcm(*(p.denominator for p in chances))
    parts, bits = math.lcm(*(v.denominator for v in values)), rounds * whole.bit_length() + 1
    law = sum(int(p * whole) << bits * int((v - least) * parts) for p, v in zip(chances, values)) ** rounds
    below = max(math.floor((F(counts["at_most"]) + F(1, 10**9) - least * rounds) * parts) + 1, 0)
    low = F((law & ((1 << bits * below) - 1)) % ((1 << bits) - 1), whole**rounds)
    return low, 1 - low


def high_enough(chances, steps, horizon):
    """A score s that one loses with a chance of at most 2^-RARE, and the chance of not losing it: r^s, if E r^step <= 1
    for an r < 1 (Lundberg). Or one that is seldom reached."""
    holds = [k for k in range(1, 1025) if sum(p * F(k, 256) ** step for p, step in zip(chances, steps)) <= 1]
    r, far = min(holds) if min(holds) < 256 else max(holds), max(steps) * horizon
    score = far if r == 256 else min(math.ceil(RARE / abs(math.log2(r / 256))) + 1, far)
    return score, ONE - (ONE >> RARE) if r < 256 else 0


def walk(rows, start, horizon, cells=1, costs=(), change=0):
    """All cases, round by round: rounds at each row, chances to end there, changes; and with the costs of a round at
    each row and of a change the chances of having lost 0, 1, ... cells, and of more than all."""
    block, width = SLOT * cells, (1 << SLOT * cells) - 1
    here, spent, changes, beyond = [ALL << block * start, *[0] * (len(rows) - 1)], [0] * len(rows), 0, [0]

    def dearer(mass, cost, size=1):
        out = mass & ones(SLOT, max(cells - cost, 0), min(cost, cells), size)
        beyond.append(out % SUM)
        return (mass ^ out) << SLOT * cost

    for left in range(horizon - 1, -1, -1):
        coming = [0] * len(rows)
        for number, mass in ((number, mass) for number, mass in enumerate(here) if mass):
            _, _, size, fall, moves, *sides = rows[number]
            spent[number] += 0 if costs else mass % SUM
            mass = dearer(mass, costs[number], size) if costs and costs[number] else mass
            if moves:
                mass = sum(mass * p << block * points for p, points in moves) >> RATE
                mass &= ones(SLOT - RATE, 0, cells * (size + max(points for _, points in moves)))
            low, mass = mass & ((1 << block * fall) - 1), mass >> block * fall
            high, mass = mass >> block * size, mass & ((1 << block * size) - 1)
            coming[number] += mass
            for some, leads in zip((low, high), sides):
                gone = 0
                while some:
                    gone, some = gone + (some & width), some >> block
                for p, to, score, turns in leads if gone else ():
                    part = gone if p == ONE else gone * p >> RATE & ones(SLOT - RATE, 0, cells)
                    changes += turns * (part % SUM) if left and not costs else 0
                    coming[to] += (
                        dearer(part, change) if costs and change and turns and left else part
                    ) << block * score
        here = coming
    lost = sum(mass >> block * score & width for mass, row in zip(here, rows) for score in range(row[2]))
    return spent, [mass % SUM for mass in here], changes, [lost >> SLOT * k & SUM for k in range(cells)], sum(beyond)


def proven(places, collection, task, horizon, tails, work):
    """{what: (least, most, the most that it could be)} for a case of one task, and how much of the work losses take."""
    arms, worth, means = collection["arms"], collection.get("worth", {}), collection["means"][task]
    values = tuple(map(F, collection["rewards"].get("values", (0, 1))))
    chances = collection["chances"][task] if "chances" in collection else [[1 - F(p), p] for p in means]
    chances = [[*map(F, chance[:-1])] for chance in chances]
    chances = [(*chance, 1 - sum(chance)) for chance in chances]  # so that thirds in decimals are chances
    need(min(map(min, chances)) >= 0, "A chance is below 0.")
    worths = [[*map(F, one)] for one in worth.get("outcomes", [values] * len(arms))]
    means = [sum(c * w for c, w in zip(*both)) for both in zip(chances, worths)]
    gap, change = {a: max(means) - mean for a, mean in zip(arms, means)}, F(worth.get("change", 0))
    rows, start = rows_of(places, dict(zip(arms, chances)), values, horizon), places[0][1].get("floor", 1) - 1
    gaps, most = [gap.get(row[0], F(0)) for row in rows], max(gap.values()) + change
    spent, ends, changes, *_ = walk(rows, start, horizon)
    lost, missing = (sum(map(F.__mul__, map(F, spent), gaps)) + change * changes) / ALL, horizon - F(sum(spent), ALL)
    wrong = F(sum(p for p, row, gap in zip(ends, rows, gaps) if row[1] and gap > SAME), ALL)
    found = {"regret": (lost, lost + missing * most, horizon * most)}
    found["wrong_arm"] = wrong, wrong + 1 - F(sum(ends), ALL), 1
    if "harm" in collection:
        rate = dict(zip(arms, map(F, collection["harm"]["rates"][task])))
        harms, worst = sum(rounds * rate.get(row[0], 0) for row, rounds in zip(rows, spent)) / ALL, max(rate.values())
        found["harm"] = harms, harms + missing * worst, horizon * worst
    parts = math.lcm(*(one.denominator for one in [*gaps, change]))
    costs = [int(one * parts) for one in [*gaps, change]]
    unit = F(math.gcd(*costs) or 1, parts)  # All losses are multiples of it.
    cells = int(max([F(most) for _, most in tails.values()], default=0) / unit) + 2
    seen = [rounds + last >> 18 for rounds, last in zip(spent, ends)]  # Where hardly anybody comes is left out.
    times = -(-horizon * cells * sum(row[2] for row, some in zip(rows, seen) if some) // work) if tails else 0
    if times == 1:
        *costs, change = (int(one / unit) for one in [*gaps, change])
        rows = [(*row[:5], *([lead for lead in side if seen[lead[1]]] for side in row[5:])) for row in rows]
        *_, lost, beyond = walk(rows, start, horizon, cells, costs, change)
        upto, more = [*accumulate(lost)], [*accumulate(reversed(lost), initial=beyond)]  # P(at most k), P(at least)
        for share in map(F, tails):
            high = next((k for k, p in enumerate(upto) if p >= share * ALL), horizon * most / unit)
            low = next((cells - k for k, p in enumerate(more) if p > (1 - share) * ALL), 0)
            found[next(one for one in tails if F(one) == share)] = low * unit, high * unit, horizon * most
    return found, times


def read(name):
    """The JSON in a file, with decimals as they are written."""
    try:
        return json.loads(open(name, "rb").read(), parse_float=str)
    except ValueError:
        raise ValueError(f"{name} is not JSON.") from None


def check(plan, collection, proof, more=1):
    """The sentences that are proven; what is not is a ValueError that says why."""
    plan, collection, proof = (one.get("data", one) for one in (plan, collection, proof))  # what the service answers
    stamp = lambda document: sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()  # noqa: E731
    need(proof["schema"] == "banditree/proof/2", "This is no proof of this version of `banditree certify --proof`.")
    need(proof["plan"] == stamp(plan), "This is the proof of another plan.")
    need(proof["collection"] == stamp(collection), "This is the proof of another collection.")
    need(proof.pop("seal") == stamp(proof), "The proof was changed after it was written.")
    odd = [collection.get(name, 0) for name in ("radius", "theta")] + [collection.get("harm", {}).get("within", 0)]
    odd = [*odd, plan.get("fallback", {}).get("odds", 0), plan.get("on_harm", 0)]
    need(all(one in (0, "0.0") for one in odd), "Only known rates are checked, without contexts, odds, barred options.")
    need(plan["rewards"]["family"] in ("bernoulli", "graded"), "Only 0/1 and graded rewards are checked.")
    same = [plan["rewards"].get(name) == collection["rewards"].get(name) for name in ("family", "values")]
    need(all(same) and plan["arms"] == collection["arms"], "The plan and the collection have other options or rewards.")
    need(collection["tasks"] == [part["task"] for part in proof["tasks"]], "The tasks are others.")
    places, horizon, work = places_of(plan), proof["horizon"], WORK * more // len(proof["tasks"])
    yield f"Proven of page 1 of the plan, over {horizon:,} rounds, at the rates of the collection:"
    for number, claims in enumerate(proof["tasks"]):
        tails, task = claims.get("unlucky") or {}, claims["task"]
        need(set(tails) <= SHARES, f"Only {', '.join(sorted(SHARES))} of the cases are checked.")
        found, times = proven(places, collection, number, horizon, tails, work)
        for what, (least, most, whole) in found.items():
            name = (
                f"loss that {what} of the cases of {task!r} do not exceed" if what in tails else f"{what} of {task!r}"
            )
            claim, scale = tails.get(what) or [claims[what]], 10**12 if whole == 1 else 10**6
            low, high = math.floor(least * scale) / scale, math.ceil(most * scale) / scale
            right = least - OFF * whole <= F(claim[-1]) and F(claim[0]) <= most + OFF * whole
            need(right, f"The {name} is not {claim[0]}: it lies near {float(least)}.")
            open_ = what not in tails and most - least > WIDE * whole
            need(not open_, f"The {name} is at most {high} and at least {low}: no more can be said.")
            yield f"The {name} is at most {high} and at least {low}."
        if times > 1:
            yield f"Not proven: what the unlucky of {task!r} lose. It takes a fourth argument of {times * more}."


if __name__ == "__main__":
    try:
        need(len(sys.argv) in (4, 5), "Give three files: plan.json collection.json proof.json.")
        print(*check(*map(read, sys.argv[1:4]), *map(int, sys.argv[4:])), sep="\n")
    except Exception as problem:
        sys.exit(f"Not proven. {problem if isinstance(problem, (OSError, ValueError)) else repr(problem)}")
