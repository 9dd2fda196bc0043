"""A live line while a policy trains; plain lines where the output is not a terminal."""

import sys
import time

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as RichProgress

from alx.train.metrics import FIELDS, Epoch

__all__ = ["Progress", "summary"]

COMPILING = "compiling, which may take minutes; the first line comes after 50 steps"


def summary(epoch: Epoch) -> str:
    """The loss and all that was measured beside it."""
    names = ["loss", *(name for name in epoch if name not in FIELDS)]
    return "  ".join(f"{name.replace('_', ' ')} {epoch[name]:.4f}" for name in names)


class Progress:
    """Shows step, loss, validation, steps per second and the time left."""

    def __init__(self, steps: int, quiet: bool = False):
        self.steps = steps
        self.quiet = quiet
        self.start: tuple[float, int] | None = None
        self.bar = RichProgress(
            TextColumn("step {task.completed:.0f}/{task.total:.0f}"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[status]}"),
            TimeRemainingColumn(),
            console=Console(file=sys.stdout),
            disable=quiet or not sys.stdout.isatty(),
        )

    def __enter__(self) -> "Progress":
        self.bar.start()
        self.task = self.bar.add_task("train", total=self.steps, status=COMPILING)
        if self.bar.disable and not self.quiet:
            print(COMPILING, flush=True)
        return self

    def __exit__(self, *_) -> None:
        self.bar.stop()

    def show(self, epoch: Epoch) -> None:
        """Called after each epoch."""
        now, step = time.monotonic(), int(epoch["step"])
        status = summary(epoch)
        if self.start is None:  # the first epoch includes compilation
            self.start = now, step
        else:
            rate = (step - self.start[1]) / max(now - self.start[0], 1e-9)
            left = (self.steps - step) / rate
            status += f"  {rate:.2f} steps/s"
            if self.bar.disable:
                status += f"  {left / 60:.0f} min left"
        self.bar.update(self.task, completed=step, status=status)
        if self.bar.disable and not self.quiet:
            print(f"step {step}/{self.steps}  {status}", flush=True)
