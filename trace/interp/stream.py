"""What was read from the residual stream."""

from __future__ import annotations

from dataclasses import dataclass

import torch


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """Activations x [samples, layers, d], float32, behind the decoder layers `layers`."""

    x: torch.Tensor
    layers: tuple[int, ...]

    def layer(self, number: int) -> torch.Tensor:
        """The activations [samples, d] behind one decoder layer.

        Raises:
            ValueError: it was not read.
        """
        return self.x[:, self.layers.index(number)]
