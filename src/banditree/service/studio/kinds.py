"""The kinds of a draft: from rates at once, from a log by a job; with the names that a person gave them."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from banditree.errors import InvalidInput
from banditree.files.collections import CollectionFile, collection_document, collection_from_document
from banditree.files.documents import dump, parse
from banditree.service.problems import Refused
from banditree.service.store import records
from banditree.service.store.database import Connection
from banditree.service.store.studies import Study, change_study
from banditree.service.studio.content import Content
from banditree.service.studio.rates import collection_of_rates
from banditree.tasks.changes import without_arms
from banditree.tasks.collection import Collection


def kinds_of(content: Content, learned: dict[str, Any] | None) -> Collection:
    """The collection of a draft under the names that were given to its kinds; learned: what the job gave for a log."""
    if content.rates is not None:
        found = collection_of_rates(content.rates)
    else:
        assert learned is not None
        found = collection_from_document(parse(CollectionFile, learned["collection"], "The kinds"), "The kinds")
    if len(content.names) != found.n_tasks:
        return found
    try:
        return replace(found, tasks=tuple(content.names))
    except InvalidInput as problem:
        raise Refused(f"Names of kinds: {problem}") from None


def keep_kinds(connection: Connection, actor: str, study: Study, content: Content, kinds: Collection) -> None:
    """Put the kinds of a draft on record as a collection, and go on with it."""
    id, text = records.read_collection(as_document(kinds))
    records.add_collection(connection, actor, study.name, id, text)
    change_study(connection, actor, study.id, study.version, content.model_copy(update={"collection": id}))


def without_options(collection: Collection, names: Sequence[str]) -> Collection:
    """The collection without some options."""
    if len(set(collection.arms) - set(names)) < 2:
        raise Refused("At least two options must be left to choose from.")
    return without_arms(collection, names)


def keep_smaller(connection: Connection, actor: str, name: str, kinds: Collection, without: Sequence[str]) -> str:
    """Put a collection without some options on record; its id."""
    id, text = records.read_collection(as_document(kinds))
    return records.add_collection(connection, actor, f"{name}, without {', '.join(without)}"[:100], id, text)


def as_document(collection: Collection) -> Any:
    """A collection as its file has it."""
    return json.loads(dump(collection_document(collection)))
