"""The settings of a simulation."""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from banditree.settings import Horizon, Numbers, Settings


class Device(StrEnum):
    """Where to simulate; auto: on a GPU if there is one, for the players that can go there and have enough to do."""

    CPU = "cpu"
    GPU = "gpu"
    AUTO = "auto"


class SimulateSettings(Settings):
    """How long, how often and where policies are simulated."""

    horizon: Horizon
    runs: Annotated[int, Field(ge=1, description="Runs per policy and task.")] = 100
    seed: Annotated[int, Field(ge=0, description="Same seed, same results.")] = 0
    rounds: Annotated[
        Numbers | None, Field(description="Rounds to record, as in 100,1000,10000. [default: 200 of them]")
    ] = None
    workers: Annotated[int | Literal["joblib"] | None, Field(description="Threads. [default: all cores]")] = None
    device: Annotated[
        Device, Field(description="Where to simulate; auto: on a GPU where there is one and it pays.")
    ] = Device.CPU
