"""Plans of several sizes for the tests of figures, with their collections."""

from functools import lru_cache

from example_plans import FIVE, protocol, score_plan

from banditree.figures.ladder import LadderInfo, Leads, Row, Way
from banditree.figures.scene import text_width
from banditree.plans.words import vocabulary_from
from banditree.tasks.collection import Collection
from banditree.tasks.instances import linear, rand
from banditree.trees.tree import build_tree

WORDS = vocabulary_from(
    {"arm": "treatment", "task": "patient group", "success": "recovery", "failure": "relapse", "give": "Administer"}
)


def three():
    two = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]], tasks=["mild", "severe"], arms=["A", "B"])
    return build_tree(two, 4000), two


def about(n_boxes):
    """A tree of about that many boxes, some of them shared, with long names and other words."""
    n_tasks = {15: 7, 60: 27}[n_boxes]
    tasks = [f"a rather long name of group {i}" if i % 3 else f"g{i}" for i in range(n_tasks)]
    arms = [f"Acetylsalicylic-acid-{k}-mg" if k % 4 == 0 else f"drug {k}" for k in range(30)]
    known = Collection.bernoulli(rand(n_tasks, 30, 0.4).means, tasks=tasks, arms=arms)
    return build_tree(known, 10_000, 0.4, vocabulary=WORDS), known


def links_back():
    known = Collection.bernoulli(
        [[0.9, 0.5, 0.2], [0.2, 0.7, 0.4], [0.3, 0.3, 0.8]], tasks=["one", "two", "three"], arms=["A", "B", "C"]
    )
    return score_plan(), known


def forty():
    known = rand(40, 40, 0.4)
    return build_tree(known, 10_000, 0.4), known


def contextual():
    known = linear(4, 5, 3, 0.2)
    return build_tree(known, 5000, 0.2), known


MAKERS = {
    "3 boxes": three,
    "15 boxes": lambda: about(15),
    "60 boxes": lambda: about(60),
    "links back": links_back,
    "40 tasks": forty,
    "contextual": contextual,
    "protocol": lambda: (protocol(cap=20), FIVE),
}


@lru_cache
def made(name):
    """(plan, collection) by name."""
    return MAKERS[name]()


def box_of_text(text):
    """The left, upper, right and lower edge of a text in a scene."""
    width = text_width(text.text, text.size, text.bold)
    left = {"start": text.x, "middle": text.x - width / 2, "end": text.x - width}[text.anchor]
    return left, text.y - 0.75 * text.size, left + width, text.y + 0.1 * text.size


def of_lines(count, name="Acetylsalicylic acid, 100 mg"):
    """A protocol with long names and a jump in every other line."""
    rows = []
    for number in range(1, count + 1):
        up = Way("At +60", f"stay with {name}", count + 1, Leads.END)
        down = Way("At -11", "next line", number + 1, Leads.NEXT)
        if number % 2 and number + 3 <= count:
            up = Way("At +8", f"line {number + 3}", number + 3, Leads.SKIP)
        if number == count:
            down = Way("At -11", "start again at line 1", 1, Leads.BACK)
        action = f"Give {name} for as long as the score (+1/-9) stays above -10"
        rows.append(Row(number, "hereditary 62%, chronic 30%", action, (up, down), None))
    rule = "Whenever you stay with or settle on a treatment, score it from 0: +1/-4. At -8 start again at line 1."
    return LadderInfo("Plan", tuple(rows), count + 1, "line", rule, ("Every line counts from 0.",), ("a",), "task")
