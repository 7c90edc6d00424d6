"""The options of a policy: checked by name where its parameters are made."""

from collections.abc import Mapping
from typing import Any

from banditree.errors import invalid


def take_options(given: Mapping[str, Any], **defaults: Any) -> dict[str, Any]:
    """The options with their defaults filled in, or an error that names those which exist.

    >>> take_options({"delta": 0.5}, delta=1.0)
    {'delta': 0.5}
    """
    if unknown := sorted(given.keys() - defaults.keys()):
        names = ", ".join(defaults) if defaults else "omitted: this policy has none"
        raise invalid("options", f"among {names}" if defaults else names, unknown)
    return {**defaults, **given}
