"""What the studio asks jobs for: the settings of each, from what a draft says."""

from typing import Any

from banditree.service.jobs.models import EvaluateOnFile, LearnOnFile, SearchSettings
from banditree.service.studio.content import Content, Log, Parts

FAMILIES = {"yes or no": "bernoulli", "grades": "graded", "number": "gaussian"}
BY_MEANS = {**FAMILIES, "grades": "gaussian"}  # What kinds are worth is about their means, also those of grades.
MOST_KINDS = 6  # Up to this many kinds are compared.


def learn_settings(log: Log, parts: Parts, n_kinds: int | None) -> dict[str, Any]:
    """How the kinds are learned; n_kinds: how many, or as many as fit best."""
    roles = log.roles.model_dump(include={"task", "individual", "arm", "reward", "propensity"})
    how = {"rewards": FAMILIES[log.outcomes], "drop_bad_rows": log.drop, "kinds": n_kinds}
    return LearnOnFile(file=parts.learn, context=log.contexts, **roles, **how).model_dump(mode="json")


def worth_settings(log: Log, parts: Parts) -> dict[str, Any]:
    """How it is found out what each number of kinds is worth."""
    roles = log.roles.model_dump(include={"individual", "arm", "reward", "time", "propensity"})
    how = {"rewards": BY_MEANS[log.outcomes], "drop_bad_rows": log.drop, "kinds": list(range(2, MOST_KINDS + 1))}
    return {"file": parts.learn, **roles, "context": log.contexts, **how, "seed": 0}


def search_settings(content: Content, collection: str) -> SearchSettings:
    """How plans are searched for, within the limits that a person gave."""
    limits = content.limits
    return SearchSettings(
        collection=collection,
        horizon=content.horizon,
        lines=limits.lines,
        forward_only=not limits.restarts,
        links_back=limits.links_back,
        objective=limits.objective,
        max_wrong_arm=limits.wrong,
        washout=limits.washout,
        max_harm=limits.harm,
        not_again=limits.not_again,
        rule_size=limits.rule if content.log is not None and content.log.contexts else None,
        max_loss=limits.most,
        ask=limits.ask,
        words=content.words,
    )


def evaluate_settings(content: Content, plan: str) -> dict[str, Any] | None:
    """How a plan is judged on the cases held out; None where there are none."""
    if content.log is None or content.parts is None or content.parts.held is None:
        return None
    roles = content.log.roles.model_dump(include={"individual", "arm", "reward", "time", "propensity"})
    how = {"drop_bad_rows": content.log.drop, "design": content.log.design}
    return EvaluateOnFile(plan=plan, file=content.parts.held, **roles, **how).model_dump(mode="json")
