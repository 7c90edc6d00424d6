"""What a protocol may be."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """The most lines, the most lines one after the other (None: any), and what else is allowed.

    rule: a safety rule. restarts: "start again at line 1", in lines and by the rule. links_back: exits that lead back
    to any line.
    """

    lines: int
    longest_path: int | None = None
    rule: bool = True
    restarts: bool = True
    links_back: bool = False
