# SPDX-License-Identifier: Apache-2.0
"""Draw the picture of docs/actuation.md: what the motors of Bip can do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from humans_sim.actuation import DCMotor

IMAGES = Path(__file__).parent / "images"
SIZES = {
    "7.0e-5 (knee, hip pitch)": 7.0e-5,
    "3.5e-5 (ankle, hip roll)": 3.5e-5,
    "1.8e-5 (hip yaw, trunk)": 1.8e-5,
}
"""Inertias of the rotors [kg m^2]."""
WALKING = {
    "knee": (0, 150.0 / 115, 115),
    "hip pitch": (0, 100.0 / 96, 96),
    "ankle pitch": (1, 100.0 / (2 * 94), 94),
    "hip roll": (1, 100.0 / 271, 271),
    "hip yaw": (2, 50.0 / 204, 204),
    "trunk pitch": (2, 100.0 / (2 * 289), 289),
}
"""Size, torque of one motor [N m], and gear ratio of the demands of walking."""
RIGHT = ("knee", "hip yaw")
"""Dots whose names stand on their right."""
SPEED = 3.0
"""Speed of the joints [rad/s]."""


def torque_speed() -> Figure:
    """Torque-speed lines with the demands of walking; efficiency."""
    figure = Figure(figsize=(10.0, 4.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    colours = [f"C{k}" for k in range(len(SIZES))]
    for (label, inertia), colour in zip(SIZES.items(), colours, strict=True):
        motor = DCMotor.of_rotor(inertia)
        speed = np.linspace(0.0, motor.no_load_speed, 400)
        torque = np.array([motor.torque(w) for w in speed])
        current = np.array([motor.current(w) for w in speed])
        left.plot(speed, torque, color=colour, label=label)
        share = 100 * torque * speed / (motor.max_voltage * current)
        right.plot(torque, share, color=colour, label=label)
        best = int(np.argmax(share))
        right.plot(torque[best], 100 * motor.max_efficiency, "o", color=colour)
    for name, (size, torque, ratio) in WALKING.items():
        place = (SPEED * ratio, torque)
        left.plot(*place, "o", color=colours[size])
        left.annotate(
            name,
            place,
            (8 if name in RIGHT else -8, 0),
            textcoords="offset points",
            ha="left" if name in RIGHT else "right",
            va="center",
        )
    left.set(
        xlabel="speed of the rotor [rad/s]",
        ylabel="torque of one motor [N m]",
        xlim=(0, 1030),
        ylim=(0.1, 40),
        yscale="log",
        title="At 48 V; dots: walking at 3 rad/s",
    )
    left.set_yticks([0.1, 0.3, 1, 3, 10], ["0.1", "0.3", "1", "3", "10"])
    left.legend(title="inertia of the rotor [kg m²]")
    right.set(
        xlabel="torque of one motor [N m]",
        ylabel="efficiency at 48 V [%]",
        xlim=(0, 12.5),
        ylim=(0, 100),
        title="Dots: greatest efficiency, by its formula",
    )
    for axes in (left, right):
        axes.grid(alpha=0.3)
    return figure


if __name__ == "__main__":
    torque_speed().savefig(IMAGES / "bip_motor.png", dpi=120)
