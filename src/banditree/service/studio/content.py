"""What a draft of the studio holds: the file or rates, how they are read, and what came of them so far."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from banditree.cases.design import Design
from banditree.protocols.objectives import Objective
from banditree.service.edge.models import NO_NUL, Name, Shape

MOST_GRID = 30  # A grid of typed rates has at most this many kinds and options.
MOST_HORIZON = 100_000  # A plan made in the browser is for at most this many rounds of one case.

Cell = Annotated[str, StringConstraints(max_length=100, pattern=NO_NUL)]
Outcomes = Literal["yes or no", "grades", "number"]


class Roles(Shape):
    """Which column of a log says what."""

    individual: str | None = None
    task: str | None = None
    arm: str | None = None
    reward: str | None = None
    time: str | None = None
    propensity: str | None = None


class Reading(Shape):
    """How a table is to be read, where somebody has said so; None: as it is understood.

    sheet: of a workbook. header: the number of the row with the names of the columns. decimals: the mark before them.
    """

    sheet: str | None = None
    header: int | None = None
    decimals: Literal[",", "."] | None = None
    dates: Literal["day first", "month first"] | None = None


class Question(Shape):
    """What must be answered before a table can be read: a setting of `Reading`, with (value, what it means)."""

    name: Literal["decimals", "dates"]
    text: str
    choices: list[tuple[str, str]]


class Option(Shape):
    """An option of a log: its rows, and their mean outcome."""

    name: str
    rows: int
    mean: float


class Seen(Shape):
    """What a look at a log found. problem: why it cannot be used as it is read now, or "".

    values: the different outcomes, where they are few. bad: (what is wrong, rows); bad_rows: the numbers of the first.
    spellings: options that differ only in capitals and blanks, the most frequent spelling first. design: how the log
    was made, in words; "" where that is not asked. is_chosen: whether rates may be due to who was given what.
    shows_plans: whether such a log can show what a plan gives. drift: what there is to say about options that give more
    or less over the days of the log.
    """

    problem: str = ""
    values: list[str] = Field(default_factory=list)
    n_rows: int = 0
    n_bad: int = 0
    bad: list[tuple[str, int]] = Field(default_factory=list)
    bad_rows: list[int] = Field(default_factory=list)
    bad_cells: list[list[str]] = Field(default_factory=list)
    n_individuals: int | None = None
    kinds: list[str] = Field(default_factory=list)
    n_kinds: int = 0
    options: list[Option] = Field(default_factory=list)
    spellings: list[list[str]] = Field(default_factory=list)
    design: str = ""
    is_chosen: bool = False
    shows_plans: bool = True
    drift: list[str] = Field(default_factory=list)


class Log(Shape):
    """A log that was brought, how it is read, and what was seen of it.

    file: its name. table: the id of the table on record. sheets: of a workbook; sheet, header: those that are read.
    numbers: of the first rows in the file. notes: what was understood. questions: what is to be answered first.
    contexts: the columns that are known before each decision. design: how options were given, where somebody has said
    so. success: the text that counts as 1. drop: leave bad rows out. merge: take spellings of an option for the same.
    """

    file: str
    table: str = ""
    reading: Reading = Reading()
    sheets: list[str] = Field(default_factory=list)
    sheet: str = ""
    header: int = 0
    notes: list[str] = Field(default_factory=list)
    questions: list[Question] = Field(default_factory=list)
    columns: list[str] = Field(default_factory=list)
    n_rows: int = 0
    numbers: list[int] = Field(default_factory=list)
    first: list[list[str]] = Field(default_factory=list)
    roles: Roles = Roles()
    contexts: list[str] = Field(default_factory=list)
    design: Design | None = None
    outcomes: Outcomes = "yes or no"
    success: str = ""
    drop: bool = False
    merge: bool = False
    seen: Seen = Seen()

    @property
    def used(self) -> list[str]:
        """The columns that say something."""
        return [*(name for name in self.roles.model_dump().values() if name is not None), *self.contexts]


class Rates(Shape):
    """Rates that were typed or brought as a table: cells as they were typed, a row per kind.

    prices, values: of a round and of a success, by option; change: what a change of option costs; unit: of all these.
    harm: of each option in one round of any kind, such as a side effect; empty where nobody said any.
    """

    options: list[Cell] = Field(max_length=MOST_GRID)
    kinds: list[Cell] = Field(max_length=MOST_GRID)
    cells: list[list[Cell]] = Field(max_length=MOST_GRID)
    shares: list[Cell] = Field(default_factory=list, max_length=MOST_GRID)
    harm: list[Cell] = Field(default_factory=list, max_length=MOST_GRID)
    margin: Cell = ""
    prices: list[Cell] = Field(default_factory=list, max_length=MOST_GRID)
    values: list[Cell] = Field(default_factory=list, max_length=MOST_GRID)
    change: Cell = ""
    unit: Cell = ""
    source: Cell = ""
    notes: list[str] = Field(default_factory=list)

    @classmethod
    def blank(cls) -> "Rates":
        """An empty grid."""
        return cls(options=["A", "B", "C"], kinds=["", ""], cells=[[""] * 3, [""] * 3], shares=["", ""])


class Limits(Shape):
    """What a plan may be, as a person answers it. wrong: at most this share of cases may end with a wrong option.

    most: what 99% of the cases of each kind may lose at most. harm: the most harms that a case may have on average;
    not_again: what did harm is not given again. washout: the rounds after a change of option that are given and not
    counted. ask: a person decides about a case that comes back to line 1 too often. rule: where kinds look at contexts,
    the most rows of the printed rule of each; None: whatever has the highest prediction.
    """

    lines: Annotated[int, Field(ge=1, le=40)] | None = None
    restarts: bool = True
    links_back: bool = False
    wrong: Annotated[float, Field(gt=0, lt=1)] | None = None
    harm: Annotated[float, Field(gt=0)] | None = None
    not_again: bool = False
    excluded: list[str] = Field(default_factory=list)
    objective: Objective | None = None
    most: Annotated[float, Field(gt=0)] | None = None
    ask: bool = False
    washout: Annotated[int, Field(ge=0, le=1_000)] = 0
    rule: Annotated[int, Field(ge=1, le=20)] | None = 4


class Parts(Shape):
    """A log in two files on record: cases to learn from, and others that are held out to judge plans on."""

    learn: str
    held: str | None = None
    n_learn: int | None = None
    n_held: int = 0


class Content(Shape):
    """Everything in a draft; a log or rates. What a page changes makes the pages after it start over.

    names: of the kinds, in place of those found. found: the job that searches. plan: the one that was taken.
    """

    log: Log | None = None
    rates: Rates | None = None
    horizon: Annotated[int, Field(ge=1, le=MOST_HORIZON)] = 100
    parts: Parts | None = None
    words: dict[str, Name] = Field(default_factory=lambda: {"arm": "option", "task": "kind"})
    n_kinds: Annotated[int, Field(ge=2, le=20)] | None = None
    names: list[Name] = Field(default_factory=list)
    collection: str | None = None
    limits: Limits = Limits()
    found: str | None = None
    plan: str | None = None

    def since(self, page: str) -> "Content":
        """The content without what was said or made from that page on: "know", "kinds" or "plan"."""
        later = {"know": ["parts"], "kinds": ["n_kinds", "names", "collection"], "plan": ["limits", "found", "plan"]}
        names = [name for at in list(later)[list(later).index(page) :] for name in later[at]]
        fresh = Content()
        return self.model_copy(update={name: getattr(fresh, name) for name in names})

    @property
    def files(self) -> list[str]:
        """The files on record that are this draft's alone."""
        parts = [] if self.parts is None else [self.parts.learn, self.parts.held]
        return [id for id in ([] if self.log is None else [self.log.table]) + parts if id]
