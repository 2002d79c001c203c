# SPDX-License-Identifier: Apache-2.0
"""A sphere rolls around a square and comes back turned: the holonomy of rolling."""

import numpy as np
import pinocchio as pin
from matplotlib.figure import Figure

import humans_sim as hs
from humans_sim.contact.joint.contact_joint import contact_velocity

RADIUS = 0.1
SQUARE = ((1, 0), (0, 1), (-1, 0), (0, -1))

joint = hs.ContactJoint(hs.Plane(), hs.Sphere(RADIUS), sliding=False, pivoting=False)


def around(side, steps=20):
    """Placements of the sphere on its path around a square."""
    state = joint.start((0.0, 0.0, 0.0), (0.0, 0.0, -RADIUS))
    path = [state.relative]
    for x, y in SQUARE:
        # To roll along x, turn about y; one second a side.
        rolling = np.array([-y, x]) * side / RADIUS
        for _ in range(steps):
            state = joint.step(state, contact_velocity(rolling=rolling), 1 / steps)
            path.append(state.relative)
    return path


def angle_after(side):
    """Angle between the first and the last orientation [rad]."""
    path = around(side, steps=1)
    return np.linalg.norm(pin.log3(path[0].rotation.T @ path[-1].rotation))


def closed_form(side):
    """Angle of the commutator of two quarter paths [rad]."""
    return 4 * np.arcsin(np.sin(side / RADIUS / 2) ** 2)


def closest_turn(angle):
    """The same rotation by an angle of 0 to pi."""
    return abs((angle + np.pi) % (2 * np.pi) - np.pi)


path = around(0.4)
print(f"back at {1e3 * path[-1].translation.round(12)} mm")
turned = angle_after(0.4)
print(f"turned by {np.degrees(turned):.9f} degrees")
print(f"closed form {np.degrees(closest_turn(closed_form(0.4))):.9f} degrees")
gap = max(abs(place.translation[2] - RADIUS) for place in path)
print(f"the sphere was never more than {gap:.0e} m off the plane")


def picture():
    """The path with the sphere's axes, and the angle for squares of any size."""
    figure = Figure(figsize=(10.0, 4.4), layout="constrained")
    scene = figure.add_subplot(1, 2, 1, projection="3d")
    places = np.array([place.translation for place in path])
    scene.plot(places[:, 0], places[:, 1], 0 * places[:, 2], color="0.4", lw=1.5)
    u, v = np.meshgrid(np.linspace(0, 2 * np.pi, 25), np.linspace(0, np.pi, 13))
    ball = RADIUS * np.array([np.cos(u) * np.sin(v), np.sin(u) * np.sin(v), np.cos(v)])
    for k in (10, 30, 50, 70):
        middle = path[k].translation
        skin = np.einsum("ij,jkl->ikl", path[k].rotation, ball)
        skin += middle[:, None, None]
        scene.plot_surface(*skin, color="0.8", alpha=0.15)
        for axis, color in zip(path[k].rotation.T, ("C3", "C2", "C0"), strict=True):
            end = middle + 1.3 * RADIUS * axis
            scene.plot(*np.column_stack([middle, end]), color=color, lw=2.5)
    scene.set(xlabel="x [m]", ylabel="y [m]", xlim=(-0.15, 0.55), ylim=(-0.15, 0.55))
    scene.set(zlim=(0.0, 0.25), xticks=(0.0, 0.4), yticks=(0.0, 0.4), zticks=(0.0, 0.2))
    scene.set_box_aspect((0.7, 0.7, 0.25), zoom=1.25)
    scene.view_init(elev=32, azim=-70)
    scene.text2D(
        0.5, 0.97, "half way along each side", ha="center", transform=scene.transAxes
    )

    curve = figure.add_subplot(1, 2, 2)
    sides = np.linspace(0.0, 2 * np.pi * RADIUS, 200)
    exact = np.degrees(closest_turn(closed_form(sides)))
    curve.plot(sides / RADIUS, exact, color="0.6", lw=3, label="closed form")
    some = sides[::8]
    angles = np.degrees([angle_after(side) for side in some])
    curve.plot(some / RADIUS, angles, "o", color="C0", ms=4, label="contact joint")
    curve.set(xlabel="side of the square / radius", ylabel="turned by [degrees]")
    curve.set(ylim=(0, 215), yticks=range(0, 181, 45))
    curve.grid(alpha=0.3)
    curve.legend(loc="upper center", ncols=2, frameon=False)
    return figure


if __name__ == "__main__":
    picture().savefig("rolling_sphere.png", dpi=110)
