"""A reader that knows nothing of a plan but its printed text and the words it was printed in, and follows it."""

import json
import re

from banditree.plans.plan import Vocabulary

NUMBER = r"[-+]?[\d.]+(?:e[-+]?\d+)?"
NAME = r'(?:"(?:[^"\\]|\\.)*"|[^";:]+?)'


def unquoted(name):
    """A name as the user gave it."""
    return json.loads(name) if name.startswith('"') else name


class PrintedPlan:
    """Follows the text of a plan: `arm` says what to give, `tell` takes the outcome."""

    def __init__(self, text, words=None):
        self.words = words or Vocabulary()
        self.boxes = {int(n): sentence for n, sentence in re.findall(r"^Box (\d+)\. (.*)$", text, re.MULTILINE)}
        self.predictions = {}
        if "\nPredictions" in text:
            for line in text.split("\nPredictions")[1].splitlines()[1:]:
                task, arm, formula = re.fullmatch(rf"({NAME}), ({NAME}): (.*)", line).groups()
                self.predictions.setdefault(unquoted(task), []).append((unquoted(arm), formula))
        self.enter(1)

    def enter(self, box):
        self.box, self.pulls, self.total = box, 0, 0.0

    @property
    def sentence(self):
        return self.boxes[self.box]

    def arm(self, values=None):
        give = re.escape(self.words.give)
        known = rf"(?:This is (?P<task>{NAME})\. )?"
        ends = r"(?P<then> from now on\.| \d+ times\.| once\.|\. Each|\. Score)"
        if match := re.match(rf"{known}From now on, .* with the highest prediction for it\.$", self.sentence):
            return self._best(match["task"], values)
        return unquoted(re.match(rf"{known}{give} (?P<arm>{NAME}){ends}", self.sentence)["arm"])

    def _best(self, task, values):
        task = unquoted(task if unquoted(task) in self.predictions else task.removeprefix(f"{self.words.task} "))
        best, best_value = None, float("-inf")
        for arm, formula in self.predictions[task]:
            value = 0.0
            for term in formula.split(" + "):
                weight, _, name = term.partition(" * ")
                value += (values[name] if name else 1.0) * float(weight)
            if value > best_value:
                best, best_value = arm, value
        return best

    def tell(self, reward):
        rule = re.sub(r'"(?:[^"\\]|\\.)*"', "NAME", self.sentence)
        if "rom now on" in rule:
            return
        self.pulls += 1
        if "or more: go to" in rule:
            self._tell_score(rule, reward)
        else:
            self._tell_fixed(rule, reward)

    def _tell_fixed(self, rule, reward):
        self.total += reward
        times = re.search(r" (?:(\d+) times|once)\. (?:At most|Total)", rule)[1]
        if self.pulls == int(times or 1):
            limit, low = re.search(rf"at most ({NUMBER})(?: [^:]+)?: go to box (\d+)", rule, re.IGNORECASE).groups()
            high = re.search(r"Otherwise: go to box (\d+)", rule)[1]
            self.enter(int(low if self.total <= float(limit) + 1e-9 else high))

    def _tell_score(self, rule, reward):
        if match := re.search(r"Each [^:]+? ([+-]\d+), each [^:]+? ([+-]\d+)\. At", rule):
            self.total += int(match[1]) if reward == 1 else int(match[2])
        else:
            rule_of_points = re.search(r"Score each (.*?)\. At", rule)[1]
            steps = re.findall(rf"at most ({NUMBER}) ([+-]\d+)", rule_of_points)
            points = next((int(p) for cut, p in steps if reward <= float(cut)), None)
            self.total += int(re.search(r"above ([+-]\d+)", rule_of_points)[1]) if points is None else points
        ceil, high = re.search(r"At ([+-]\d+) or more: go to box (\d+)", rule).groups()
        floor, low = re.search(r"At ([+-]\d+) or less: go to box (\d+)", rule).groups()
        if self.total >= int(ceil):
            self.enter(int(high))
        elif self.total <= int(floor):
            self.enter(int(low))


class PrintedProtocol:
    """Follows the text of a protocol: numbered lines with their ends inside, and a safety rule at the foot."""

    def __init__(self, text):
        self.lines = {int(n): sentence for n, sentence in re.findall(r"^(\d+)\. (.*)$", text, re.MULTILINE)}
        self.rule = next((line for line in text.splitlines() if line.startswith("Whenever you stay with")), None)
        self.enter(1)

    def enter(self, line):
        self.box, self.settled, self.total = line, None, 0

    @property
    def sentence(self):
        return self.lines[self.box]

    def arm(self, values=None):
        if self.settled is not None:
            return self.settled
        return re.match(r"Give (.*?)(?:;| for as long as| from now on)", self.sentence)[1]

    def tell(self, reward):
        if self.settled is not None:
            if self.rule is not None and self._score(self.rule, reward) <= self._level(self.rule, "start again"):
                self.enter(1)
        elif "for as long as" in self.sentence:
            if self._score(self.sentence, reward) <= int(re.search(r"stays above ([+-]\d+)\.", self.sentence)[1]):
                self._leave(re.search(r"Then: (.*?)\.$", self.sentence)[1])
        elif "from now on" not in self.sentence:
            self._score(self.sentence, reward)
            (ceil, high), (floor, low) = re.findall(r"At ([+-]\d+): (.*?)\.(?: |$)", self.sentence)
            if self.total >= int(ceil):
                self._leave(high)
            elif self.total <= int(floor):
                self._leave(low)

    def _level(self, sentence, what):
        return int(re.search(rf"At ([+-]\d+) {what}", sentence)[1])

    def _score(self, sentence, reward):
        self.total += self._points(sentence, reward)
        if cap := re.search(r"never counted above ([+-]\d+)", sentence):
            self.total = min(self.total, int(cap[1]))
        return self.total

    def _points(self, sentence, reward):
        if match := re.search(r"([+-]\d+)/([+-]\d+)", sentence):
            return int(match[1]) if reward == 1 else int(match[2])
        if match := re.search(r"success ([+-]\d+), failure ([+-]\d+)", sentence):
            return int(match[1]) if reward == 1 else int(match[2])
        for cut, points in re.findall(rf"at most ({NUMBER}) ([+-]\d+)", sentence):
            if reward <= float(cut):
                return int(points)
        return int(re.search(r", above ([+-]\d+)", sentence)[1])

    def _leave(self, where):
        if match := re.match(r"(?:stay with|settle on) (.*)$", where):
            self.settled, self.total = match[1], 0
        elif where == "next line":
            self.enter(self.box + 1)
        else:
            self.enter(int(re.match(r"(?:start again at )?line (\d+)$", where)[1]))
