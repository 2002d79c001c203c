# SPDX-License-Identifier: Apache-2.0
"""Definitions of the ROS 2 messages that motions are written as.

A file of messages carries their definitions, so that it can be read where the message
packages are not installed; it is written, too, where they are not. Comments are left
out. The definitions of humans_msgs are those of ``msgs/msg``; a test compares them.
"""

from __future__ import annotations

_LINE = "=" * 80

DEFINITIONS = {
    "builtin_interfaces/Time": """
int32 sec
uint32 nanosec
""",
    "builtin_interfaces/Duration": """
int32 sec
uint32 nanosec
""",
    "std_msgs/Header": """
builtin_interfaces/Time stamp
string frame_id
""",
    "std_msgs/Float64": """
float64 data
""",
    "std_msgs/String": """
string data
""",
    "std_msgs/ColorRGBA": """
float32 r
float32 g
float32 b
float32 a
""",
    "geometry_msgs/Point": """
float64 x
float64 y
float64 z
""",
    "geometry_msgs/Vector3": """
float64 x
float64 y
float64 z
""",
    "geometry_msgs/Quaternion": """
float64 x 0
float64 y 0
float64 z 0
float64 w 1
""",
    "geometry_msgs/Pose": """
Point position
Quaternion orientation
""",
    "geometry_msgs/PoseWithCovariance": """
Pose pose
float64[36] covariance
""",
    "geometry_msgs/Twist": """
Vector3 linear
Vector3 angular
""",
    "geometry_msgs/TwistWithCovariance": """
Twist twist
float64[36] covariance
""",
    "geometry_msgs/Wrench": """
Vector3 force
Vector3 torque
""",
    "geometry_msgs/Transform": """
Vector3 translation
Quaternion rotation
""",
    "geometry_msgs/TransformStamped": """
std_msgs/Header header
string child_frame_id
Transform transform
""",
    "tf2_msgs/TFMessage": """
geometry_msgs/TransformStamped[] transforms
""",
    "sensor_msgs/JointState": """
std_msgs/Header header
string[] name
float64[] position
float64[] velocity
float64[] effort
""",
    "sensor_msgs/CompressedImage": """
std_msgs/Header header
string format
uint8[] data
""",
    "visualization_msgs/UVCoordinate": """
float32 u
float32 v
""",
    "visualization_msgs/MeshFile": """
string filename
uint8[] data
""",
    "visualization_msgs/Marker": """
int32 ARROW=0
int32 CUBE=1
int32 SPHERE=2
int32 CYLINDER=3
int32 LINE_STRIP=4
int32 LINE_LIST=5
int32 CUBE_LIST=6
int32 SPHERE_LIST=7
int32 POINTS=8
int32 TEXT_VIEW_FACING=9
int32 MESH_RESOURCE=10
int32 TRIANGLE_LIST=11
int32 ARROW_STRIP=12
int32 ADD=0
int32 MODIFY=0
int32 DELETE=2
int32 DELETEALL=3
std_msgs/Header header
string ns
int32 id
int32 type
int32 action
geometry_msgs/Pose pose
geometry_msgs/Vector3 scale
std_msgs/ColorRGBA color
builtin_interfaces/Duration lifetime
bool frame_locked
geometry_msgs/Point[] points
std_msgs/ColorRGBA[] colors
string texture_resource
sensor_msgs/CompressedImage texture
UVCoordinate[] uv_coordinates
string text
string mesh_resource
MeshFile mesh_file
bool mesh_use_embedded_materials
""",
    "visualization_msgs/MarkerArray": """
Marker[] markers
""",
    "trajectory_msgs/JointTrajectoryPoint": """
float64[] positions
float64[] velocities
float64[] accelerations
float64[] effort
builtin_interfaces/Duration time_from_start
""",
    "trajectory_msgs/JointTrajectory": """
std_msgs/Header header
string[] joint_names
JointTrajectoryPoint[] points
""",
    "nav_msgs/Odometry": """
std_msgs/Header header
string child_frame_id
geometry_msgs/PoseWithCovariance pose
geometry_msgs/TwistWithCovariance twist
""",
    "humans_msgs/ContactPoint": """
uint8 OPEN=0
uint8 STICKING=1
uint8 SLIDING=2
string name
string link_name
string surface
uint8 mode
float64 gap
geometry_msgs/Point position
geometry_msgs/Vector3 normal
geometry_msgs/Vector3 velocity
geometry_msgs/Vector3 force
""",
    "humans_msgs/SoleContact": """
string name
uint8 mode
uint32 closed_points
geometry_msgs/Wrench wrench
geometry_msgs/Point center_of_pressure
""",
    "humans_msgs/ContactStates": """
std_msgs/Header header
ContactPoint[] points
SoleContact[] soles
""",
    "humans_msgs/SimulationEvent": """
string CONTACT_CLOSED="contact_closed"
string CONTACT_OPENED="contact_opened"
string IMPACT="impact"
string STICK="stick"
string SLIP="slip"
string ZENO="zeno"
string LIMIT_REACHED="limit_reached"
string LIMIT_LEFT="limit_left"
string COMMAND_COMPUTED="command_computed"
string COMMAND_APPLIED="command_applied"
string STIMULATION="stimulation"
string CALCIUM_SWITCH="calcium_switch"
string CONTRACTILE_SWITCH="contractile_switch"
string PUSH="push"
string FALL="fall"
string RESET="reset"
string TIMEOUT="timeout"
string FAILURE="failure"
string HAND_OVER="hand_over"
string EVENTS_LEFT_OUT="events_left_out"
std_msgs/Header header
float64 time
string kind
string subject
string detail
string[] value_names
float64[] values
""",
    "humans_msgs/MarkerFrame": """
std_msgs/Header header
uint32 frame_number
string[] names
geometry_msgs/Point[] positions
bool[] occluded
float64[] residuals
""",
    "humans_msgs/ReconstructionQuality": """
uint8 USED=0
uint8 OCCLUDED=1
uint8 INTERPOLATED=2
uint8 REJECTED=3
uint8 UNKNOWN=4
std_msgs/Header header
uint32 frame_number
bool converged
uint32 iterations
builtin_interfaces/Duration solve_time
float64 rms
float64 max_residual
string[] marker_names
uint8[] marker_status
geometry_msgs/Vector3[] residuals
string[] unobservable_joints
string[] joint_names
float64[] joint_std
string[] hidden_joints
float64 marker_noise
""",
}
"""By package and name, without the ``msg`` between them."""


def schema(name: str) -> str:
    """Definition of a message, followed by those of all messages inside it.

    Args:
        name: package and message, e.g. ``sensor_msgs/JointState``.

    Returns:
        The text in the form that rosbag2 stores (``ros2msg``).
    """
    needed = [name]
    for known in needed:  # grows on the way
        needed += [inner for inner in _inside(known) if inner not in needed]
    first, *others = needed
    parts = [DEFINITIONS[first].strip()]
    parts += [
        f"{_LINE}\nMSG: {other}\n{DEFINITIONS[other].strip()}" for other in others
    ]
    return "\n".join(parts) + "\n"


def _inside(name: str) -> list[str]:
    """Messages that a definition names, each once."""
    package = name.partition("/")[0]
    types = []
    for line in DEFINITIONS[name].split("\n"):
        kind = line.partition(" ")[0].partition("[")[0]
        full = kind if "/" in kind else f"{package}/{kind}"
        if full in DEFINITIONS and full not in types:
            types.append(full)
    return types
