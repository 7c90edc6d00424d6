"""Messages of the library in the words of the command line: `drop_bad_rows=True` is --drop-bad-rows there."""

import re
from collections.abc import Iterable

# Arguments of the library whose option has another name.
RENAMED = {"rule": "no-rule", "n_classes": "classes", "separation": "merge", "sample_size": "keep-sample"}
ARGUMENT = re.compile(r"\b([a-z][a-z_]*)=(True|False|\"[^\"]*\"|\d[\d.]*)|^([a-z][a-z_]*)(?= must be )")


def in_flags(message: str, options: Iterable[str]) -> str:
    """The message with the arguments that the command has an option for written as options.

    Arguments are what it says argument=value of, and what it begins with, as `errors.invalid` does.

    >>> in_flags('Drop them: drop_bad_rows=True, or untried="borrow".', ["--drop-bad-rows", "--untried"])
    'Drop them: --drop-bad-rows, or --untried borrow.'
    >>> in_flags('max_boxes must be omitted with method="tree".', ["--max-boxes", "--method"])
    '--max-boxes must be omitted with --method tree.'
    """
    known = set(options)

    def flag(match: re.Match[str]) -> str:
        name, value = match[1] or match[3], (match[2] or "True").strip('"')
        names = [given for given in (name.replace("_", "-"), RENAMED.get(name, "")) if f"--{given}" in known]
        if not names:
            return match[0]
        off = "no-" if value == "False" else ""
        return f"--{off}{names[0]}" + ("" if value in ("True", "False") else f" {value}")

    return ARGUMENT.sub(flag, message)
