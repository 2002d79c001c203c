# SPDX-License-Identifier: Apache-2.0
"""Montana's equations of contact, integrated tightly: what contact joints must follow.

D. J. Montana, The kinematics of contact and grasp (1988). The state is two charts and
an angle, not frames: it shares nothing with the package but the surfaces' shapes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from scipy.integrate import solve_ivp
from scipy.optimize import least_squares

from humans_sim.contact.joint.contact_joint import ContactJoint, JointState

Profile = Callable[[float], tuple[float, float, float]]


@dataclass
class Chart:
    """(a g(v) cos u, b g(v) sin u, h(v)); g and h give value and two derivatives."""

    g: Profile
    h: Profile
    a: float = 1.0
    b: float = 1.0
    flip: bool = False

    def derivatives(self, u: float, v: float) -> tuple[np.ndarray, ...]:
        """f, f_u, f_v, f_uu, f_uv, f_vv."""
        (g, gv, gvv), (h, hv, hvv) = self.g(v), self.h(v)
        c, s = self.a * np.cos(u), self.b * np.sin(u)
        cu, su = -self.a * np.sin(u), self.b * np.cos(u)
        return (
            np.array([c * g, s * g, h]),
            np.array([cu * g, su * g, 0.0]),
            np.array([c * gv, s * gv, hv]),
            np.array([-c * g, -s * g, 0.0]),
            np.array([cu * gv, su * gv, 0.0]),
            np.array([c * gvv, s * gvv, hvv]),
        )

    def gauss(self, u: float, v: float) -> tuple[np.ndarray, ...]:
        """Frame (4, 4), metric A, curvature K (convex positive) and torsion T."""
        f, fu, fv, fuu, fuv, fvv = self.derivatives(u, v)
        z = np.cross(fu, fv) * (-1 if self.flip else 1)
        z /= np.linalg.norm(z)
        x = fu / np.linalg.norm(fu)
        y = np.cross(z, x)
        metric = np.array([[x @ fu, x @ fv], [y @ fu, y @ fv]])
        back = np.linalg.inv(metric)
        second = np.array([[fuu @ z, fuv @ z], [fuv @ z, fvv @ z]])
        frame = np.eye(4)
        frame[:3, :3], frame[:3, 3] = np.column_stack([x, y, z]), f
        torsion = np.array([y @ fuu, y @ fuv]) / np.linalg.norm(fu) @ back
        return frame, metric, -back.T @ second @ back, torsion

    def find(self, point: np.ndarray) -> np.ndarray:
        """The chart's coordinates of a point of the surface."""
        best = None
        for v in (0.1, 0.6, 2.0, -0.9):
            guess = [np.arctan2(point[1] / self.b, point[0] / self.a), v]
            fit = least_squares(
                lambda w: self.derivatives(*w)[0] - point,
                guess,
                method="lm",
                xtol=1e-15,
                ftol=1e-15,
                gtol=1e-15,
            )
            if best is None or fit.cost < best.cost:
                best = fit
        assert best.cost < 1e-20
        return best.x


class Flat(Chart):
    """The plane (u, v, 0)."""

    def __init__(self) -> None:
        """No parameters."""

    def derivatives(self, u: float, v: float) -> tuple[np.ndarray, ...]:
        """Cartesian coordinates."""
        none = np.zeros(3)
        x, y = np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])
        return np.array([u, v, 0.0]), x, y, none, none, none

    flip = False

    def find(self, point: np.ndarray) -> np.ndarray:
        """The first two coordinates."""
        return np.array(point[:2])


def sphere(r: float) -> Chart:
    """A sphere about the origin."""
    return ellipsoid(r, r, r)


def ellipsoid(a: float, b: float, c: float) -> Chart:
    """An ellipsoid about the origin."""
    return Chart(
        lambda v: (np.cos(v), -np.sin(v), -np.cos(v)),
        lambda v: (c * np.sin(v), c * np.cos(v), -c * np.sin(v)),
        a,
        b,
    )


def cylinder(r: float) -> Chart:
    """A cylinder about z."""
    return Chart(lambda v: (r, 0.0, 0.0), lambda v: (v, 1.0, 0.0))


def cone(half_angle: float) -> Chart:
    """A cone about z, apex at the origin."""
    s, c = np.sin(half_angle), np.cos(half_angle)
    return Chart(lambda v: (v * s, s, 0.0), lambda v: (v * c, c, 0.0))


def torus(ring: float, tube: float) -> Chart:
    """A torus about z."""
    return Chart(
        lambda v: (ring + tube * np.cos(v), -tube * np.sin(v), -tube * np.cos(v)),
        lambda v: (tube * np.sin(v), tube * np.cos(v), -tube * np.sin(v)),
    )


def montana(
    joint: ContactJoint,
    charts: tuple[Chart, Chart],
    state: JointState,
    velocity: np.ndarray,
    time: float,
) -> pin.SE3:
    """Placement of body 2 in body 1 after a constant velocity in the contact frame."""
    placements = joint.first.placement, joint.second.placement
    locals_ = [
        place.actInv(frame)
        for place, frame in zip(placements, (state.first, state.second), strict=True)
    ]
    starts = [
        chart.find(frame.translation)
        for chart, frame in zip(charts, locals_, strict=True)
    ]
    gauss = [chart.gauss(*a) for chart, a in zip(charts, starts, strict=True)]
    # Gauss x of surface 1, seen in the contact frame, then in the Gauss frame of 2.
    x = locals_[0].rotation.T @ gauss[0][0][:3, 0]
    chi = -np.arctan2(x[1], x[0])
    in_two = gauss[1][0][:3, :3].T @ (locals_[1].rotation @ x)
    psi = np.arctan2(-in_two[1], in_two[0])

    def rates(_: float, y: np.ndarray) -> np.ndarray:
        _, m1, k1, t1 = charts[0].gauss(*y[:2])
        _, m2, k2, t2 = charts[1].gauss(*y[2:4])
        c, s = np.cos(y[4]), np.sin(y[4])
        turn = np.array([[c, -s], [-s, -c]])
        c, s = np.cos(y[5]), np.sin(y[5])
        mine = np.array([[c, -s], [s, c]])
        # Montana's velocities are those of body 1 relative to body 2.
        v, w, wz = -mine @ velocity[:2], -mine @ velocity[3:5], -velocity[5]
        k2t = turn @ k2 @ turn
        inverse = np.linalg.inv(k1 + k2t)
        across = np.array([-w[1], w[0]])
        u1 = inverse @ (across - k2t @ v)
        u2 = turn @ inverse @ (across + k1 @ v)
        psi_rate = wz + t1 @ u1 + t2 @ u2
        chi_rate = {
            "first": -t1 @ u1,
            "second": -wz - t1 @ u1,
            "first_lines": 0.0,
            "second_lines": -psi_rate,
        }[joint.axes]
        return np.concatenate(
            [np.linalg.solve(m1, u1), np.linalg.solve(m2, u2), [psi_rate, chi_rate]]
        )

    start = np.concatenate([starts[0], starts[1], [psi, chi]])
    solution = solve_ivp(
        rates, (0.0, time), start, method="DOP853", rtol=1e-12, atol=1e-13
    )
    assert solution.success
    y = solution.y[:, -1]
    c, s = np.cos(y[4]), np.sin(y[4])
    between = np.eye(4)
    between[:3, :3] = [[c, -s, 0.0], [-s, -c, 0.0], [0.0, 0.0, -1.0]]
    one, two = charts[0].gauss(*y[:2])[0], charts[1].gauss(*y[2:4])[0]
    whole = (
        placements[0].homogeneous
        @ one
        @ between
        @ np.linalg.inv(placements[1].homogeneous @ two)
    )
    return pin.SE3(whole)


def distance(a: pin.SE3, b: pin.SE3) -> float:
    """Greatest difference of two placements: metres and rotation entries."""
    return float(np.abs(a.homogeneous - b.homogeneous).max())
