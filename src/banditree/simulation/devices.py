"""Where runs are played: on the processor's threads, or on a GPU if there is one and it is worth it."""

from types import FunctionType

from banditree.errors import InvalidInput, how_to_install
from banditree.policies.base import Policy
from banditree.simulation.compiling import makes_arrays
from banditree.simulation.settings import Device

WORTH_A_GPU = 1_000_000_000  # Rounds of one player from which a GPU pays: it takes seconds to compile for it.


def goes_to_gpu(policy: Policy, name: str, rounds: int, device: Device) -> bool:
    """Whether the player of that name is played on a GPU; an error if one is asked for that it cannot use."""
    if device is Device.CPU or (device is Device.AUTO and rounds < WORTH_A_GPU):
        return False
    problem = policy_problem(policy) or gpu_problem()
    if device is Device.GPU and problem:
        raise InvalidInput(f"{name} cannot be simulated on a GPU: {problem} Or simulate on the CPU (device='cpu').")
    return not problem


def policy_problem(policy: Policy) -> str:
    """Why a policy has no place on a GPU, as a sentence, or nothing."""
    if policy.replan is not None:
        return "It replans in Python."
    inner = [policy.choose, policy.update, policy.commitment]
    if any(isinstance(function, FunctionType) and makes_arrays(function) for function in inner):
        return "It makes arrays while it chooses, which a GPU cannot."
    return ""


def gpu_problem() -> str:
    """Why no GPU can be used here, as a sentence that says what to do, or nothing."""
    try:
        from banditree.simulation.gpu import config, cuda
    except ImportError:
        return f"The packages for it are missing. {how_to_install('gpu')}"
    if config.ENABLE_CUDASIM or cuda.is_available():
        return ""
    reason = " ".join(str(cuda.cuda_error() or "no GPU is listed").split()).rstrip(".")
    return f"No NVIDIA GPU with a driver for CUDA 12 or newer answers here ({reason}). Check what nvidia-smi says."
