"""A reader that knows nothing of a plan but its printed text, and follows it."""

import re

NUMBER = r"[-+]?[\d.]+(?:e[-+]?\d+)?"


class PrintedPlan:
    """Follows the text of a plan: `arm` says what to give, `tell` takes the outcome."""

    def __init__(self, text):
        self.boxes = {int(n): sentence for n, sentence in re.findall(r"^Box (\d+)\. (.*)$", text, re.MULTILINE)}
        self.predictions = {}
        if "\nPredictions" in text:
            for line in text.split("\nPredictions")[1].splitlines()[1:]:
                key, formula = line.split(": ")
                task, arm = key.split(", ")
                self.predictions.setdefault(task, []).append((arm, formula))
        self.enter(1)

    def enter(self, box):
        self.box, self.pulls, self.total = box, 0, 0.0

    @property
    def sentence(self):
        return self.boxes[self.box]

    def arm(self, values=None):
        if match := re.search(r"This is (.*?)\. From now on, give the arm with the highest prediction", self.sentence):
            return self._best(match[1], values)
        return re.search(r"Give (.*?)(?: from now on| \d+ times| once)?\.(?: |$)", self.sentence)[1]

    def _best(self, task, values):
        task = task if task in self.predictions else task.removeprefix("task ")
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
        if "rom now on" in self.sentence:
            return
        self.pulls += 1
        if "or more: go to" in self.sentence:
            self._tell_score(reward)
        else:
            self._tell_fixed(reward)

    def _tell_fixed(self, reward):
        self.total += reward
        times = re.search(r"Give .*? (?:(\d+) times|once)\.", self.sentence)[1]
        if self.pulls == int(times or 1):
            limit, low = re.search(rf"at most ({NUMBER})(?: \w+)?: go to box (\d+)", self.sentence, re.I).groups()
            high = re.search(r"Otherwise: go to box (\d+)", self.sentence)[1]
            self.enter(int(low if self.total <= float(limit) + 1e-9 else high))

    def _tell_score(self, reward):
        if match := re.search(r"Each success ([+-]\d+), each failure ([+-]\d+)", self.sentence):
            self.total += int(match[1]) if reward == 1 else int(match[2])
        else:
            rule = re.search(r"Score each (.*?)\. At", self.sentence)[1]
            steps = re.findall(rf"at most ({NUMBER}) ([+-]\d+)", rule)
            points = next((int(p) for cut, p in steps if reward <= float(cut)), None)
            self.total += int(re.search(r"above ([+-]\d+)", rule)[1]) if points is None else points
        ceil, high = re.search(r"At ([+-]\d+) or more: go to box (\d+)", self.sentence).groups()
        floor, low = re.search(r"At ([+-]\d+) or less: go to box (\d+)", self.sentence).groups()
        if self.total >= int(ceil):
            self.enter(int(high))
        elif self.total <= int(floor):
            self.enter(int(low))
