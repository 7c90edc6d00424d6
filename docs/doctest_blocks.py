"""Shows the examples in docstrings as code: Markdown would take `>>>` for quotations."""

from typing import Any

from griffe import Extension, Object


class DoctestBlocks(Extension):
    """Puts every run of `>>>` lines and what they print into a code block."""

    def on_object(self, *, obj: Object, **_kwargs: Any) -> None:
        """Rewrite the docstring of a class, function, module or attribute."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(text: str) -> str:
    """The text with doctest examples in fenced blocks.

    >>> fenced("What it is.\\n>>> 1 + 1\\n2").splitlines()
    ['What it is.', '', '```pycon', '>>> 1 + 1', '2', '```']
    """
    lines: list[str] = []
    inside = False
    for line in text.splitlines():
        if not inside and line.startswith(">>>"):
            lines += ["", "```pycon"] if lines and lines[-1] else ["```pycon"]
            inside = True
        elif inside and not line.strip():
            lines.append("```")
            inside = False
        lines.append(line)
    return "\n".join([*lines, "```"] if inside else lines)
