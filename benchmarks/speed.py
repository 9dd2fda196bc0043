"""``python -m benchmarks.speed``: what things cost. Each command lives in a file of its own."""

import tyro

from benchmarks.speed_propose import propose

__all__ = ["main"]

COMMANDS = {"propose": propose}


def main() -> None:
    """Run the command line."""
    # A dictionary of one command has no subcommands for tyro, and one day there will be more.
    tyro.extras.subcommand_cli_from_dict(COMMANDS, prog="benchmarks.speed", description=__doc__)


if __name__ == "__main__":
    main()
