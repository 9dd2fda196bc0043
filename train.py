"""Train a policy on simulated functions: python train.py --dim 2 --T 20"""

import sys

from alx.train.cli import main

if __name__ == "__main__":
    sys.exit(main())
