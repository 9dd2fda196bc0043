"""Label the rows of a data set that tell most: python examples/pool.py"""

import numpy as np

import alx

rng = np.random.default_rng(0)
pool = rng.uniform([-5, 0], [10, 15], (500, 2))
labels = np.sin(pool[:, 0]) + 0.1 * pool[:, 1]

learner = alx.Learner(pool=pool, budget=20)
while learner.remaining >= 4:
    rows = learner.ask_row(4)  # four at a time, for four people who label
    learner.tell(pool[rows], labels[rows])
print(np.column_stack([learner.x, learner.y]))
