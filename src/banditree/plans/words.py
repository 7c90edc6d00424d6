"""Words and numbers as they stand in the sentences of a plan: counts, names that need quotation marks."""

import json
import re
from dataclasses import dataclass
from typing import ClassVar

from banditree.errors import invalid


class Part:
    """What a plan file is made of: nothing unknown in it, and no NaN or infinity."""

    __pydantic_config__: ClassVar[dict[str, object]] = {"extra": "forbid", "allow_inf_nan": False}


@dataclass(frozen=True)
class Vocabulary(Part):
    """The user's words for an arm, a task, a reward of 1 and of 0, a reward, the verb of a pull, and harm."""

    arm: str = "arm"
    task: str = "task"
    success: str = "success"
    failure: str = "failure"
    reward: str = "reward"
    give: str = "Give"
    harm: str | None = None

    @property
    def harmful(self) -> str:
        """The word for the second outcome, such as "side effect"; "harm" where the user has none."""
        return self.harm or "harm"


# A name is printed bare if no reader can take part of it for the sentence around it: it has a letter, and none of the
# marks and phrases that hold a sentence together. Any other name is printed in quotation marks.
MARKS = re.compile(
    r'[;:"\\]|\.(?:\s|$)|^\s|\s$|\s\s|[^\S ]|\b(?:line|box|times|once|then|otherwise|at|above|below|from now on|next'
    r"|for as long as|start again|stay with|settle on|hand over|the best of)\b",
    re.IGNORECASE,
)


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


def quoted(name: str) -> str:
    """A name of the user as it stands in a sentence: bare where nobody can misread it, else in quotation marks.

    >>> print(quoted("Aspirin 100 mg"), quoted("next line"), quoted("7"), quoted("St. John's wort"))
    Aspirin 100 mg "next line" "7" "St. John's wort"
    """
    plain = name.isprintable() and any(map(str.isalpha, name)) and not MARKS.search(name)
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
    return with_article(words.harm) if words.harm else "harm"


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
