# SPDX-License-Identifier: Apache-2.0
"""The KHR-1 falls on its feet, servos on, and is pushed: events and their times."""

import numpy as np

import humans_sim as hs

robot = hs.load_model("khr1")
q = robot.neutral()
q[2] += 0.01

simulation = hs.Simulation(robot, actuation=hs.Servo(robot), ground=hs.Ground(0.7))
stepper = simulation.start(q)
stepper.advance(0.5)
load = stepper.sample().forces[:8, 0].sum()
print(f"at rest after 0.5 s: the soles carry {load / robot.mass / 9.81:.6f} weights")

stepper.push("torso", np.zeros(3), np.array([0.0, 0.03, 0.0]))  # to the left [N s]
stepper.advance(1.5)
for event in stepper.events:
    print(f"{event.time:.9f} s  {event.kind:15s} {event.subject}")
speed = np.abs(stepper.v).max()
print(f"one second after the push the fastest coordinate moves at {speed:.1e}")
