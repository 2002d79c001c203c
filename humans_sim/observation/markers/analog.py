# SPDX-License-Identifier: Apache-2.0
"""Analogue channels of a recording: force plates, electromyography, buttons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from humans_sim.core.errors import ParameterError


@dataclass(frozen=True, eq=False)
class AnalogChannels:
    """Channels sampled together, on the clock of the trial they belong to.

    Attributes:
        names: of the channels, each once.
        units: of each channel, as the file has them.
        rate: samples a second [Hz].
        values: scaled, one row a sample (n, c); NaN where the file has no number.
        start: time of the first sample [s].
    """

    names: tuple[str, ...]
    units: tuple[str, ...]
    rate: float
    values: np.ndarray
    start: float = 0.0

    def __post_init__(self) -> None:
        """Check sizes.

        Raises:
            ParameterError: the parts do not fit together.
        """
        if self.values.ndim != 2 or self.values.shape[1] != len(self.names):
            raise ParameterError(
                f"values of {len(self.names)} channels have shape {self.values.shape}"
            )
        if len(self.units) != len(self.names) or len(set(self.names)) < len(self.names):
            raise ParameterError("each channel has one name of its own and one unit")
        if not self.rate > 0:
            raise ParameterError(f"channels are not sampled at {self.rate} Hz")

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        """Size and rate."""
        return (
            f"<AnalogChannels: {len(self)} samples of {len(self.names)} channels, "
            f"{self.rate:g} Hz>"
        )

    def __getitem__(self, name: str) -> np.ndarray:
        """The samples of one channel (n,)."""
        column: np.ndarray = self.select([name]).values[:, 0]
        return column

    @property
    def times(self) -> np.ndarray:
        """Of the samples (n,) [s]."""
        times: np.ndarray = self.start + np.arange(len(self)) / self.rate
        return times

    def select(self, names: Sequence[str]) -> AnalogChannels:
        """These channels only, in this order.

        Raises:
            ParameterError: a channel is not there.
        """
        for name in names:
            if name not in self.names:
                raise ParameterError(
                    f"no channel is called '{name}' (there are: "
                    f"{', '.join(self.names)})"
                )
        columns = [self.names.index(name) for name in names]
        return replace(
            self,
            names=tuple(names),
            units=tuple(self.units[k] for k in columns),
            values=self.values[:, columns],
        )
