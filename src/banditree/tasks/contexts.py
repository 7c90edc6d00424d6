"""Context distributions: one fixed context, Gaussian contexts, moments of a log, or a sample of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import numpy as np

from banditree.errors import InvalidInput, invalid
from banditree.tasks.arrays import BoolArray, FloatArray, frozen_numbers

INTERCEPT = "(intercept)"  # The name of the feature that is always 1.
N_AVERAGED = 20_000  # The contexts that averages are taken over where there is no sample.
SINGULAR = 1e-10  # The smallest eigenvalue of E[xx'], relative to the largest, that still identifies theta.


class ContextKind(StrEnum):
    """What is known about the distribution of the contexts."""

    FIXED = "fixed"
    GAUSSIAN = "gaussian"
    MOMENTS = "moments"
    SAMPLE = "sample"


@dataclass(frozen=True)
class Feature:
    """One entry of the context vector: a number, the constant 1 (`INTERCEPT`), or "column `name` equals `level`".

    `levels` are all values the column may take, also the one that no entry stands for; empty if not known. `per_case`:
    it stays the same for a whole case (the age of a patient); others are drawn again in every round (a price).
    """

    name: str
    level: str | None = None
    levels: tuple[str, ...] = ()
    per_case: bool = False

    def __str__(self) -> str:
        return self.name if self.level is None else f"{self.name}={self.level}"


@dataclass(frozen=True, eq=False)
class Contexts:
    """The distribution of the d-dimensional contexts of a collection, the same for all tasks.

    `mean` (d,) and `covariance` (d, d) are always there; `rows` (n, d) only for SAMPLE: all contexts, or some of a log
    whose mean and covariance are those of all. MOMENTS knows nothing beyond the first two moments; what needs the whole
    distribution treats it as Gaussian and says so.

    >>> age = gaussian_contexts([1.0, 50.0], [[0, 0], [0, 100.0]], [INTERCEPT, "age"])
    >>> age.n_features
    2
    """

    kind: ContextKind
    features: tuple[Feature, ...]
    mean: FloatArray
    covariance: FloatArray
    rows: FloatArray | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean", frozen_numbers("the mean context", self.mean, 1))
        object.__setattr__(self, "covariance", frozen_numbers("the covariance", self.covariance, 2))
        if self.rows is not None:
            object.__setattr__(self, "rows", frozen_numbers("the sample of contexts", self.rows, 2))
        _check(self)

    @property
    def n_features(self) -> int:
        """The dimension d of a context."""
        return len(self.features)

    @property
    def per_case(self) -> BoolArray:
        """Which features (d,) stay the same for a whole case."""
        return np.array([feature.per_case for feature in self.features])

    @property
    def second_moment(self) -> FloatArray:
        """E[x x'], shape (d, d)."""
        return self.covariance + np.outer(self.mean, self.mean)


def _check(contexts: Contexts) -> None:
    d = contexts.mean.shape[0]
    if d == 0:
        raise invalid("contexts", "of at least one feature", 0, "Omit contexts if there are none.")
    if len(contexts.features) != d:
        raise invalid("features", f"{d} names, one per entry of the context", len(contexts.features))
    if contexts.covariance.shape != (d, d):
        raise invalid("the covariance", f"of shape {(d, d)}", contexts.covariance.shape)
    if len(set(contexts.features)) != d:
        raise invalid("features", "all different", [str(feature) for feature in contexts.features])
    if contexts.kind is not ContextKind.FIXED and (involved := _dependent_features(contexts)):
        raise InvalidInput(
            "The context distribution must have an invertible E[xx'], and here a combination of "
            f"{', '.join(involved)} never varies. Remove one of these features."
        )


def _dependent_features(contexts: Contexts) -> list[str]:
    """Features with a combination that never varies, whatever their units and wherever their zero.

    Beside an intercept only the spread around the mean tells two features apart, so it is that which is looked at:
    E[xx'] itself looks singular for a column around 2,000,000 +- 1.
    """
    kept = [index for index, feature in enumerate(contexts.features) if feature.name != INTERCEPT]
    if not kept:
        return []
    matrix = contexts.second_moment if len(kept) == contexts.n_features else contexts.covariance
    matrix = matrix[np.ix_(kept, kept)]
    scale = np.sqrt(np.maximum(matrix.diagonal(), 0.0))
    if (constant := np.flatnonzero(scale == 0)).size:
        return [str(contexts.features[kept[index]]) for index in constant]
    values, vectors = np.linalg.eigh(matrix / np.outer(scale, scale))
    if values[0] > SINGULAR * values[-1]:
        return []
    return [str(contexts.features[kept[index]]) for index in np.flatnonzero(np.abs(vectors[:, 0]) > 1e-6)]


def _features(names: Sequence[str | Feature] | None, d: int) -> tuple[Feature, ...]:
    if names is None:
        return tuple(Feature(f"x{index + 1}") for index in range(d))
    return tuple(name if isinstance(name, Feature) else Feature(str(name)) for name in names)


def fixed_context(x: Any, features: Sequence[str | Feature] | None = None) -> Contexts:
    """The context `x` (d,) at every round."""
    x = frozen_numbers("the context", x, 1)
    return Contexts(ContextKind.FIXED, _features(features, x.size), x, np.zeros((x.size, x.size)))


def gaussian_contexts(mean: Any, covariance: Any, features: Sequence[str | Feature] | None = None) -> Contexts:
    """Normal contexts with this mean (d,) and covariance (d, d)."""
    mean = frozen_numbers("the mean context", mean, 1)
    return Contexts(ContextKind.GAUSSIAN, _features(features, mean.size), mean, covariance)


def moment_contexts(mean: Any, covariance: Any, features: Sequence[str | Feature] | None = None) -> Contexts:
    """Contexts known only by their mean (d,) and covariance (d, d), as a log gives them."""
    mean = frozen_numbers("the mean context", mean, 1)
    return Contexts(ContextKind.MOMENTS, _features(features, mean.size), mean, covariance)


def sampled_contexts(rows: Any, features: Sequence[str | Feature] | None = None) -> Contexts:
    """Contexts drawn with equal chance from the given rows (n, d).

    >>> sampled_contexts([[1.0, 2.0], [1.0, 4.0]]).mean.tolist()
    [1.0, 3.0]
    """
    rows = frozen_numbers("the sample of contexts", rows, 2)
    if rows.shape[0] == 0:
        raise invalid("the sample of contexts", "of at least one row", 0)
    mean = rows.mean(axis=0)
    centred = rows - mean
    covariance = centred.T @ centred / rows.shape[0]
    return Contexts(ContextKind.SAMPLE, _features(features, mean.size), mean, covariance, rows)


def draw_contexts(contexts: Contexts, n: int, rng: np.random.Generator) -> FloatArray:
    """`n` contexts, shape (n, d); MOMENTS are drawn as if they were Gaussian."""
    if contexts.kind is ContextKind.FIXED:
        return np.tile(contexts.mean, (n, 1))
    if contexts.rows is not None:
        return contexts.rows[rng.integers(0, contexts.rows.shape[0], n)]
    return rng.multivariate_normal(contexts.mean, contexts.covariance, n, method="eigh")


def averaging_rows(contexts: Contexts) -> FloatArray:
    """The contexts (n, d) over which averages are taken: the sample, the one context, or 20,000 from a fixed seed."""
    if contexts.rows is not None:
        return contexts.rows
    if contexts.kind is ContextKind.FIXED:
        return contexts.mean[None, :]
    return draw_contexts(contexts, N_AVERAGED, np.random.default_rng(0))


def contexts_of_a_case(contexts: Contexts, x: FloatArray, n_rows: int = 500) -> Contexts:
    """The contexts that a case with the features of `x` (d,) meets; features of a round are drawn as before.

    Features of a case and of a round are taken to be independent of each other.
    """
    features = tuple(replace(feature, per_case=False) for feature in contexts.features)
    own = contexts.per_case
    if all(same or feature.name == INTERCEPT for same, feature in zip(own, features, strict=True)):
        return fixed_context(x, features)
    every = averaging_rows(contexts)
    rows = every[:: max(1, len(every) // n_rows)].copy()
    rows[:, own] = x[own]
    return Contexts(ContextKind.SAMPLE, features, rows.mean(axis=0), contexts.covariance, rows)


def asked_names(features: Sequence[Feature], known: FloatArray | None = None) -> list[str]:
    """The columns of a context that have to be given: all, or those of the round where the case's own are known.

    >>> asked_names([Feature(INTERCEPT), Feature("age", per_case=True), Feature("price")], np.array([1.0, 50.0, 2.1]))
    ['price']
    """
    asked = (f.name for f in features if f.name != INTERCEPT and not (f.per_case and known is not None))
    return list(dict.fromkeys(asked))


def encode(features: Sequence[Feature], values: Mapping[str, Any], known: FloatArray | None = None) -> FloatArray:
    """The context vector (d,) of a case described by names and values.

    known: (d,), an earlier context of the same case, whose own features need not be given again.

    >>> sex = Feature("sex", "m", ("f", "m"))
    >>> encode([Feature(INTERCEPT), Feature("age"), sex], {"age": 50, "sex": "f"}).tolist()
    [1.0, 50.0, 0.0]
    >>> encode([sex], {"sex": "x"})
    Traceback (most recent call last):
        ...
    banditree.errors.InvalidInput: sex must be one of f, m. Got 'x'.
    """
    wanted = {feature.name for feature in features if feature.name != INTERCEPT}
    needed = set(asked_names(features, known))
    if missing := sorted(needed - values.keys()):
        raise invalid("the context", f"given for {', '.join(sorted(needed))}", f"no value for {missing}")
    if unknown := sorted(values.keys() - wanted):
        raise invalid("the context", f"given for {', '.join(sorted(wanted))} only", unknown)
    x = np.empty(len(features))
    for index, feature in enumerate(features):
        if feature.name == INTERCEPT:
            x[index] = 1.0
        elif feature.name not in values and known is not None:
            x[index] = known[index]
        elif feature.level is not None:
            x[index] = _level(feature, values[feature.name])
        else:
            x[index] = _number(feature.name, values[feature.name])
    return x


def _level(feature: Feature, value: Any) -> bool:
    if feature.levels and str(value) not in feature.levels:
        raise invalid(feature.name, f"one of {', '.join(feature.levels)}", value)
    return str(value) == feature.level


def _number(name: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if not np.isfinite(number):
        raise invalid(name, "a finite number", value)
    return number
