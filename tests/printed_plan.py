"""A reader that knows nothing of a plan but its printed text and the words it was printed in, and follows it."""

import json
import re

from banditree.plans.words import Vocabulary
from banditree.policies.base import Outcome

NUMBER = r"[-+]?[\d.]+(?:e[-+]?\d+)?"
QUOTED = r'"(?:[^"\\]|\\.)*"'
NAME = rf'(?:{QUOTED}|[^";:]+?)'
POINTS = r"(?:[+-]\d+|0)"


def unquoted(name):
    """A name as the user gave it."""
    return json.loads(name) if name.startswith('"') else name


class Printed:
    """What plans of both forms share: a place, a score, and the points of an outcome.

    outcomes: the words for the possible rewards, as {1.0: "recovery", 0.0: "relapse"}; none where numbers are reported.
    """

    def __init__(self, text, words=None, outcomes=None):
        self.words = words or Vocabulary()
        named = {1.0: self.words.success, 0.0: self.words.failure}
        self.outcomes = named if outcomes is None else outcomes
        self.rule = next((line for line in text.splitlines() if line.startswith("Whenever you stay with")), None)
        paused = re.search(
            r"^Whenever you change .*, its first (?:(\d+) )?rounds? (?:is|are) given but not", text, re.M
        )
        self.washout = 0 if paused is None else int(paused[1] or 1)
        self.waiting = 0
        self.enter(1)

    def enter(self, box):
        self.box, self.pulls, self.total = box, 0, 0.0

    def tell(self, reward):
        """Count an outcome, unless it is one of the first after a change."""
        if self.waiting:
            self.waiting -= 1
            return
        before = self.arm() if self.washout else None
        self.count(reward)
        if self.washout and self.arm() != before:
            self.waiting = self.washout

    def score(self, phrase, reward):
        """Add the points of an outcome, up to the cap that the phrase may name."""
        self.total += self.points(phrase, reward)
        if cap := re.search(r"never count above ([+-]\d+)", phrase):
            self.total = min(self.total, int(cap[1]))
        return self.total

    def points(self, phrase, reward):
        if match := re.search(rf"(?:^|[(:;] ?)({POINTS}(?:/{POINTS})+)(?:[);]|$)", phrase):
            return int(match[1].split("/")[self.rank(reward)])
        if found := re.findall(rf"({POINTS})(?: for an? [^,]*?)? above ({NUMBER})", phrase):
            self.first_cuts = getattr(self, "first_cuts", [float(cut) for _, cut in found])
            otherwise = re.search(rf"({POINTS}) otherwise", phrase)[1]
            return int(next((p for p, cut in found if reward > float(cut)), otherwise))
        named = re.findall(rf"(?:^|, )({NAME}) ({POINTS})(?=, |;|$)", phrase)
        return int({unquoted(name): points for name, points in named}[self.outcomes[reward]])

    def rank(self, reward):
        """Which of the outcomes this is, the best first; of numbers, by the cuts that were spelled out last."""
        if self.outcomes:
            return sorted(self.outcomes, reverse=True).index(reward)
        return sum(reward <= cut for cut in self.first_cuts)


class PrintedPlan(Printed):
    """Follows the text of a plan of boxes: `arm` says what to give, `tell` takes the outcome."""

    def __init__(self, text, words=None, outcomes=None):
        super().__init__(text, words, outcomes)
        self.boxes = {int(n): sentence for n, sentence in re.findall(r"^Box (\d+)\. (.*)$", text, re.MULTILINE)}
        self.predictions = {}
        if "\nPredictions" in text:
            for line in text.split("\nPredictions")[1].splitlines()[1:]:
                task, arm, formula = re.fullmatch(rf"({NAME}), ({NAME}): (.*)", line).groups()
                self.predictions.setdefault(unquoted(task), []).append((unquoted(arm), formula))

    @property
    def sentence(self):
        return self.boxes[self.box]

    def arm(self, values=None):
        give = re.escape(self.words.give)
        known = rf"(?:This is (?P<task>{NAME})\. )?"
        ends = r"(?P<then> from now on\.| \d+ times\.| once\.|; | for as long as)"
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

    def count(self, reward):
        known = rf"(?:This is {NAME}\. )?{re.escape(self.words.give)} {NAME}"
        rule = re.sub(rf"^{known}(?=;| for as| from now on\.| \d+ times\.| once\.)", "ACTION", self.sentence)
        if "rom now on" in rule:
            return
        self.pulls += 1
        if match := re.search(r"; (.*?)\. At ([+-]\d+): go to box (\d+)\. At ([+-]\d+): go to box (\d+)\.", rule):
            total = self.score(match[1], reward)
            if total >= int(match[2]):
                self.enter(int(match[3]))
            elif total <= int(match[4]):
                self.enter(int(match[5]))
        else:
            self._tell_fixed(rule, reward)

    def _tell_fixed(self, rule, reward):
        self.total += reward
        times = re.search(r" (?:(\d+) times|once)\. (?:At most|Total)", rule)[1]
        if self.pulls == int(times or 1):
            limit, low = re.search(rf"at most ({NUMBER})(?: [^:]+)?: go to box (\d+)", rule, re.IGNORECASE).groups()
            high = re.search(r"Otherwise: go to box (\d+)", rule)[1]
            self.enter(int(low if self.total <= float(limit) + 1e-9 else high))


class PrintedProtocol(Printed):
    """Follows the text of a protocol: numbered lines with their ends inside, and a safety rule at the foot."""

    def __init__(self, text, words=None, outcomes=None):
        super().__init__(text, words, outcomes)
        give = re.escape(self.words.give)
        lines = re.findall(rf"^(\d+)\. ({give} .*)$", text, re.MULTILINE)
        self.lines = {int(n): sentence for n, sentence in lines}
        self.last = next((line for line in text.splitlines() if line.startswith("Hand over: ")), None)
        self.spell(self.lines[1])
        self.enter(1)

    def spell(self, sentence):
        """Remember the cuts of the first line, which later ones may abbreviate."""
        if found := re.findall(rf"above ({NUMBER})[,)]", re.sub(QUOTED, "NAME", sentence)):
            self.first_cuts = [float(cut) for cut in found]

    def enter(self, box):
        super().enter(box)
        self.settled, self.chosen_by_others = None, False

    @property
    def sentence(self):
        return self.lines[self.box]

    def arm(self, values=None):
        """The arm to give; a set of arms where Thompson sampling chooses; None where a person does."""
        if self.settled is not None or self.chosen_by_others:
            return self.settled
        give = re.escape(self.words.give)
        return unquoted(re.match(rf"{give} ({NAME})(?:; | for as long as | from now on\.)", self.sentence)[1])

    def count(self, reward):
        give = re.escape(self.words.give)
        if self.chosen_by_others:
            return
        if self.settled is not None or re.fullmatch(rf"{give} {NAME} from now on\.", self.sentence):
            if self.rule is not None:
                points, level, then = re.search(
                    r"score it from 0: (.*)\. At ([+-]\d+) (start again|hand over)", self.rule
                ).groups()
                if self.score(points, reward) <= int(level):
                    self.enter(1)
                    if then == "hand over":
                        self.leave(then)
            return
        rest = re.match(rf"{give} {NAME}(; | for as long as )(.*)$", self.sentence)
        if rest[1] == "; ":
            points, high, up, low, down = re.fullmatch(
                rf"(.*?)\. At ([+-]\d+): ((?:{QUOTED}|[^\"])*?)\. At ([+-]\d+): ((?:{QUOTED}|[^\"])*?)\.", rest[2]
            ).groups()
            total = self.score(points, reward)
            if total >= int(high):
                self.leave(up)
            elif total <= int(low):
                self.leave(down)
        else:
            points, level, cap, down = re.fullmatch(
                r"the score \((.*?)\) stays above ([+-]\d+)(; never count above [+-]\d+)?\. Then: (.*)\.", rest[2]
            ).groups()
            if self.score(f"{points}{cap or ''}", reward) <= int(level):
                self.leave(down)

    def leave(self, where):
        where = re.sub(r" \([-+.e0-9]+\)(?=, | and |$)", "", where)  # what is expected of each of several
        if match := re.fullmatch(rf"settle on the best of ({NAME}(?:, {NAME})*) and ({NAME})", where):
            first = [unquoted(name) for name in re.findall(rf"(?:^|, )({QUOTED}|[^\",]+)", match[1])]
            self.settled, self.chosen_by_others = {*first, unquoted(match[2])}, True
        elif where == "hand over":
            self.settled, self.chosen_by_others = self.handed_over(), True
        elif match := re.fullmatch(rf"(?:stay with|settle on) ({NAME})", where):
            self.settled, self.total = unquoted(match[1]), 0
        elif where == "next line":
            self.enter(self.box + 1)
        else:
            self.enter(int(re.fullmatch(r"(?:start again at |go back to )?line (\d+)", where)[1]))

    def handed_over(self):
        """Who decides after a hand-over: everything Thompson sampling may give, nobody here, or an arm."""
        if "Thompson sampling chooses" in re.sub(QUOTED, "NAME", self.last):
            return ANYTHING
        if self.last.endswith("From now on a person decides."):
            return None
        give = re.escape(self.words.give)
        return unquoted(re.search(rf"\. {give} ({NAME}) from now on\.$", self.last)[1])


class Anything:
    """A set of which everything is a member."""

    def __contains__(self, name):
        return True


ANYTHING = Anything()


def agrees(step, said):
    """Whether a session's step is what a reader of the text would do."""
    if said is None:
        return step.outcome is Outcome.PERSON_NEEDED
    return step.name == said if isinstance(said, str) else step.name in said


def reader_of(plan):
    """The reader for the printed text of this plan."""
    from banditree.plans.plan import Form
    from banditree.plans.wording import outcome_names

    made = PrintedProtocol if plan.form is Form.LINES else PrintedPlan
    return made(str(plan), plan.vocabulary, dict(outcome_names(plan)))
