from pathlib import Path

import pytest

from banditree.files.schemas import DOCUMENTS, schema_text

PUBLISHED = Path(__file__).parents[2] / "docs" / "schemas"


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_the_published_schema_is_the_one_in_force(kind):
    """Out of date? python -m banditree.files.schemas docs/schemas"""
    assert (PUBLISHED / f"{kind}.schema.json").read_text() == schema_text(kind)
