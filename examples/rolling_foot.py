# SPDX-License-Identifier: Apache-2.0
"""A human sways at the ankles: the feet roll over their heels and their balls."""

import math

import numpy as np
import pinocchio as pin
from matplotlib.figure import Figure

import humans_sim as hs

LEAN, SWAY = math.radians(2.8), math.radians(0.6)  # over the middle of the feet

human = hs.load_model("human36")
ankles = [human.joint_names.index(f"{side}_ankle_pitch") for side in "lr"]
joints = np.zeros(len(human.joint_names))
joints[ankles] = LEAN
q = human.standing(joints)
q[3:7] = pin.Quaternion(pin.utils.rotate("y", LEAN)).coeffs()
q[2] -= human.contact(q)[:, 2].min()


def sway(t, state):
    """Ankle angles: to and fro once a second, more and more."""
    angles = joints.copy()
    angles[ankles] += SWAY * min(t, 1.0) * math.sin(2 * math.pi * t)
    return angles


sim = hs.Simulation(
    human,
    hs.Servo(
        human,
        gain=4000.0,
        damping=40.0,
        stall_torque=1500.0,
        no_load_speed=50.0,
        command_period=0.01,
        rotor_inertia=0.05,
    ),
    sway,
    locked=[name for name in human.joint_names if "ankle_pitch" not in name],
    contacts=hs.Contacts(geometry="spheres"),
)
run = sim.run(q, t_end=2.1)
assert run.check()
for phase in hs.foot_phases(run):
    print(f"{phase.start:6.3f} s to {phase.end:6.3f} s  {phase.word}")

pitch = np.degrees(
    [pin.rpy.matrixToRpy(human.frame_pose(x, "l_sole").rotation)[1] for x in run.q]
)
print(f"the feet pitch by {pitch.min():.2f} to {pitch.max():.2f} degrees")


def picture():
    """Pitch of the feet and the forces under heel and fore-foot over time."""
    figure = Figure(figsize=(8.0, 4.5), layout="constrained")
    angle, force = figure.subplots(2, 1, sharex=True)
    angle.plot(run.t, pitch, color="C0")
    angle.set(ylabel="pitch of the feet [degrees]", xlim=(0.0, run.t[-1]))
    for end in ("heel", "fore"):
        balls = [k for k, name in enumerate(run.table.names) if f"_sole_{end}" in name]
        force.plot(run.t, run.forces[:, balls, 0].sum(axis=1), label=end)
    force.set(ylabel="normal force [N]", xlabel="time [s]")
    force.legend(loc="upper left", bbox_to_anchor=(0.0, 0.9), frameon=False)
    for phase in hs.foot_phases(run):
        shade = {"heel": "0.92", "all": "1.0", "toe": "0.82"}[phase.word]
        for panel in (angle, force):
            panel.axvspan(phase.start, phase.end, color=shade, zorder=0)
        if phase.end - phase.start > 0.1:
            middle = (phase.start + phase.end) / 2
            place = angle.get_xaxis_transform()
            angle.text(middle, 1.03, phase.word, ha="center", transform=place)
    return figure


if __name__ == "__main__":
    picture().savefig("rolling_foot.png", dpi=110)
