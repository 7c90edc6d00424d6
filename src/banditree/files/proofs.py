"""Proofs in files: what a certificate claims, sealed together with the plan and the collection that it is about.

Whoever checks one works the numbers out again, in whole numbers and without banditree: `conformance/check_proof.py`.
"""

import hashlib
import json
from contextlib import suppress
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import Field

from banditree.certificates.certify import Certificate
from banditree.certificates.unlucky import SHARES
from banditree.errors import InvalidInput, invalid
from banditree.files.collections import collection_document
from banditree.files.documents import Document, Part, dump, read_text, write_text
from banditree.files.plans import plan_json
from banditree.plans.plan import Plan
from banditree.tasks.collection import Collection
from banditree.tasks.rewards import Family

PROVABLE = (Family.BERNOULLI, Family.GRADED)
MOST_ROUNDS = 1_000_000  # A checker carries every round.


class ClaimPart(Part):
    """The numbers of a case of one task."""

    task: str
    regret: float
    wrong_arm: float
    harm: float | None = None
    unlucky: dict[str, tuple[float, float]] | None = Field(
        None, description="between which two numbers the loss lies that this share of the cases does not exceed"
    )


class ProofFile(Document):
    """What is claimed of a plan, and of which: fingerprints are the SHA-256 of the JSON with sorted keys and with
    every number that is not whole as a text of its digits."""

    schema_: Literal["banditree/proof/2"] = Field("banditree/proof/2", alias="schema")
    plan: str = Field(description="fingerprint of the plan")
    collection: str = Field(description="fingerprint of the collection")
    horizon: int = Field(description="rounds of one case")
    tasks: list[ClaimPart] = Field(description="what is claimed, task by task")
    seal: str | None = Field(None, description="fingerprint of everything above")


def proof_json(plan: Plan, collection: Collection, certificate: Certificate) -> str:
    """The text of a proof file.

    >>> from banditree import build_tree, certify
    >>> two = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]])
    >>> plan = build_tree(two, horizon=1000)
    >>> json.loads(proof_json(plan, two, certify(plan, two)))["tasks"][1]["task"]
    'task 2'
    """
    _check_provable(plan, collection, certificate.horizon)
    harm = [None] * collection.n_tasks if certificate.harm is None else certificate.harm.tolist()
    unlucky = certificate.unlucky
    between = (
        np.full((collection.n_tasks, 0, 2), 0.0) if unlucky is None else np.stack([unlucky.least, unlucky.most], 2)
    )
    tails = [dict(zip(map(str, SHARES), row, strict=False)) or None for row in between.tolist()]
    sure = zip(certificate.regret.tolist(), certificate.wrong_arm.tolist(), harm, tails, strict=True)
    proof = ProofFile(
        plan=stamp(plan_json(plan)),
        collection=stamp(_collection_json(collection)),
        horizon=certificate.horizon,
        tasks=[
            ClaimPart(task=task, regret=lost, wrong_arm=wrong, harm=hurt, unlucky=tail)
            for task, (lost, wrong, hurt, tail) in zip(collection.tasks, sure, strict=True)
        ],
    )
    return dump(proof.model_copy(update={"seal": stamp(dump(proof))}))


def save_proof(
    plan: Plan, collection: Collection, certificate: Certificate, path: Path, about: list[Path]
) -> list[Path]:
    """Write a proof. Returns the files of the plan and the collection that it goes with: those that it is about, or
    where these say something else, as a CSV does, new ones beside the proof."""
    write_text(path, proof_json(plan, collection, certificate))
    texts = {"plan": plan_json(plan), "collection": _collection_json(collection)}
    return [
        given if _says(given, text) else _written(path.with_suffix(f".{name}.json"), text)
        for given, (name, text) in zip(about, texts.items(), strict=True)
    ]


def _collection_json(collection: Collection) -> str:
    return dump(collection_document(collection))


def stamp(text: str) -> str:
    """The fingerprint of a JSON document, whatever its spaces and the order of its fields."""
    canonical = json.dumps(json.loads(text, parse_float=str), sort_keys=True)
    return hashlib.sha256(canonical.encode()).hexdigest()


def _says(path: Path, text: str) -> bool:
    with suppress(ValueError):
        return stamp(read_text(path)) == stamp(text)
    return False


def _written(path: Path, text: str) -> Path:
    write_text(path, text)
    return path


def _check_provable(plan: Plan, collection: Collection, horizon: int) -> None:
    """Refuse what no checker could follow."""
    harm = collection.harm
    if plan.rewards.family not in PROVABLE:
        raise InvalidInput(f"Proofs are for 0/1 and graded rewards. Got {plan.rewards.family} ones.")
    if plan.theta is not None or collection.theta is not None:
        raise InvalidInput("Proofs are for plans without contexts. Got a plan that looks at them.")
    if plan.outcomes_choose:
        raise InvalidInput("Proofs are for plans that say what to give. In this one what was learned chooses.")
    if collection.is_estimated or (harm is not None and harm.is_estimated):
        raise InvalidInput("Proofs are for known rates. Give --trust-estimates to prove the numbers at the estimates.")
    if harm is not None and plan.on_harm is not None:
        raise InvalidInput("Proofs are for plans that go on after harm. This one bars the option that did it.")
    if horizon > MOST_ROUNDS:
        raise invalid("the horizon of a proof", f"at most {MOST_ROUNDS:,} rounds", horizon)
