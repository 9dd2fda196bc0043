"""The network of the paper in plain PyTorch, with the weights of an alx policy: the yardstick for latency.

Written as a PyTorch user would write it: batch first, ``nn.Linear``, ``nn.LayerNorm`` and
``scaled_dot_product_attention``, and histories of just the points there are, without padding.
"""

import numpy as np
import torch
from torch import Tensor, nn

from alx.network.policy import Policy

__all__ = ["Twin", "from_policy"]


class Block(nn.Module):
    """A post-norm transformer block without an output projection after the heads."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width, bias=False)
        self.value = nn.Linear(width, width, bias=False)
        self.norm_attention = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))
        self.norm_mlp = nn.LayerNorm(width)

    def forward(self, tokens: Tensor) -> Tensor:
        q, k, v = (self._split(project(tokens)) for project in (self.query, self.key, self.value))
        out = nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(tokens.shape)
        tokens = self.norm_attention(tokens + out)
        return self.norm_mlp(tokens + self.mlp(tokens))

    def _split(self, tokens: Tensor) -> Tensor:
        batch, n, width = tokens.shape
        return tokens.view(batch, n, self.heads, width // self.heads).transpose(1, 2)


class Twin(nn.Module):
    """``x [batch, n, D]``, ``y [batch, n]`` -> the next input ``[batch, D]``."""

    def __init__(self, dim: int, width: int = 32, heads: int = 8, hidden: int = 512):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(dim + 1, hidden), nn.Softplus(), nn.Linear(hidden, width))
        self.blocks = nn.Sequential(Block(width, heads), Block(width, heads))
        self.mix = nn.Linear(width, width)
        self.decoder = nn.Sequential(nn.Linear(width, hidden), nn.Softplus(), nn.Linear(hidden, dim))

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        tokens = self.encoder(torch.cat([x, y[..., None]], -1))
        pooled = self.mix(self.blocks(tokens)).sum(1)
        return (torch.tanh(self.decoder(pooled)) + 1) / 2


def from_policy(policy: Policy) -> Twin:
    """The twin of an alx policy whose network is ``paper``."""
    if policy.config.network != "paper":
        raise ValueError(f"the twin is of the paper's network, got a policy with {policy.config.network!r}")
    twin, params = Twin(policy.config.dim), policy.params
    state = (
        _mlp(params["encoder"], "encoder") | _mlp(params["decoder"], "decoder") | _named(params["mix"], "mix")
    )
    for i, block in enumerate((params["first"], params["second"])):
        state |= _mlp(block, f"blocks.{i}.mlp")
        for layer in ("query", "key", "value", "norm_attention", "norm_mlp"):
            state |= _named(block[layer], f"blocks.{i}.{layer}")
    twin.load_state_dict(state)
    return twin.eval()


def _mlp(params, name: str) -> dict[str, Tensor]:
    return _named(params["inner"], f"{name}.0") | _named(params["outer"], f"{name}.2")


def _named(params, name: str) -> dict[str, Tensor]:
    renamed = {"kernel": "weight", "scale": "weight", "bias": "bias", "shift": "bias"}
    return {f"{name}.{renamed[key]}": torch.from_numpy(np.array(value)) for key, value in params.items()}
