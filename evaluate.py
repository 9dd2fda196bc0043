"""``python evaluate.py --help``: see benchmarks/evaluation."""

from benchmarks.evaluation.cli import main

if __name__ == "__main__":
    main()
