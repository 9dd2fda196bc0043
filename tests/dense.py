"""alx computed again: NumPy and SciPy in float64, one experiment at a time, nothing shared with alx.

Arrays are ``x [n, D]``, ``y [n]``. `Single` picks one experiment out of a simulated batch.
"""

import numpy as np
from scipy.special import logsumexp
from scipy.stats import multivariate_normal, norm

from alx.train.prior import Prior, Theta
from alx.train.rollout import Trajectory
from alx.train.simulate import Simulation


def pick(tree, index):
    """Experiment `index` of the trailing axis, in float64."""
    return type(tree)(*(np.asarray(leaf, dtype=float)[..., index] for leaf in tree))


def amplitude(prior: Prior, theta: Theta, x):
    if not theta.modulated:
        return np.ones(len(x))
    distance = ((x - theta.centre) ** 2).sum(1)
    return 0.08 + 0.5 * np.exp(-distance / (2 * theta.radius**2)) / (0.3 + theta.radius)


def warp(prior: Prior, theta: Theta, x):
    return 1 - (1 - x**theta.shape_a) ** theta.shape_b if theta.warped else x


def covariance(prior: Prior, theta: Theta, x, z):
    apart = warp(prior, theta, x)[:, None] - warp(prior, theta, z)[None]
    r = np.linalg.norm(apart / theta.lengthscale, axis=-1)
    k = {
        "rbf": np.exp(-(r**2) / 2),
        "matern32": (1 + 3**0.5 * r) * np.exp(-(3**0.5) * r),
        "matern52": (1 + 5**0.5 * r + 5 * r**2 / 3) * np.exp(-(5**0.5) * r),
    }[prior.kernels[int(theta.kernel)]] * np.cos(apart @ theta.frequency)
    return theta.variance * np.outer(amplitude(prior, theta, x), amplitude(prior, theta, z)) * k


def evaluate(prior: Prior, theta: Theta, function, x):
    angle = warp(prior, theta, x) @ function.frequencies.T + function.phases
    return amplitude(prior, theta, x) * (np.cos(angle) @ function.weights - function.mean)


class Single:
    """One experiment of a batch and its trajectory, with every objective."""

    def __init__(self, prior: Prior, experiment: Simulation, trajectory: Trajectory, index: int):
        n = experiment.noise.shape[-1]
        self.prior, self.T = prior, trajectory.T
        self.theta = pick(experiment.theta, index)
        self.function = pick(experiment.function, index)
        self.grid = np.asarray(experiment.grid, float)[..., index * experiment.grid.shape[-1] // n].T
        noise_grid = np.asarray(experiment.noise_grid, float)[:, index]
        self.y_grid = evaluate(prior, self.theta, self.function, self.grid) + noise_grid
        mask = np.broadcast_to(trajectory.mask, trajectory.y.shape)[:, index]
        self.x = np.asarray(trajectory.x, float)[..., index].T[mask]
        self.y = np.asarray(trajectory.y, float)[mask, index]

    def gram(self, x):
        return covariance(self.prior, self.theta, x, x) + self.theta.noise * np.eye(len(x))

    def log_density(self, x, y):
        return multivariate_normal(np.zeros(len(y)), self.gram(x)).logpdf(y) if len(y) else 0.0

    def det_entropy(self, x):
        return 0.5 * np.linalg.slogdet(2 * np.pi * np.e * self.gram(x))[1]

    def given(self):
        """The data before the first query, then all; without and with the grid."""
        x0, y0 = self.x[: -self.T], self.y[: -self.T]
        alone = (x0, y0), (self.x, self.y)
        return *alone, *((np.vstack([x, self.grid]), np.append(y, self.y_grid)) for x, y in alone)

    def entropy(self):
        before, after, *_ = self.given()
        return self.log_density(*after) - self.log_density(*before)

    def regularized_entropy(self):
        _, _, before, after = self.given()
        return self.entropy() - (self.log_density(*after) - self.log_density(*before))

    def entropy_v2(self):
        before, after, *_ = self.given()
        return self.det_entropy(before[0]) - self.det_entropy(after[0])

    def regularized_entropy_v2(self):
        _, _, before, after = self.given()
        return self.entropy_v2() + self.det_entropy(after[0]) - self.det_entropy(before[0])

    def posterior(self, x):
        """Mean and variance of f at x."""
        cross = covariance(self.prior, self.theta, self.x, x)
        solved = np.linalg.solve(self.gram(self.x), cross)
        return solved.T @ self.y, np.diag(covariance(self.prior, self.theta, x, x) - cross.T @ solved)

    def dad(self, weights):
        """With the weights ``[C, L]`` of the contrastive functions, which have the shift of f_0."""
        x, y = self.x[-self.T :], self.y[-self.T :]
        sd = self.theta.noise**0.5
        fits = [norm.logpdf(y, evaluate(self.prior, self.theta, self.function, x), sd).sum()]
        for w in weights:
            other = self.function._replace(weights=w)
            fits.append(norm.logpdf(y, evaluate(self.prior, self.theta, other, x), sd).sum())
        return logsumexp(fits) - np.log(len(fits)) - fits[0]


def window_mean(weights, frequencies, phases, points: int = 40):
    """The mean over the unit cube by a Gauss-Legendre product rule."""
    node, weight = np.polynomial.legendre.leggauss(points)
    node, weight = (node + 1) / 2, weight / 2
    dim = frequencies.shape[1]
    x = np.stack(np.meshgrid(*[node] * dim, indexing="ij"), -1).reshape(-1, dim)
    w = np.prod(np.stack(np.meshgrid(*[weight] * dim, indexing="ij"), -1), -1).ravel()
    return w @ (np.cos(x @ frequencies.T + phases) @ weights)
