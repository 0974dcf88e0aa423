"""Train a small uncertainty head on the features of a network, with SELE as its loss.

    python docs/uncertainty_head.py        needs torch; a few seconds on a CPU

The network is trained on one part of the examples, the head on the losses of another part, and a third part
compares them. The head sees the features of the last layer but one and the logits; it starts as the odds
against the predicted class and learns by how much to correct them.
"""

from __future__ import annotations

import torch

from facereject.torch import AURC, SELELoss

torch.manual_seed(0)


def make_data(n: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Three classes on noisy rings; the noise depends on the third input."""
    label = torch.randint(3, (n,))
    angle = 6.28 * torch.rand(n)
    kind = torch.rand(n)
    radius = 1.0 + label + torch.where(kind > 0.7, 0.8, 0.15) * torch.randn(n)
    return torch.stack([radius * angle.cos(), radius * angle.sin(), kind], dim=1), label


class Network(torch.nn.Module):
    """A classifier that also returns the activations of its last layer but one."""

    def __init__(self) -> None:
        super().__init__()
        self.body = torch.nn.Sequential(
            torch.nn.Linear(3, 64), torch.nn.ReLU(), torch.nn.Linear(64, 32), torch.nn.ReLU()
        )
        self.last = torch.nn.Linear(32, 3)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        features = self.body(x)
        return self.last(features), features


def own_uncertainty(logits: torch.Tensor) -> torch.Tensor:
    """Odds against the most probable class."""
    ordered = logits.sort(dim=1).values
    return ordered[:, :-1].logsumexp(dim=1) - ordered[:, -1]


x, y = make_data(2000)
network = Network()
optimiser = torch.optim.Adam(network.parameters(), lr=0.01)
for _ in range(200):
    optimiser.zero_grad()
    torch.nn.functional.cross_entropy(network(x)[0], y).backward()
    optimiser.step()

x, y = make_data(2000)
with torch.no_grad():
    logits, features = network(x)
losses, base = (logits.argmax(dim=1) != y).double(), own_uncertainty(logits)
inputs = torch.cat([features, logits], dim=1)
head = torch.nn.Sequential(torch.nn.Linear(inputs.shape[1], 32), torch.nn.ReLU(), torch.nn.Linear(32, 1))
torch.nn.init.zeros_(head[-1].weight)
optimiser = torch.optim.Adam(head.parameters(), lr=0.005, weight_decay=1e-3)
risk = SELELoss()
for _ in range(30):
    for rows in torch.randperm(len(y)).split(500):
        optimiser.zero_grad()
        risk(base[rows] + head(inputs[rows])[:, 0], losses[rows]).backward()
        optimiser.step()

x, y = make_data(20_000)
metrics = {"max softmax": AURC(), "uncertainty head": AURC()}
with torch.no_grad():
    for rows in torch.arange(len(y)).split(5000):
        logits, features = network(x[rows])
        losses, base = (logits.argmax(dim=1) != y[rows]).double(), own_uncertainty(logits)
        correction = head(torch.cat([features, logits], dim=1))[:, 0]
        metrics["max softmax"].update(losses, base)
        metrics["uncertainty head"].update(losses, base + correction)
areas = {name: metric.compute() for name, metric in metrics.items()}
if __name__ == "__main__":
    for name, area in areas.items():
        print(f"{name:20s} AuRC {area:.4f}")
