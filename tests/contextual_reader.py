"""A reader of contextual protocols that knows nothing but their printed text, with plain names, and follows it."""

import math
import re


def parts_of(text):
    """Blocks of lines between empty ones, by what they begin with."""
    return [block.splitlines() for block in text.split("\n\n")]


class Reader:
    """`arm` says what to give at a context (values by name), `tell` takes the outcome."""

    def __init__(self, text):
        blocks = parts_of(text)
        self.lines = {int(line.split(". ")[0]): line.split(". ", 1)[1] for line in blocks[1]}
        self.rule = next((block[0] for block in blocks if block[0].startswith("Whenever")), None)
        self.rules = {b[0][9:-1]: b[1:] for b in blocks if re.fullmatch(r"Treat as .*:", b[0])}
        self.formulas = {}
        self.curved = any("1 / (1 + exp(-s))" in block[0] for block in blocks)
        for block in blocks:
            if block[0].startswith("Predictions"):
                for line in block[1:]:
                    who, formula = line.split(": ")
                    task, arm = who.split(", ")
                    self.formulas.setdefault(task, {})[arm] = formula
        self.most = int(re.search(r"at most (\d+) up or down", text)[1]) if "up or down" in text else 0
        self.go_to(1)

    def go_to(self, line):
        self.line, self.end, self.score = line, None, 0
        if not re.search(r";| for as long as ", self.lines[line]):  # a protocol of one end
            self.settle(self.lines[line].removesuffix(" from now on."))

    def settle(self, option):
        self.line, self.end, self.score = None, option[0].lower() + option[1:], 0

    @property
    def option(self):
        """What is given: "treat as early", "give A"."""
        words = self.end or re.match(r"(.*?)(;| for as long as)", self.lines[self.line])[1]
        return words[0].lower() + words[1:]

    def arm(self, values):
        kind, name = re.fullmatch(r"(treat as|give) (.*)", self.option).groups()
        return name if kind == "give" else self.best(name, values)[0]

    def best(self, task, values):
        """(arm, promise) of treating as a task."""
        for line in self.rules.get(task, ()):
            when, given = line.strip().rsplit(": ", 1)
            if when in ("otherwise", "always") or all(holds(part, values) for part in conditions(when)):
                arm, promise = re.fullmatch(r"(.*?)(?: \(promises (.*)%\))?", given).groups()
                return arm, None if promise is None else float(promise) / 100
        predicted = {arm: self.predicted(task, arm, values) for arm in self.formulas[task]}
        sums = {arm: self.sum(task, arm, values) for arm in self.formulas[task]}
        arm = max(sums, key=sums.get)
        return arm, predicted[arm]

    def sum(self, task, arm, values):
        total = 0.0
        for term in self.formulas[task][arm].split(" + "):
            weight, _, name = term.partition(" * ")
            column, _, level = name.partition("=")
            value = 1.0 if not name else float(str(values[column]) == level) if level else float(values[column])
            total += float(weight) * value
        return total

    def predicted(self, task, arm, values):
        total = self.sum(task, arm, values)
        return 1 / (1 + math.exp(-total)) if self.curved else min(max(total, 0.0), 1.0)

    def points(self, phrase, values, reward):
        if match := re.match(r"fit of (.*?) over (.*?), 1 point per (.*)$", phrase):
            arm = self.arm(values)
            first, second = (min(max(self.predicted(match[i], arm, values), 1e-9), 1 - 1e-9) for i in (1, 2))
            ratio = math.log(first / second) if reward else math.log((1 - first) / (1 - second))
            return min(max(math.floor(ratio / float(match[3]) + 0.5), -self.most), self.most)
        if phrase.startswith("promised "):
            promise = self.best(self.option.removeprefix("treat as "), values)[1]
            for row in phrase.removeprefix("promised ").split("; "):
                when, points = row.split(": ", 1)
                if when == "less" or promise >= float(when.split("%")[0]) / 100:
                    return self.points(points, values, reward)
        if phrase == "no points":
            return 0
        if match := re.fullmatch(r"success ([+-]?\d+), failure ([+-]?\d+)", phrase):
            return int(match[1] if reward else match[2])
        return int(phrase.split("/")[0 if reward else 1])

    def tell(self, values, reward):
        if self.end is not None:
            if self.rule is None:
                return
            phrase, floor = re.search(r"from 0: (.*?)\. At ([+-]\d+) start again", self.rule).groups()
            if self.add(phrase, values, reward) <= int(floor):
                self.go_to(1)
            return
        sentence = self.lines[self.line]
        if match := re.search(r"the score \((.*)\) stays above (-\d+)(.*?)\. Then: (.*)\.$", sentence):
            if self.add(match[1] + match[3], values, reward) <= int(match[2]):
                self.leave(match[4])
            return
        match = re.search(r"; (.*?)\. At \+(\d+): (.*?)\. At (-\d+): (.*)\.$", sentence)
        score = self.add(match[1], values, reward)
        if score >= int(match[2]):
            self.leave(match[3])
        elif score <= int(match[4]):
            self.leave(match[5])

    def add(self, phrase, values, reward):
        phrase, _, cap = phrase.partition("; never count above ")
        self.score += self.points(phrase, values, reward)
        if cap:
            self.score = min(self.score, int(cap))
        return self.score

    def leave(self, way):
        if way == "next line":
            self.go_to(self.line + 1)
        elif match := re.fullmatch(r"(?:line|go back to line|start again at line) (\d+)", way):
            self.go_to(int(match[1]))
        elif match := re.fullmatch(r"keep treating as (.*)|treat as (.*) from now on", way):
            self.settle(f"treat as {match[1] or match[2]}")
        else:
            self.settle(f"give {re.fullmatch(r'(?:stay with|settle on) (.*)', way)[1]}")


def conditions(when):
    """(column, condition) of each part of a printed rule's line."""
    subject = ""
    for part in when.split(" and "):
        subject = subject if re.match(r"(above|at most)", part) else re.split(r" (?:is|above|at most) ", part)[0]
        yield subject, part.removeprefix(subject).strip()


def holds(condition, values):
    subject, rest = condition
    if rest.startswith("is "):
        wanted = rest.removeprefix("is ").removeprefix("not ")
        return (str(values[subject]) == wanted) != rest.startswith("is not ")
    word, number = rest.rsplit(" ", 1)
    return values[subject] <= float(number) if word == "at most" else values[subject] > float(number)
