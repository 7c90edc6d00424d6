"""The settings of certifying a plan: what to work out besides its promise."""

from typing import Annotated

from pydantic import Field

from banditree.settings import Settings


class CertifySettings(Settings):
    """What is asked about a plan; 0 omits a question."""

    horizon: Annotated[int | None, Field(ge=1, le=10**9, description="Rounds of one case. [default: the plan's]")] = (
        None
    )
    allow: Annotated[float, Field(ge=0, lt=1, description="Also for cases whose rates are off by up to this.")] = 0.0
    unknown: Annotated[
        float, Field(ge=0, lt=1, description="Also with this share of cases that belong to none of the tasks.")
    ] = 0.0
    late: Annotated[int, Field(ge=0, description="Also for outcomes that come this many rounds late.")] = 0
    batch: Annotated[int, Field(ge=0, description="Also for outcomes that come in batches of this many rounds.")] = 0
    unlucky: Annotated[
        int,
        Field(
            ge=0,
            le=1_000_000,
            description="Cases of each task to simulate for what the unlucky lose, where that cannot be computed.",
        ),
    ] = 1_000
    limit_seconds: Annotated[
        float, Field(ge=0, description="About how long to look for the loss that no algorithm can avoid.")
    ] = 1.0
