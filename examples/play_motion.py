# SPDX-License-Identifier: Apache-2.0
"""The KHR-1 plays a Kondo motion: play_motion.py [MOTION.csv] [FILM.html|gif|png]."""

import sys

import numpy as np

import humans_sim as hs

robot, channels = hs.load_model("khr1"), hs.load_channels()


def pose(speed: int, **degrees: float) -> hs.kondo.Pose:
    angles = dict.fromkeys(robot.joint_names, 0.0)
    angles.update({name: np.radians(angle) for name, angle in degrees.items()})
    return hs.kondo.Pose(speed, channels.values(angles))


legs = {"hip_pitch": -25, "knee": 50, "ankle_pitch": -25}
crouch = {f"{side}_{name}": angle for side in "lr" for name, angle in legs.items()}
greeting = hs.KondoMotion(
    "greeting",
    (
        pose(4),
        pose(6, **crouch, r_shoulder_roll=90, head_yaw=-20),
        pose(5, **crouch, r_shoulder_roll=150, head_yaw=-20),
        pose(5, **crouch, r_shoulder_roll=90, head_yaw=-20),
    ),
)

files = [word for word in sys.argv[1:] if word.endswith(".csv")]
motion = hs.read_motion(files[0]) if files else greeting
player = hs.MotionPlayer(robot, motion, channels, start=0.2)
print(f"{motion.name}: {len(motion.poses)} poses in {player.duration:.2f} s")

setup = hs.RobotSetup.of_model(robot)
simulation = setup.simulation(robot, hs.PoseServo(robot), hs.PosePlayer(player))
start = robot.standing(player.at(0.0))
run = simulation.run(start, t_end=player.times[-1] + 0.5, sampling_period=0.02)

moved = robot.com(run.q[-1]) - robot.com(start)
upright = abs(moved[2]) < 0.05
print(f"it {'stands' if upright else 'fell'}; moved {1000 * moved[:2].round(3)} mm")
for film in (word for word in sys.argv[1:] if word.endswith((".html", ".gif", ".png"))):
    print(f"wrote {hs.animate(run, film)}")
