# SPDX-License-Identifier: Apache-2.0
"""A coat in step with the body that wears it.

At each sample the coat's fixed masses are put where the links are, the coat moves by
one step, and its forces on the links are held until the next sample. One way, these
forces are none: then the coat is a stage after the body, fed with its motion.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pinocchio as pin

from humans_sim.results.sample import Sample
from humans_sim.soft.coats.coat_influence import coat_influences, refuse_two_way
from humans_sim.soft.networks.simulation import NetworkSimulation
from humans_sim.soft.networks.stability import safe_period, stability_report

if TYPE_CHECKING:
    from humans_sim.soft.coats.coat import Coat


class CoatReaction:
    """Forces of a coat on a biped, from sample to sample.

    Args:
        coat: what is worn.
        system: the biped.

    Attributes:
        held: generalised force until the next sample (nv,) [N m, N].
        due: time of the next sample [s].
        system: the biped.
        tracks: positions of all masses by times of samples (masses, 3) [m].
        masses: names of the masses.
        longest_period: of a sample with which the coat surely stays bounded [s].
        energy_growth: of the coat beyond the work of the body, relative.
        largest_stretch: of a link beyond its rest length, relative.
    """

    def __init__(self, coat: Coat, system: Any) -> None:
        """Nothing is worn before the first sample."""
        self._coat, self.system = coat, system
        self._data = system.model.data()
        self._anchors = coat.anchors
        self._frames = [system.model.pin.getFrameId(link) for link, _ in self._anchors]
        self._network: NetworkSimulation | None = None
        self.held = np.zeros(system.nv)
        self.due = self._start = 0.0
        self._count = 0
        self.tracks: dict[float, np.ndarray] = {}
        self._old = np.zeros((0, 3))
        self.masses: list[str] = []
        self.longest_period = np.inf
        self._rest = np.zeros(0)
        self.largest_stretch = 0.0
        self._work, self._least, self._scale, self.energy_growth = 0.0, 0.0, 0.0, 0.0

    def start(self, t: float) -> None:
        """Begin at a time [s]; the coat is put on at the first sample."""
        self._network = None
        self.held = np.zeros(self.system.nv)
        self.due = self._start = t
        self._count = 0
        self.tracks.clear()

    def update(
        self, t: float, q: np.ndarray, v: np.ndarray, applied: np.ndarray
    ) -> None:
        """Make a sample: the coat follows the links, and pulls at them."""
        self._count += 1
        self.due = self._start + self._count * self._coat.period
        places = self.places(q)
        if self._network is None:
            self.put_on(q)
            return
        pull = self.follow(places)
        if self._coat.two_way:
            self.held = self._generalised(q, pull)

    def places(self, q: np.ndarray) -> np.ndarray:
        """Where all that is driven is in a configuration (d, 3) [m]."""
        model = self.system.model
        pin.forwardKinematics(model.pin, self._data, q)
        pin.updateFramePlacements(model.pin, self._data)
        return np.array(
            [
                self._data.oMf[frame].act(place)
                for frame, (_, place) in zip(self._frames, self._anchors, strict=True)
            ]
        )

    def follow(self, places: np.ndarray) -> np.ndarray:
        """One step of the coat to places of what is driven; its forces on them [N]."""
        network = self._network
        assert network is not None
        before, old = self._pull(), self._old
        network.step(places)
        after = self._pull()
        self._work -= 0.5 * float(np.sum((before + after) * (places - old)))
        self._old = places
        self._balance()
        return after

    def put_on(self, q: np.ndarray) -> None:
        """Look at the coupling, and hang the coat on the links.

        Raises:
            CouplingError: one way is asked for, and the body would feel it.
            UnstableStepError: the coat's period is too long for it.
        """
        coat, system = self._coat, self.system
        coat.influences = coat_influences(system, q, coat)
        if not coat.two_way:
            refuse_two_way(coat.influences)
        self._old = self.places(q)
        names = [piece.link for piece in coat.pieces] + [b.link for b in coat.balls]
        poses = {}
        for name in names:
            pose = self._data.oMf[system.model.pin.getFrameId(name)]
            poses[name] = (np.array(pose.rotation), np.array(pose.translation))
        network = NetworkSimulation(coat.network(poses), coat.period, system.gravity)
        self.longest_period = safe_period(network.network)
        if self.longest_period < coat.period:
            stability_report(network).raise_where_unstable()
        self.masses = list(network.network.names)
        self._network = network
        self._rest = self._lengths()
        self._work = 0.0
        self._least = network.energy().total
        self._scale = self.energy_growth = self.largest_stretch = 0.0

    def _pull(self) -> np.ndarray:
        """Forces of the coat on what is driven (d, 3) [N]."""
        network = self._network
        assert network is not None
        return network.forces[np.array(network.network.driven)]

    def _balance(self) -> None:
        """Energy of the coat less the work of the body: it must not grow."""
        network = self._network
        assert network is not None
        energy = network.energy()
        own = energy.total - self._work
        self._scale = max(self._scale, energy.kinetic, abs(self._work))
        self._least = min(self._least, own)
        if self._scale > 0.0:
            growth = (own - self._least) / self._scale
            self.energy_growth = max(self.energy_growth, growth)
        stretch = self._lengths() / self._rest - 1.0
        self.largest_stretch = max(self.largest_stretch, float(stretch.max()))

    def _lengths(self) -> np.ndarray:
        """Of all links of the pieces (n,) [m]."""
        network = self._network
        assert network is not None
        ends = network.positions[self._coat.lines]
        return np.asarray(np.linalg.norm(ends[:, 0] - ends[:, 1], axis=1))

    def _generalised(self, q: np.ndarray, forces: np.ndarray) -> np.ndarray:
        total = np.zeros(self.system.nv)
        for (link, place), force in zip(self._anchors, forces, strict=True):
            if force.any():
                total += self.system.point_force(q, link, place, force)
        return total

    def keep(self, t: float) -> None:
        """Keep where the coat is at a time [s]."""
        if self._network is not None:
            self.tracks[t] = self._network.positions

    def complete(self, sample: Sample) -> Sample:
        """A sample with the energy of the coat, where the body feels it."""
        if self._network is None:
            return sample
        self.keep(sample.t)
        if not self._coat.two_way:
            return sample
        energy = self._network.energy()
        return sample._replace(
            kinetic=sample.kinetic + energy.kinetic,
            potential=sample.potential + energy.elastic + energy.weight,
        )
