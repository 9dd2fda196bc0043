"""The devices that a training uses, of one process or of several."""

import os

import jax

from alx.io import cache

__all__ = ["start_devices"]


def start_devices(
    devices: int | None,
    coordinator: str | None = None,
    process_id: int | None = None,
    num_processes: int | None = None,
) -> None:
    """Use every device there is; on CPU so many, one per core by default, each a single thread.

    The other arguments are those of `jax.distributed.initialize`, for several processes.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    devices = cores if devices is None else devices
    if devices < 1:
        raise ValueError(f"--devices must be at least 1, got {devices}")
    jax.config.update("jax_num_cpu_devices", devices)
    cache.enable()
    several = (coordinator, process_id, num_processes)
    if any(value is not None for value in several):
        if any(value is None for value in several):
            raise ValueError("--coordinator, --process-id and --num-processes go together")
        # It would catch SIGTERM and go on; here every checkpoint is on disk before the next epoch.
        jax.config.update("jax_enable_preemption_service", False)
        jax.distributed.initialize(coordinator, num_processes, process_id)
