"""A reader that knows nothing of a plan but its printed text and the words it was printed in, and follows it."""

import json
import re

from printed_languages import GRAMMARS

from banditree.plans.words import Vocabulary
from banditree.policies.base import Outcome

NUMBER = r"[-+]?\d+(?:[.,]\d+)?(?:e[-+]?\d+)?"
QUOTED = r'"(?:[^"\\]|\\.)*"'
NAME = rf'(?:{QUOTED}|[^";:]+?)'
KIND = rf'(?:[^";:.]*? )?{NAME}'  # perhaps after the word for a kind
POINTS = r"(?:[+-]\d+|0)"


def unquoted(name):
    """A name as the user gave it."""
    return json.loads(name) if name.startswith('"') else name


def plain(text):
    """A text without the no-break spaces that some languages have around their marks; names stay as they are."""
    spaces = r"\u00a0(?=[;:])|(\u00a0)"
    return re.sub(rf"({QUOTED})|{spaces}", lambda found: found[1] or (" " if found[2] else ""), text)


def value_of(text):
    """A number as it is printed, with a point or a comma."""
    return float(text.replace(",", "."))


class Printed:
    """What plans of both forms share: a place, a score, and the points of an outcome.

    outcomes: the words for the possible rewards, as {1.0: "recovery", 0.0: "relapse"}; none where numbers are reported.
    """

    def __init__(self, text, words=None, outcomes=None):
        self.words = words or Vocabulary()
        self.grammar = GRAMMARS[self.words.language.code]
        named = {1.0: self.words.success, 0.0: self.words.failure}
        self.outcomes = named if outcomes is None else outcomes
        self.rule = next((line for line in text.splitlines() if line.startswith(self.grammar.rule)), None)
        paused = re.search(rf"^{self.grammar.washout}", text, re.M)
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
        if cap := re.search(self.grammar.cap, phrase):
            self.total = min(self.total, int(cap[1]))
        return self.total

    def points(self, phrase, reward):
        known = self.grammar
        if match := re.search(rf"(?:^|[(:;] ?)({POINTS}(?:/{POINTS})+)(?:[);]|$)", phrase):
            return int(match[1].split("/")[self.rank(reward)])
        if found := re.findall(rf"({POINTS}) (?:{known.for_a_reward}|{known.above}) ({NUMBER})", phrase):
            self.first_cuts = getattr(self, "first_cuts", [value_of(cut) for _, cut in found])
            otherwise = re.search(rf"({POINTS}) {known.otherwise_points}", phrase)[1]
            return int(next((p for p, cut in found if reward > value_of(cut)), otherwise))
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
        known = self.grammar
        self.boxes = {
            int(n): sentence for n, sentence in re.findall(rf"^{known.box} (\d+)\. (.*)$", text, re.MULTILINE)
        }
        self.predictions = {}
        if f"\n{known.predictions}" in text:
            for line in text.split(f"\n{known.predictions}")[1].splitlines()[1:]:
                task, arm, formula = re.fullmatch(rf"({NAME}), ({NAME}): (.*)", line).groups()
                self.predictions.setdefault(unquoted(task), []).append((unquoted(arm), formula))
        give = re.escape(self.words.give)
        without_number = known.times.replace("(\\d", "(?:\\d")
        self.action = rf"{give} (?P<arm>{NAME})(?={known.for_good}\.|{without_number}\.|; |{known.as_long} \()"

    @property
    def sentence(self):
        return self.boxes[self.box]

    def arm(self, values=None):
        found = rf"(?:{self.grammar.found}(?P<task>{KIND})\. )?"
        if match := re.match(rf"{found}{self.grammar.highest}\.$", self.sentence):
            return self._best(match["task"], values)
        return unquoted(re.match(rf"{found}{self.action}", self.sentence)["arm"])

    def _best(self, task, values):
        known = task in self.predictions or task.startswith('"')
        task = unquoted(task if known else task.removeprefix(f"{self.words.task} "))
        best, best_value = None, float("-inf")
        for arm, formula in self.predictions[task]:
            value = 0.0
            for term in formula.split(" + "):
                weight, _, name = term.partition(" * ")
                value += (values[name] if name else 1.0) * value_of(weight)
            if value > best_value:
                best, best_value = arm, value
        return best

    def count(self, reward):
        known = self.grammar
        if re.match(rf"(?:{known.found}{KIND}\. )?{known.highest}\.$", self.sentence):
            return
        rule = re.sub(rf"^(?:{known.found}{KIND}\. )?{self.action}", "ACTION", self.sentence)
        if rule.startswith(f"ACTION{known.for_good}."):
            return
        self.pulls += 1
        exits = rf"{known.at}: {known.go_to_box}\. {known.at}: {known.go_to_box}\."
        if match := re.search(rf"; (.*?)\. {exits}", rule):
            total = self.score(match[1], reward)
            if total >= int(match[2]):
                self.enter(int(match[3]))
            elif total <= int(match[4]):
                self.enter(int(match[5]))
        else:
            self._tell_fixed(rule, reward)

    def _tell_fixed(self, rule, reward):
        known = self.grammar
        self.total += reward
        times = re.match(rf"ACTION{known.times}\.", rule)[1]
        if self.pulls == int(times or 1):
            limit, low = re.search(rf"{known.at_most}(?: [^:]+)?: {known.go_to_box}", rule).groups()
            high = re.search(rf"{known.otherwise}: {known.go_to_box}", rule)[1]
            self.enter(int(low if self.total <= value_of(limit) + 1e-9 else high))


class PrintedProtocol(Printed):
    """Follows the text of a protocol: numbered lines with their ends inside, and a safety rule at the foot."""

    def __init__(self, text, words=None, outcomes=None):
        super().__init__(text, words, outcomes)
        give = re.escape(self.words.give)
        lines = re.findall(rf"^(\d+)\. ({give} .*)$", text, re.MULTILINE)
        self.lines = {int(n): sentence for n, sentence in lines}
        self.last = next((line for line in text.splitlines() if line.startswith(self.grammar.fallback)), None)
        most = re.search(self.grammar.starts, re.sub(QUOTED, "NAME", self.last or ""))
        self.starts = float("inf") if most is None else int(most[1])
        self.spell(self.lines[1])
        self.begun = 0
        self.enter(1)

    def spell(self, sentence):
        """Remember the cuts of the first line, which later ones may abbreviate."""
        if found := re.findall(rf"{self.grammar.above} ({NUMBER})(?:, |[,)])", re.sub(QUOTED, "NAME", sentence)):
            self.first_cuts = [value_of(cut) for cut in found]

    def enter(self, box):
        super().enter(box)
        self.settled, self.chosen_by_others = None, False
        self.begun = getattr(self, "begun", 0) + (box == 1)
        if self.begun > getattr(self, "starts", self.begun):
            self.settled, self.chosen_by_others = self.handed_over(), True

    @property
    def sentence(self):
        return self.lines[self.box]

    def arm(self, values=None):
        """The arm to give; a set of arms where Thompson sampling chooses; None where a person does."""
        if self.settled is not None or self.chosen_by_others:
            return self.settled
        give, known = re.escape(self.words.give), self.grammar
        return unquoted(re.match(rf"{give} ({NAME})(?:; |{known.as_long} \(|{known.for_good}\.)", self.sentence)[1])

    def count(self, reward):
        give, known = re.escape(self.words.give), self.grammar
        if self.chosen_by_others:
            return
        if self.settled is not None or re.fullmatch(rf"{give} {NAME}{known.for_good}\.", self.sentence):
            if self.rule is not None:
                then = rf"(?:{known.again_in_rule}|({known.hand_over_in_rule}))"
                points, level, hands_over = re.search(
                    rf"{known.score_from}(.*)\. {known.at_in_rule} {then}", self.rule
                ).groups()
                if self.score(points, reward) <= int(level):
                    self.enter(1)
                    if hands_over:
                        self.leave(hands_over)
            return
        rest = re.match(rf"{give} {NAME}(; |{known.as_long} \()(.*)$", self.sentence)
        anything = rf"((?:{QUOTED}|[^\"])*?)"
        if rest[1] == "; ":
            points, high, up, low, down = re.fullmatch(
                rf"(.*?)\. {known.at}: {anything}\. {known.at}: {anything}\.", rest[2]
            ).groups()
            total = self.score(points, reward)
            if total >= int(high):
                self.leave(up)
            elif total <= int(low):
                self.leave(down)
        else:
            cap = known.cap.replace("(", "(?:")
            points, level, cap, down = re.fullmatch(
                rf"(.*?)\) {known.stays}(; {cap})?\. {known.then}: (.*)\.", rest[2]
            ).groups()
            if self.score(f"{points}{cap or ''}", reward) <= int(level):
                self.leave(down)

    def leave(self, where):
        known = self.grammar
        where = re.sub(rf" \([-+.,e0-9]+\)(?=, | {known.last} |$)", "", where)  # what is expected of each of several
        if match := re.fullmatch(rf"{known.best_of}({NAME}(?:, {NAME})*) {known.last} ({NAME})", where):
            first = [unquoted(name) for name in re.findall(rf"(?:^|, )({QUOTED}|[^\",]+)", match[1])]
            self.settled, self.chosen_by_others = {*first, unquoted(match[2])}, True
        elif where == known.hand_over:
            self.settled, self.chosen_by_others = self.handed_over(), True
        elif match := re.fullmatch(rf"{known.stay} ({NAME})", where):
            self.settled, self.total = unquoted(match[1]), 0
        elif where == known.next_line:
            self.enter(self.box + 1)
        else:
            self.enter(int(re.fullmatch(known.line, where)[1]))

    def handed_over(self):
        """Who decides after a hand-over: everything Thompson sampling may give, nobody here, or an arm."""
        if self.grammar.thompson in re.sub(QUOTED, "NAME", self.last):
            return ANYTHING
        if self.last.endswith(self.grammar.person):
            return None
        give = re.escape(self.words.give)
        return unquoted(re.search(rf"\. {give} ({NAME}){self.grammar.for_good}\.$", self.last)[1])


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
    return made(plain(str(plan)), plan.vocabulary, dict(outcome_names(plan)))
