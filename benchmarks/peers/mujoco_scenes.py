# SPDX-License-Identifier: Apache-2.0
"""Rigid bodies on a floor as MuJoCo models, with contacts as hard as they get.

A contact point is a ball around the point, so small (1e-12 m) that MuJoCo's distance is
the gap of the point. Cones are elliptic, the solver is Newton's with a tight tolerance.
The impedance is the highest that MuJoCo takes, the time constant the lowest (two steps,
``refsafe``). The damping ratio is up to the scene: with 1 (critical) a body leaves the
floor with up to a quarter of its speed, by where in the step it landed; with a high
one, corners that are still inside from the last landing disturb the next one.
"""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np

VERSION: str = mujoco.__version__
INTEGRATORS = ("Euler", "RK4")
_BALL = 1e-12
_IMPEDANCE = 0.9999
_STEPS_OF_CONSTANT = 2
_NEEDLESS = mujoco.mjtDisableBit.mjDSBL_ISLAND | mujoco.mjtDisableBit.mjDSBL_MIDPHASE
"""What costs time and changes nothing for a single body."""

_MODEL = """
<mujoco>
  <option timestep="{step!r}" gravity="0 0 -9.81" integrator="{integrator}"
    cone="elliptic" solver="Newton" iterations="100" tolerance="1e-12"/>
  <default>
    <geom type="sphere" condim="3" friction="{friction!r} 0 0" size="{ball!r}"
      solref="{constant!r} {damping!r}" solimp="{impedance!r} {impedance!r} 1e-3 0.5 2"
      contype="1" conaffinity="2"/>
  </default>
  <worldbody>
    <geom type="plane" size="9 9 1" contype="2" conaffinity="1"/>
    <body>
      {joints}
      <inertial pos="{centre}" mass="{mass!r}" fullinertia="{inertia}"/>
      {points}
    </body>
  </worldbody>
</mujoco>
"""
FREE = "<freejoint/>"
PLANAR = """
      <joint type="slide" axis="1 0 0"/>
      <joint type="slide" axis="0 0 1"/>
      <joint type="hinge" axis="0 -1 0"/>
"""
"""Along x, along z, from x to z."""


def rigid_body(
    mass: float,
    centre: np.ndarray,
    inertia: np.ndarray,
    points: np.ndarray,
    friction: float,
    damping: float,
    joints: str,
    step: float,
    integrator: str,
) -> mujoco.MjModel:
    """A rigid body over a floor at height zero.

    Args:
        mass: [kg].
        centre: of mass, in the body's frame (3,) [m].
        inertia: about the centre of mass (3, 3) [kg m^2].
        points: contact points in the body's frame (n, 3) [m].
        friction: Coulomb's coefficient.
        damping: damping ratio of the contacts.
        joints: FREE or PLANAR.
        step: time step [s].
        integrator: one of INTEGRATORS.
    """
    upper = inertia[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
    text = _MODEL.format(
        step=step,
        integrator=integrator,
        friction=float(friction),
        ball=_BALL,
        constant=_STEPS_OF_CONSTANT * step,
        damping=float(damping),
        impedance=_IMPEDANCE,
        joints=joints,
        centre=_numbers(centre),
        mass=float(mass),
        inertia=_numbers(upper),
        points="\n".join(f'<geom pos="{_numbers(point)}"/>' for point in points),
    )
    model = mujoco.MjModel.from_xml_string(text)
    model.opt.disableflags |= int(_NEEDLESS)
    return model


class Runner:
    """Steps a model from sampling time to sampling time."""

    def __init__(self, model: mujoco.MjModel, start: np.ndarray, period: float) -> None:
        """Get ready.

        Args:
            model: the model.
            start: its qpos at the start; velocities are zero.
            period: between samples [s]; a multiple of the time step.
        """
        self._model, self._data, self._start = model, mujoco.MjData(model), start
        self._steps = round(period / model.opt.timestep)
        if abs(self._steps * model.opt.timestep - period) > 1e-9 * period:
            raise ValueError("the sampling period must be a multiple of the time step")

    def reset(self) -> None:
        """Back to the start."""
        mujoco.mj_resetData(self._model, self._data)
        self._data.qpos[:] = self._start

    def run(self, count: int) -> np.ndarray:
        """The next samples of qpos (count, nq)."""
        samples = []
        for _ in range(count):
            mujoco.mj_step(self._model, self._data, self._steps)
            samples.append(self._data.qpos.copy())
        return np.array(samples)


def _numbers(values: Sequence[float] | np.ndarray) -> str:
    return " ".join(repr(float(value)) for value in values)
