"""Words and numbers as they stand in the sentences of a plan: counts, names that need quotation marks."""

import json
import re
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import TYPE_CHECKING, ClassVar

from banditree.errors import invalid
from banditree.languages.language import Language, language

if TYPE_CHECKING:
    from banditree.plans.plan import Plan


class Part:
    """What a plan file is made of: nothing unknown in it, and no NaN or infinity."""

    __pydantic_config__: ClassVar[dict[str, object]] = {"extra": "forbid", "allow_inf_nan": False}


@dataclass(frozen=True)
class Vocabulary(Part):
    """The user's words for an arm, a task, a reward of 1 and of 0, a reward, the verb of a pull, and harm; plurals
    where the rules of English do not give them. Every sentence of a plan is said by its vocabulary (`say`)."""

    arm: str = "arm"
    task: str = "task"
    success: str = "success"
    failure: str = "failure"
    reward: str = "reward"
    give: str = "Give"
    harm: str | None = None
    arms: str | None = None
    tasks: str | None = None
    successes: str | None = None
    failures: str | None = None

    @property
    def language(self) -> Language:
        """The language of the sentences around the words."""
        return Language()

    @property
    def own(self) -> "Vocabulary":
        """The words as the user gave them, without any of a language."""
        return self

    @property
    def harmful(self) -> str:
        """The word for the second outcome, such as "side effect"; "harm" where the user has none."""
        return self.harm or self.language.meant("word", "harm")

    @property
    def to_give(self) -> str:
        """The verb of a pull in the middle of a sentence."""
        return f"{self.give[:1].lower()}{self.give[1:]}"

    def say(self, message: str, /, **values: object) -> str:
        """A sentence in the language of this vocabulary: its words and `values` in the places of the message.

        >>> Vocabulary(arm="drug").say("{arms} of {n}", arms="2 drugs", n=3), Vocabulary(arm="drug").say("Which {arm}?")
        ('2 drugs of 3', 'Which drug?')
        """
        return self.language.say(message, **{**self.values, **values})

    def count(self, n: int, one: str, many: str, /, **values: object) -> str:
        """The same for a sentence about a number, {n}: `one` says it of a single thing, `many` of any other number."""
        return self.language.count(n, one, many, **{**self.values, **values})

    @property
    def values(self) -> dict[str, object]:
        """The words by the names of their places in sentences."""
        names = ("arm", "task", "success", "failure", "reward", "give", "to_give")
        return {name: getattr(self, name) for name in names} | {"harm": self.harmful}

    def counted(self, n: int, name: str, shown: str = "") -> str:
        """`n` of what a word stands for; name: "arm", "task", "success" or "failure"; shown: the number as it stands.

        >>> Vocabulary(task="group").counted(3, "task"), Vocabulary(task="Typ", tasks="Typen").counted(3, "task")
        ('3 groups', '3 Typen')
        """
        return self.language.counted(n, *self._both(name), shown)

    def plural(self, name: str) -> str:
        """Several of what a word stands for."""
        return self.language.plural(*self._both(name))

    def _both(self, name: str) -> tuple[str, str | None]:
        return getattr(self, name), getattr(self, PLURALS[name])

    def article(self, name: str) -> str:
        """A word with the article of English; in other languages alone, since only its user knows its gender.

        name: "arm", "task" or "reward".
        """
        word = str(getattr(self, name))
        return with_article(word) if self.language.is_english else word

    def quoted(self, name: str) -> str:
        """A name of the user as it stands in a sentence of this language: see `quoted`."""
        return quoted(name, _marks(self.language))

    def number(self, value: float) -> str:
        """A number as the plan has it, with the marks of the language."""
        return self.language.digits(number(value))

    def digits(self, text: str) -> str:
        """A number that is written in English, with the marks of the language."""
        return self.language.digits(text)

    def amount(self, value: float, digits: int = 3) -> str:
        """How much, rounded for people."""
        return self.language.digits(amount(value, digits))

    def percent(self, text: str) -> str:
        """A number of percent, with its sign."""
        return self.language.say("{number}%", number=self.language.digits(text))

    def listed(self, names: Sequence[str]) -> str:
        """Names in a sentence: "A, B and C"."""
        *most, last = names
        return self.say("{names} and {last}", names=", ".join(most), last=last) if most else last

    def times(self, n: int) -> str:
        """How often: "once", "138 times"."""
        return self.language.count(n, "once", "{n} times", n=str(n))


PLURALS = {"arm": "arms", "task": "tasks", "success": "successes", "failure": "failures"}


@dataclass(frozen=True)
class Spoken(Vocabulary):
    """The words of a plan in another language: those of the user, and its own for what the user has no word for.

    It is not kept in any file: `own` is.
    """

    spoken: Language = field(default_factory=Language)
    users: Vocabulary = field(default_factory=Vocabulary)

    @property
    def language(self) -> Language:
        """The language of the sentences around the words."""
        return self.spoken

    @property
    def own(self) -> Vocabulary:
        """The words as the user gave them."""
        return self.users


def spoken_words(users: Vocabulary, spoken: Language) -> Vocabulary:
    """The words of a user in a language; what the user has no word for has the word of the language.

    >>> words = spoken_words(Vocabulary(arm="Behandlung"), language("de"))
    >>> words.arm, words.give, words.counted(3, "arm"), words.counted(3, "task")
    ('Behandlung', 'Geben Sie', '3 × Behandlung', '3 Typen')
    """
    if spoken.is_english:
        return users.own
    usual, plain, users = _usual_words(spoken), Vocabulary(), users.own
    found = {
        name: word for name in usual if (word := getattr(users, name)) not in (getattr(plain, name), OURS.get(name))
    }
    for name, many in PLURALS.items():
        if name in found:
            found.setdefault(many, None)
    return Spoken(**{**usual, **found, "spoken": spoken, "users": users})


OURS = {"arm": "option", "task": "kind"}  # These are no words of a user either: people are shown them by default.


@cache
def _usual_words(spoken: Language) -> dict[str, str]:
    """The words of a language where the user has none."""
    return {
        "arm": spoken.meant("word", "arm"),
        "arms": spoken.meant("word", "arms"),
        "task": spoken.meant("word", "task"),
        "tasks": spoken.meant("word", "tasks"),
        "success": spoken.meant("word", "success"),
        "successes": spoken.meant("word", "successes"),
        "failure": spoken.meant("word", "failure"),
        "failures": spoken.meant("word", "failures"),
        "reward": spoken.meant("word", "reward"),
        "give": spoken.meant("word", "Give"),
        "harm": spoken.meant("word", "harm"),
    }


def in_language(plan: "Plan", code: str | Language) -> "Plan":
    """The same plan with its sentences in a language; what is decided and kept in files does not change.

    >>> from banditree import Collection, build_plan
    >>> plan = build_plan(Collection.bernoulli([[0.9, 0.1], [0.1, 0.8]], arms=["A", "B"]), 100, "tree")
    >>> print(str(in_language(plan, "de")).splitlines()[2])
    Feld 1. Geben Sie A 17-mal. Höchstens 8 Erfolge: weiter bei Feld 2. Sonst: weiter bei Feld 3.
    """
    spoken = code if isinstance(code, Language) else language(code)
    return plan if spoken == plan.vocabulary.language else _in_language(plan, spoken)


@lru_cache(maxsize=128)  # A page that is loaded again has the same plan, and what was worked out about it, again.
def _in_language(plan: "Plan", spoken: Language) -> "Plan":
    said = copy(plan)
    object.__setattr__(said, "vocabulary", spoken_words(plan.vocabulary, spoken))
    return said


# A name is printed bare if no reader can take part of it for the sentence around it: it has a letter, and none of the
# marks and phrases that hold a sentence together. Any other name is printed in quotation marks.
HOLDS = r'[;:"\\]|\.(?:\s|$)|^\s|\s$|\s\s|[^\S ]'


@cache
def _marks(spoken: Language) -> re.Pattern[str]:
    """What makes a name need quotation marks in a language."""
    phrases = spoken.meant(
        "words that hold a sentence together, with commas between them",
        "line, box, times, once, then, otherwise, at, above, below, from now on, next, for as long as, start again, "
        "stay with, settle on, hand over, the best of",
    )
    words = "|".join(re.escape(phrase.strip()) for phrase in phrases.split(","))
    # Some languages have spaces between thousands: "Donnez arm 2 178 fois" would be read as 2,178 times.
    ends = "" if spoken.is_english else r"|\d$"
    return re.compile(rf"{HOLDS}|\b(?:{words})\b{ends}", re.IGNORECASE)


def number(value: float) -> str:
    """A number without needless digits that reads back as the same number."""
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(float(value))


def amount(value: float, digits: int = 3) -> str:
    """How much, rounded for people and never with an exponent.

    >>> amount(6.0134), amount(142.6), amount(14316.0), amount(0.004312, digits=2)
    ('6.01', '143', '14,316', '0.0043')
    """
    return f"{value:,.0f}" if abs(value) >= 10 ** (digits - 1) else f"{value:.{digits}g}"


def named(word: str, name: str) -> str:
    """A name after the word for what it is, unless it begins with that word: "task mild", "task 3".

    >>> named("task", "mild"), named("task", "task 3")
    ('task mild', 'task 3')
    """
    return name if name.lower().startswith(word.lower()) else f"{word} {name}"


def quoted(name: str, marks: re.Pattern[str] | None = None) -> str:
    """A name of the user as it stands in a sentence: bare where nobody can misread it, else in quotation marks.

    >>> print(quoted("Aspirin 100 mg"), quoted("next line"), quoted("7"), quoted("St. John's wort"))
    Aspirin 100 mg "next line" "7" "St. John's wort"
    """
    held = (marks or _marks(Language())).search(name)
    plain = name.isprintable() and any(map(str.isalpha, name)) and not held
    return name if plain else json.dumps(name, ensure_ascii=not name.isprintable())


def times(n: int) -> str:
    """How often: "once", "138 times"."""
    return "once" if n == 1 else f"{n} times"


def capital(text: str) -> str:
    """With a capital first letter, the rest as it is."""
    return text[:1].upper() + text[1:]


def with_article(word: str) -> str:
    """A noun with its article: "an option", "a treatment"."""
    return f"{'an' if word[:1].lower() in 'aeiou' else 'a'} {word}"


def harm_noun(words: Vocabulary) -> str:
    """Harm as the subject of a sentence: "a side effect", "harm"."""
    return with_article(words.harm) if words.harm and words.language.is_english else words.harmful


def signed(points: int) -> str:
    """Points with their sign: "+2", "-3", "0"."""
    return f"{points:+d}" if points else "0"


def vocabulary_from(pairs: dict[str, str]) -> Vocabulary:
    """A vocabulary with some words replaced, as in {"arm": "treatment", "task": "patient group"}."""
    known = Vocabulary.__dataclass_fields__
    for key, word in pairs.items():
        if key not in known:
            raise invalid("a word of the vocabulary", f"one of {', '.join(known)}", key)
        if not word.strip():
            raise invalid(f"the word for {key!r}", "text that is not empty", word)
    return Vocabulary(**pairs)
