"""Collections in files: JSON, and CSV for a plain matrix of means."""

from dataclasses import asdict
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import Field

from banditree.errors import InvalidInput
from banditree.files.documents import Document, Part, dump, parse, read_json, write_text
from banditree.files.harm import with_harm_rows
from banditree.files.matrix import is_about_harm, read_matrix
from banditree.files.states import has_states, save_states, states_from_csv, states_from_json
from banditree.files.worth import with_rows
from banditree.tasks.arrays import FloatArray
from banditree.tasks.collection import Collection
from banditree.tasks.contexts import ContextKind, Contexts, Feature
from banditree.tasks.harm import Harm
from banditree.tasks.rewards import Family, Link, Rewards, make_rewards
from banditree.tasks.states import StateCollection
from banditree.tasks.worth import Worth


class RewardsPart(Part):
    """The distribution of the rewards."""

    family: Family
    low: float | None = Field(None, description="least reward; bounded rewards only")
    high: float | None = Field(None, description="greatest reward; bounded rewards only")
    values: list[float] | None = Field(None, description="the possible rewards, in order; graded rewards only")
    names: list[str] | None = Field(None, description="what people call them; graded rewards only")
    sigma: float | None = Field(None, description="standard deviation of the noise; Gaussian rewards only")
    link: Link | None = Field(None, description="how a mean follows from x'theta, if not linearly; 0/1 rewards only")


class FeaturePart(Part):
    """One entry of a context: a number, "(intercept)", or "column `name` equals `level`"."""

    name: str
    level: str | None = None
    levels: list[str] | None = Field(None, description="all values the column may take")
    per_case: bool | None = Field(None, description="whether it stays the same for a whole case")


class ContextsPart(Part):
    """The distribution of the contexts."""

    kind: ContextKind
    features: list[FeaturePart]
    mean: list[float]
    covariance: list[list[float]]
    rows: list[list[float]] | None = None


class WorthPart(Part):
    """What each outcome of each arm is worth, prices taken off, and what a change of arm costs."""

    unit: str = Field(description='what it is counted in, such as "EUR"')
    outcomes: list[list[float]] = Field(
        description="by arm and outcome, lowest first: 0 and 1, the values, or the ends"
    )
    change: float = Field(0.0, description="what giving another arm than in the round before costs")


class HarmPart(Part):
    """A second outcome of a round, 0 or 1, such as a side effect."""

    rates: list[list[float]] = Field(description="chance of it in one round, a row per task and a column per arm")
    within: float | list[list[float]] = Field(0.0, description="how far each rate may be from the truth; 0: known")


class CollectionFile(Document):
    """M tasks x K arms: what is known about the kinds of cases."""

    schema_: Literal["banditree/collection/1", "banditree/collection/2"] = Field(
        "banditree/collection/2", alias="schema"
    )
    tasks: list[str]
    arms: list[str]
    rewards: RewardsPart
    means: list[list[float]] = Field(description="mean rewards, a row per task and a column per arm")
    radius: float | list[list[float]] = Field(0.0, description="how far each mean may be from the truth; 0: known")
    theta: list[list[list[float]]] | None = Field(None, description="parameters by task, arm and feature")
    contexts: ContextsPart | None = None
    provenance: str = "known"
    counts: list[list[int]] | None = Field(None, description="how many rewards each mean was estimated from")
    shares: list[float] | None = Field(None, description="shares of the tasks among cases; none: unknown")
    spread: list[list[float]] | None = Field(
        None, description="standard deviation of a case's own mean around its task's; none: all cases are alike"
    )
    chances: list[list[list[float]]] | None = Field(None, description="of each value, by task and arm; graded rewards")
    noise: list[list[float]] | None = Field(
        None, description="standard deviation of the noise by task and arm, where it differs; Gaussian rewards only"
    )
    worth: WorthPart | None = Field(None, description="none: outcomes are worth what they are")
    theta_error: list[list[list[list[float]]]] | None = Field(
        None, description="x'theta is within sqrt(x'Ex) of the estimate, for every context x at once"
    )
    harm: HarmPart | None = Field(None, description="a second outcome, such as a side effect; none: nothing is known")


def load_collection(path: str | Path) -> Collection:
    """The collection in a JSON file, or in a CSV matrix of Bernoulli means (rows are tasks, columns are arms).

    With states (`files.states`) a CSV table has a row per task, state and arm.
    """
    path = Path(path)
    if path.suffix.lower() == ".json":
        data = read_json(path)
        if isinstance(data, dict) and str(data.get("schema")).startswith("banditree/states/"):
            return states_from_json(data, str(path))
        return collection_from_document(parse(CollectionFile, data, str(path)), str(path))
    if path.suffix.lower() == ".csv":
        if has_states(path):
            return states_from_csv(path)
        tasks, arms, means, more = read_matrix(path)
        try:
            rates = Collection.bernoulli(means, tasks=tasks, arms=arms, provenance=f"known, from {path.name}")
        except InvalidInput as problem:
            raise InvalidInput(f"{path}: {problem}") from None
        on_harm = [row for row in more if is_about_harm(row.fields[0])]
        return with_harm_rows(with_rows(rates, [row for row in more if row not in on_harm]), on_harm)
    raise InvalidInput(f"{path}: a collection is a .json or a .csv file. Rename it or save it as one of these.")


def save_collection(collection: Collection, path: str | Path) -> None:
    """Write a collection as JSON."""
    if isinstance(collection, StateCollection):
        save_states(collection, Path(path))
        return
    write_text(Path(path), dump(collection_document(collection)))


def collection_document(collection: Collection) -> CollectionFile:
    """The collection as it is written."""
    contexts = collection.contexts
    return CollectionFile(
        tasks=list(collection.tasks),
        arms=list(collection.arms),
        rewards=rewards_part(collection.rewards),
        means=collection.means.tolist(),
        radius=_one_or_all(collection.radius),
        theta=None if collection.theta is None else collection.theta.tolist(),
        contexts=None if contexts is None else _contexts_part(contexts),
        provenance=collection.provenance,
        counts=None if collection.counts is None else collection.counts.tolist(),
        shares=None if collection.shares is None else collection.shares.tolist(),
        spread=None if collection.spread is None else collection.spread.tolist(),
        chances=None if collection.chances is None else collection.chances.tolist(),
        theta_error=None if collection.theta_error is None else collection.theta_error.tolist(),
        noise=None if collection.noise is None else collection.noise.tolist(),
        worth=worth_part(collection.worth),
        harm=None if collection.harm is None else _harm_part(collection.harm),
    )


def _one_or_all(values: FloatArray) -> float | list[list[float]]:
    """One number where all are the same."""
    same = np.unique(values)
    every: list[list[float]] = values.tolist()
    return float(same[0]) if same.size == 1 else every


def _harm_part(harm: Harm) -> HarmPart:
    return HarmPart(rates=harm.rates.tolist(), within=_one_or_all(harm.within))


def collection_from_document(document: CollectionFile, source: str) -> Collection:
    """The collection that a file describes; `source` names the file in errors."""
    try:
        return Collection(
            means=np.array(_rectangular(document.means)),
            tasks=tuple(document.tasks),
            arms=tuple(document.arms),
            rewards=rewards_from_part(document.rewards),
            contexts=None if document.contexts is None else _contexts_from_part(document.contexts),
            theta=None if document.theta is None else np.array(document.theta),
            radius=np.array(document.radius),
            provenance=document.provenance,
            counts=None if document.counts is None else np.array(document.counts),
            shares=None if document.shares is None else np.array(document.shares),
            spread=None if document.spread is None else np.array(document.spread),
            chances=None if document.chances is None else np.array(document.chances),
            theta_error=None if document.theta_error is None else np.array(document.theta_error),
            noise=None if document.noise is None else np.array(document.noise),
            worth=worth_from_part(document.worth),
            harm=None if document.harm is None else Harm.of(document.harm.rates, document.harm.within),
        )
    except ValueError as problem:
        raise InvalidInput(f"{source}: {problem}") from None


def _rectangular(rows: list[list[float]]) -> list[list[float]]:
    for number, row in enumerate(rows, 1):
        if len(row) != len(rows[0]):
            raise InvalidInput(f"means must be a table. Row {number} has {len(row)} numbers and row 1 {len(rows[0])}.")
    return rows


def rewards_part(rewards: Rewards) -> RewardsPart:
    """The reward family as it is written."""
    return RewardsPart(family=rewards.family, **rewards.written())


def rewards_from_part(part: RewardsPart) -> Rewards:
    """The reward family that a file describes."""
    return make_rewards(part.family, **part.model_dump(exclude={"family"}, exclude_none=True))


def worth_part(worth: Worth | None) -> WorthPart | None:
    """The worth as it is written."""
    return None if worth is None else WorthPart(**asdict(worth))


def worth_from_part(part: WorthPart | None) -> Worth | None:
    """The worth that a file describes."""
    return None if part is None else Worth(**part.model_dump())


def features_part(features: tuple[Feature, ...]) -> list[FeaturePart]:
    """The features as they are written."""
    return [
        FeaturePart(
            name=feature.name,
            level=feature.level,
            levels=list(feature.levels) or None,
            per_case=feature.per_case or None,
        )
        for feature in features
    ]


def features_from_part(parts: list[FeaturePart]) -> tuple[Feature, ...]:
    """The features that a file describes."""
    return tuple(Feature(part.name, part.level, tuple(part.levels or ()), bool(part.per_case)) for part in parts)


def _contexts_part(contexts: Contexts) -> ContextsPart:
    return ContextsPart(
        kind=contexts.kind,
        features=features_part(contexts.features),
        mean=contexts.mean.tolist(),
        covariance=contexts.covariance.tolist(),
        rows=None if contexts.rows is None else contexts.rows.tolist(),
    )


def _contexts_from_part(part: ContextsPart) -> Contexts:
    rows = None if part.rows is None else np.array(part.rows)
    features = features_from_part(part.features)
    return Contexts(part.kind, features, np.array(part.mean), np.array(part.covariance), rows)
