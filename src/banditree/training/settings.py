"""The settings of learning again from a plan's own cases."""

from typing import Annotated

from pydantic import Field

from banditree.settings import Settings


class RelearnSettings(Settings):
    """How the cases of a plan are added to what its log told."""

    failure_probability: Annotated[
        float,
        Field(gt=0, lt=1, description="Chance that any of the new margins ever fails, however often you relearn."),
    ] = 0.05
    log_weight: Annotated[
        float, Field(ge=0, le=1, description="Weight of a row of the log; less than 1 where rates have changed.")
    ] = 1.0
