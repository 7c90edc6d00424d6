"""`fit` with the conventions of scikit-learn: an estimator for panels that predicts the next option of a case."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from banditree.cases.table import Cases
from banditree.errors import InvalidInput, lacking
from banditree.evaluation.fit import fit
from banditree.evaluation.replay import replay
from banditree.tasks.arrays import FloatArray, IntArray
from banditree.tasks.contexts import INTERCEPT, Feature

try:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data
except ImportError:
    raise lacking("PlanClassifier needs scikit-learn", "sklearn") from None

NEEDED = 20  # With fewer cases nothing can be held out, and the option that is right most often is all that is found.

Column = str | int


class PlanClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A plan as a classifier: each row of X is a round of a case, and y the option that was right in it.

    case: the column of X that says whose round it is, by name (in a frame) or place; rows of a case are in order. None:
    every row is a case of its own. previous: the column that says which option was right in the round before of the
    same case, from which the plan keeps its score; anything else where that is not known. All other columns are
    contexts, and must be numbers. score is the share of rounds in which following the plan gives the right option.

    plan_ is the plan, fit_ all that `fit` says about it, with its verdict on the cases that it held out.
    """

    def __init__(
        self,
        case: Column | None = None,
        previous: Column | None = None,
        horizon: int | None = None,
        kinds: Sequence[int] = (2, 3, 5),
        lines: Sequence[int] = (1, 2, 3, 4, 6, 9),
        folds: int = 5,
        seed: int = 0,
    ) -> None:
        self.case = case
        self.previous = previous
        self.horizon = horizon
        self.kinds = kinds
        self.lines = lines
        self.folds = folds
        self.seed = seed

    def fit(self, X: Any, y: Any) -> "PlanClassifier":
        """Choose and make the plan."""
        case, _, context, names = self._parts(X, y, reset=True)
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        self.classes_, right = np.unique(np.asarray(y), return_inverse=True)
        if len(self.classes_) < 2:
            raise InvalidInput("y must have at least two classes. Got one class, so there is nothing to choose.")
        self._only = None
        cases = self._cases(case, context, names, np.eye(len(self.classes_))[right])
        if cases.n_cases < NEEDED:
            self._only = self.classes_[np.bincount(right).argmax()]
            return self
        horizon = self.horizon or int(cases.n_rounds.max())
        how: dict[str, Any] = {
            "kinds": tuple(self.kinds),
            "lines": tuple(self.lines),
            "folds": self.folds,
            "seed": self.seed,
        }
        self.fit_ = fit(cases, horizon, **how)
        self.plan_ = self.fit_.plan
        return self

    def predict(self, X: Any) -> Any:
        """The option that the plan gives in each round, by the contexts and what the rounds before it showed."""
        check_is_fitted(self, "classes_")
        case, previous, context, names = self._parts(X, None, reset=False)
        if self._only is not None:
            return np.full(len(context), self._only)
        order = np.argsort(case, kind="stable")
        known = np.full((len(case), len(self.classes_)), np.nan)
        if previous is not None:
            later = order[1:][case[order[1:]] == case[order[:-1]]]
            earlier = order[:-1][case[order[1:]] == case[order[:-1]]]
            known[earlier] = previous[later, None].astype(str) == self.classes_.astype(str)
        cases = self._cases(case, context if self.plan_.features else None, names, known)
        chosen = np.empty(len(case), np.int64)
        chosen[order] = replay(self.plan_, cases, int(cases.n_rounds.max())).chosen
        places = [int(name) for name in self.plan_.arms]
        return self.classes_[np.array(places)[chosen]]

    def _parts(self, X: Any, y: Any, *, reset: bool) -> tuple[IntArray, Any, FloatArray, list[str]]:
        """The number of the case of each row, what was right before it, the contexts, and their names."""
        aside = [column for column in (self.case, self.previous) if column is not None]
        if not aside:
            checked = validate_data(self, X, y, reset=reset) if y is not None else validate_data(self, X, reset=reset)
            context = checked[0] if y is not None else checked
            return np.arange(len(context)), None, context, [f"x{k}" for k in range(context.shape[1])]
        taken = {column: np.asarray(_column(X, column)) for column in aside}
        case = np.arange(len(X)) if self.case is None else np.unique(taken[self.case], return_inverse=True)[1]
        rest = _without(X, aside)
        context = np.asarray(rest, float).reshape(len(case), -1)
        names = [str(name) for name in getattr(rest, "columns", [f"x{k}" for k in range(context.shape[1])])]
        previous = None if self.previous is None else taken[self.previous]
        return case, previous, context, names

    def _cases(self, case: IntArray, context: FloatArray | None, names: list[str], outcomes: FloatArray) -> Cases:
        order = np.argsort(case, kind="stable")
        first = np.concatenate([[0], np.cumsum(np.bincount(case))])
        about: dict[str, Any] = {}
        if context is not None and context.shape[1]:
            about["contexts"] = np.column_stack([np.ones(len(case)), context])[order]
            about["features"] = (Feature(INTERCEPT), *map(Feature, names))
        arms = tuple(str(k) for k in range(outcomes.shape[1]))
        return Cases(tuple(map(str, range(len(first) - 1))), arms, first, outcomes[order], **about)


def _column(X: Any, column: Column) -> Any:
    if hasattr(X, "columns"):
        if column not in X.columns:
            raise InvalidInput(f"Column {column!r} is not in X. It has: {', '.join(map(str, X.columns))}.")
        return X[column]
    if not isinstance(column, int):
        raise InvalidInput(f"Columns of an array are named by their place. Got {column!r}. Give a frame, or a number.")
    return np.asarray(X)[:, column]


def _without(X: Any, columns: Sequence[Column]) -> Any:
    if hasattr(X, "columns"):
        return X.drop(columns=list(columns)) if hasattr(X, "iloc") else X.drop(*columns)
    kept = [place for place in range(np.asarray(X).shape[1]) if place not in columns]
    return np.asarray(X)[:, kept]
