"""What is kept of a case between sessions, as plain JSON data: its rounds, and the state of its policy."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from banditree.errors import InvalidInput, invalid
from banditree.policies.rounds import MISSING, Missing, Round

SCHEMA = "banditree/session/1"
ADDED = ("against", "fit")  # parts of a state that older snapshots lack: nothing is then known about them


def state_to_json(state: Any) -> dict[str, Any]:
    """The state of a policy as plain JSON data."""
    return {
        name: value.tolist() if isinstance(value, np.ndarray) else state_to_json(value)
        for name, value in state._asdict().items()
    }


def fill_state(state: Any, data: Mapping[str, Any]) -> None:
    """Bring a new state to where `state_to_json` was taken."""
    for name, value in state._asdict().items():
        if isinstance(value, np.ndarray):
            if name not in data and name in ADDED:
                continue
            found = np.array(data[name], dtype=value.dtype).reshape(value.shape)
            if not np.isfinite(found).all():
                raise ValueError(f"{name} is not a number")
            value[...] = found
        else:
            fill_state(value, data[name])


def round_to_json(entry: Round) -> dict[str, Any]:
    """A round as plain JSON data."""
    data = asdict(entry)
    if entry.harm is None:
        del data["harm"]
    if isinstance(entry.reward, Missing):
        data["reward"] = entry.reward.value
    return data


def round_from_json(data: Mapping[str, Any]) -> Round:
    """The round that `round_to_json` was taken of."""
    reward = MISSING if data["reward"] == MISSING.value else data["reward"]
    tallied = data.get("tallied", reward not in (None, MISSING))  # snapshots before overrides did not say
    return Round(data["arm"], data["context"], reward, data.get("overridden", False), tallied, data.get("harm"))


def check_origin(snapshot: Mapping[str, Any], policy: str) -> None:
    """Refuse a snapshot of a later banditree, of another policy, or of something else."""
    given = str(snapshot.get("schema"))
    if given.startswith("banditree/session/") and given != SCHEMA:  # there has been only one version so far
        raise InvalidInput(
            f"The snapshot was taken by a newer banditree ({given}; this one reads {SCHEMA}). Upgrade it."
        )
    if given != SCHEMA or snapshot.get("policy") != policy:
        rule = f"one of schema {SCHEMA} and policy {policy}"
        raise invalid("snapshot", rule, (snapshot.get("schema"), snapshot.get("policy")))
