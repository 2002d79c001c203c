# SPDX-License-Identifier: Apache-2.0
"""Hostile messages, requests and goals to every node of running graphs of ROS 2.

python benchmarks/fuzz_graphs.py                     # all graphs
python benchmarks/fuzz_graphs.py servos --count 50 --seed 3

A graph is started as a user does (``humans-sim up``, without its page), on a domain of
its own and on this machine only. Its topics, services and actions are taken from the
running graph; each gets messages with numbers that are none, arrays of wrong and huge
sizes, stamps of yesterday and tomorrow, unknown joints and odd texts, some of them
changed from messages that the graph itself sends. Afterwards every node must still be
there and answer, and each topic whose subscriber reports diagnostics must have made it
count a refusal. The exit code is 1 where one does not.
"""

from __future__ import annotations

import argparse
import array
import math
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from humans_sim.applications.graphs import graph_names, read_graph
from humans_sim.nodes.common.conversions import full_name, message_class

PATIENCE = float(os.environ.get("HUMANS_SIM_TEST_PATIENCE", "120"))
"""Longest wait for a graph to start, or for an answer [s of wall time]."""
SKIPPED_TOPICS = ("/clock", "/rosout", "/parameter_events", "/diagnostics")
"""A second clock is a second simulation; the others are nobody's input."""
HOSTILE_FLOATS = (math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324)
HOSTILE_TEXTS = (
    *("", "nobody", "../../x", "\x1b[31m", "<b>x</b>", "{}", "é\u202e\U0001f9bf"),
    "x" * 100_000,
)
SIZES = (0, 1, 2, 7, 1000, 100_000)
_REFUSED = re.compile(r"refus|invalid|reject|ignor|unknown|late|old", re.I)
_SEQUENCE = re.compile(r"^sequence<(.+?)(?:, (\d+))?>$|^(.+)\[(?:<=)?(\d+)\]$")
_INTEGER = re.compile(r"^(u?)int(\d+)$|^(octet|byte|char)$")


class Hostile:
    """Makes messages.

    Args:
        seed: of the random numbers.
        now: gives the graph's time [s].
    """

    def __init__(self, seed: int, now: Callable[[], float]) -> None:
        """Nothing was sent yet."""
        self.random, self._now = random.Random(seed), now

    def message(self, kind: Any, like: Any = None, surely: bool = False) -> Any:
        """One message.

        Args:
            kind: its class.
            like: a message to change in one place; without it every field is hostile.
            surely: all its numbers are NaN: no node can take it.
        """
        message = kind()
        if like is not None and not surely:
            for name in kind.get_fields_and_field_types():
                setattr(message, name, getattr(like, name))
            names = [self.random.choice(list(kind.get_fields_and_field_types()))]
        else:
            names = list(kind.get_fields_and_field_types())
        for name in names:
            text = kind.get_fields_and_field_types()[name]
            setattr(message, name, self._value(text, getattr(message, name), surely))
        return message

    def _value(self, text: str, present: Any, surely: bool) -> Any:
        """A value for a field.

        Args:
            text: type of the field.
            present: its present value, which has the Python type.
            surely: numbers are NaN, of plausible size.
        """
        if match := _SEQUENCE.match(text):
            unbounded, most, element, count = match.groups()
            if element and "<=" not in text:
                size = int(count)
            else:
                bound = most or count
                size = 3 if surely else self.random.choice(SIZES)
                size = min(size, int(bound)) if bound else size
            return self._sequence(unbounded or element, size, present, surely)
        if text == "builtin_interfaces/Time":
            return self._stamp(type(present), surely)
        if "/" in text:
            return self.message(type(present), surely=surely)
        if text in ("float", "double"):
            return math.nan if surely else self.random.choice(HOSTILE_FLOATS)
        if text in ("boolean", "bool"):
            return self.random.random() < 0.5
        if text.startswith(("string", "wstring")):
            return "nobody" if surely else self.random.choice(HOSTILE_TEXTS)
        match = _INTEGER.match(text)
        assert match, text
        unsigned, bits, byte = match.groups()
        if byte:
            return bytes([self.random.randrange(256)]) if byte != "char" else 7
        top = 2 ** int(bits)
        low, high = (0, top - 1) if unsigned else (-top // 2, top // 2 - 1)
        return self.random.choice((low, high, 0, 1))

    def _sequence(self, element: str, size: int, present: Any, surely: bool) -> Any:
        """An array or a list of values."""
        if "/" in element:
            kind = message_class(full_name(element))
            few = min(size, 50)
            return [self._value(element, kind(), surely) for _ in range(few)]
        if element in ("float", "double"):
            values = [math.nan] * size if surely else self._floats(size)
            if isinstance(present, array.array):
                return array.array(present.typecode, _narrow(values, element))
            return values
        if isinstance(present, array.array) or element in ("octet", "byte", "uint8"):
            values = [self.random.randrange(100) for _ in range(size)]
            if isinstance(present, array.array):
                return array.array(present.typecode, values)
            return [bytes([value]) for value in values]
        few = min(size, 1000)
        texts = [text for text in HOSTILE_TEXTS if few < 10 or len(text) < 100]
        if element.startswith("string"):
            return [self.random.choice(texts) for _ in range(few)]
        return [self._value(element, None, surely) for _ in range(few)]

    def _floats(self, size: int) -> list[float]:
        """Numbers of which some are none."""
        values = [0.1] * size
        for _ in range(min(size, 3)):
            values[self.random.randrange(size)] = self.random.choice(HOSTILE_FLOATS)
        return values

    def _stamp(self, kind: Any, surely: bool) -> Any:
        """A time: now, never, yesterday, tomorrow, the last one there is."""
        now = max(int(self._now()), 0)
        seconds = (now,) if surely else (0, now, max(now - 86400, 1), now + 86400)
        last = () if surely else (2**31 - 1,)
        return kind(sec=self.random.choice((*seconds, *last)))


def _narrow(values: list[float], element: str) -> list[float]:
    """Numbers that the type can hold: 1e308 is no single-precision number."""
    if element == "double":
        return values
    return [v if abs(v) < 1e38 else math.copysign(math.inf, v) for v in values]


@dataclass
class Findings:
    """What became of a graph.

    Attributes:
        graph: its name.
        sent: messages, requests and goals, by the name of topic, service or action.
        faults: one sentence each.
        uncounted: topics with a subscriber that reports diagnostics and counted none
            of the messages it cannot take.
    """

    graph: str
    sent: dict[str, int] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    uncounted: list[str] = field(default_factory=list)


class GraphFuzzer:
    """A node beside a running graph that sends hostile things.

    Args:
        graph: name of the graph.
        process: that runs it.
        seed: of the random numbers.
    """

    def __init__(self, graph: str, process: subprocess.Popen[bytes], seed: int) -> None:
        """Listen to what the graph says."""
        import rclpy
        from diagnostic_msgs.msg import DiagnosticArray

        self.node = rclpy.create_node("fuzz_graphs")
        self.findings, self._process = Findings(graph), process
        self.hostile = Hostile(seed, self._now)
        self._graph = read_graph(graph)
        self._seen: dict[str, Any] = {}
        self._counts: dict[str, int] = {}
        self.node.create_subscription(
            DiagnosticArray, "/diagnostics", self._on_diagnostics, 100
        )

    def _now(self) -> float:
        """Time of the graph: that of its last joint state, else the wall's [s]."""
        header = getattr(self._seen.get("/joint_states"), "header", None)
        return header.stamp.sec if header else time.time()

    def _on_diagnostics(self, message: Any) -> None:
        """Sum up what nodes say they refused."""
        for status in message.status:
            name = status.name.split(":")[0]
            total = sum(
                int(entry.value)
                for entry in status.values
                if _REFUSED.search(entry.key) and entry.value.isdigit()
            )
            key = f"{name}/{status.name}"
            self._counts[key] = max(total, self._counts.get(key, 0))

    def refused(self, node: str) -> int | None:
        """How many messages a node says it refused; None if it reports nothing."""
        counts = [n for key, n in self._counts.items() if key.startswith(f"{node}/")]
        return sum(counts) if counts else None

    def spin(self, done: Callable[[], Any], patience: float = PATIENCE) -> bool:
        """Listen until something is the case, or the patience is over."""
        import rclpy

        end = time.monotonic() + patience
        while not done():
            if time.monotonic() > end or self._process.poll() is not None:
                return False
            rclpy.spin_once(self.node, timeout_sec=0.02)
        return True

    def others(self) -> list[str]:
        """Names of the graph's nodes."""
        names = set(self.node.get_node_names())
        hidden = {name for name in names if name.startswith("_")}
        return sorted(names - hidden - {self.node.get_name()})

    def run(self, count: int) -> Findings:
        """Send to everything there is, and look at the graph afterwards."""
        if not self.spin(self._running):
            self.findings.faults.append("it never began")
            return self.findings
        before = self.others()
        topics = self._topics()
        for topic, kind in topics:
            self._listen(topic, kind)
        self.spin(lambda: False, 3.0)
        for topic, kind in topics:
            self._fuzz_topic(topic, kind, count)
        for name, kind in self._services():
            self._fuzz_service(name, kind, max(count // 5, 2))
        for name, kind in self._actions():
            self._fuzz_action(name, kind, max(count // 10, 2))
        self._judge(before)
        return self.findings

    def _running(self) -> bool:
        """Whether all topics have a publisher, and who reports refusals did."""
        silent = not self.node.count_publishers("/diagnostics")
        flows = all(map(self.node.count_publishers, self._graph.topics))
        return flows and bool(silent or self._counts)

    def _topics(self) -> list[tuple[str, str]]:
        """Topics of the graph, but for those that actions are made of."""
        return [
            (topic, kinds[0])
            for topic, kinds in self.node.get_topic_names_and_types()
            if topic not in SKIPPED_TOPICS and "/_action/" not in topic
        ]

    def _listen(self, topic: str, kind: str) -> None:
        """Keep the last message of a topic, to change it."""
        from rclpy.qos import qos_profile_sensor_data

        self.node.create_subscription(
            message_class(kind),
            topic,
            lambda message: self._seen.__setitem__(topic, message),
            qos_profile_sensor_data,
        )

    def _fuzz_topic(self, topic: str, kind: str, count: int) -> None:
        """Publish to those that listen."""
        ends = self.node.get_subscriptions_info_by_topic(topic)
        listeners = {end.node_name for end in ends} - {self.node.get_name()}
        if not listeners:
            return
        message = message_class(kind)
        publisher = self.node.create_publisher(message, topic, _any_subscriber())
        self.spin(lambda: publisher.get_subscription_count() > len(listeners) - 1, 5.0)
        reporting = [name for name in listeners if self.refused(name) is not None]
        start = {name: self.refused(name) or 0 for name in reporting}
        for _ in range(5):
            publisher.publish(self.hostile.message(message, surely=True))
            self.spin(lambda: False, 0.05)
        counted = self.spin(
            lambda: (
                not reporting
                or any((self.refused(name) or 0) > start[name] for name in reporting)
            ),
            PATIENCE / 6,
        )
        if not counted:
            self.findings.uncounted.append(f"{topic} ({', '.join(sorted(reporting))})")
        for n in range(count):
            like = self._seen.get(topic) if n % 2 else None
            publisher.publish(self.hostile.message(message, like))
            self.spin(lambda: False, 0.01)
        self.findings.sent[topic] = count + 5
        self.node.destroy_publisher(publisher)

    def _services(self) -> Iterator[tuple[str, str]]:
        """Services of the graph's nodes, but for those that actions are made of."""
        for name, kinds in self.node.get_service_names_and_types():
            own = name.startswith(f"/{self.node.get_name()}/")
            # Names of clients that nobody serves are listed, too.
            served = self.node.count_services(name) > 0
            if served and not own and "/_action/" not in name:
                yield name, kinds[0]

    def _fuzz_service(self, name: str, kind: str, count: int) -> None:
        """Call a service; each call must be answered."""
        service = message_class(kind)
        client = self.node.create_client(service, name)
        if not self.spin(client.service_is_ready, 20.0):
            self.findings.faults.append(f"{name} is not there any more")
            return
        for _ in range(count):
            request = self.hostile.message(service.Request)
            if not _ends_it(request):
                future = client.call_async(request)
                if not self.spin(future.done):
                    self.findings.faults.append(
                        f"{name} does not answer {request}"[:300]
                    )
                    break
                self.findings.sent[name] = self.findings.sent.get(name, 0) + 1
        self.node.destroy_client(client)

    def _actions(self) -> list[tuple[str, str]]:
        """Actions of the graph's nodes."""
        from rclpy.action import get_action_names_and_types

        return [(name, k[0]) for name, k in get_action_names_and_types(self.node)]

    def _fuzz_action(self, name: str, kind: str, count: int) -> None:
        """Send goals, and cancel what is taken; each must end."""
        from rclpy.action import ActionClient

        action = message_class(kind)
        client = ActionClient(self.node, action, name)
        for _ in range(count):
            goal = client.send_goal_async(self.hostile.message(action.Goal))
            if not self.spin(goal.done):
                self.findings.faults.append(f"{name} does not answer a goal")
                break
            self.findings.sent[name] = self.findings.sent.get(name, 0) + 1
            handle = goal.result()
            if handle.accepted:
                ended = handle.get_result_async()
                handle.cancel_goal_async()
                if not self.spin(ended.done):
                    self.findings.faults.append(f"{name}: a cancelled goal never ends")
                    break
        client.destroy()

    def _judge(self, before: list[str]) -> None:
        """Every node is there and answers."""
        from rcl_interfaces.srv import ListParameters

        if self._process.poll() is not None:
            code = self._process.returncode
            self.findings.faults.append(f"the graph ended with code {code}")
            return
        for name in before:
            client = self.node.create_client(ListParameters, f"/{name}/list_parameters")
            future = None
            if self.spin(client.service_is_ready, 20.0):
                future = client.call_async(ListParameters.Request())
            if future is None or not self.spin(future.done):
                self.findings.faults.append(f"the node {name} does not answer")


def _ends_it(request: Any) -> bool:
    """Whether a request rightly asks a node to end."""
    state = getattr(getattr(request, "state", None), "state", None)
    return state == 4 or hasattr(request, "transition")


def _any_subscriber() -> Any:
    """The quality of service that any subscriber takes."""
    from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

    return QoSProfile(
        depth=10,
        reliability=ReliabilityPolicy.RELIABLE,
        durability=DurabilityPolicy.TRANSIENT_LOCAL,
    )


def fuzz_graph(graph: str, count: int, seed: int, words: list[str]) -> Findings:
    """Start a graph, send hostile things, end it.

    Args:
        graph: its name.
        count: messages a topic.
        seed: of the random numbers.
        words: further arguments of ``humans-sim up``.
    """
    import rclpy

    command = [sys.executable, "-m", "humans_sim"]
    boards, port = None, ""
    if "kondo_bridge" in read_graph(graph).nodes:
        port = os.path.join(tempfile.mkdtemp(), "port")
        boards = subprocess.Popen([*command, "kondo", "emulate", "--link", port])
        words = [*words, "--ros", f"p kondo_bridge:port:={port}"]
    process = subprocess.Popen(
        [*command, "up", graph, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    output: list[bytes] = []
    assert process.stdout is not None
    reader = threading.Thread(target=lambda: output.extend(process.stdout), daemon=True)
    reader.start()
    rclpy.init(domain_id=int(os.environ["ROS_DOMAIN_ID"]))
    fuzzer = GraphFuzzer(graph, process, seed)
    try:
        findings = fuzzer.run(count)
    finally:
        fuzzer.node.destroy_node()
        rclpy.shutdown()
        process.send_signal(signal.SIGINT)
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            fuzzer.findings.faults.append("it did not end at SIGINT")
        reader.join()
        if boards is not None:
            boards.send_signal(signal.SIGINT)
            boards.wait()
            shutil.rmtree(os.path.dirname(port))
    text = b"".join(output).decode(errors="replace")
    if "Traceback" in text:
        findings.faults.append("a traceback: " + text[text.index("Traceback") :][:2000])
    if process.returncode:
        findings.faults.append(f"exit code {process.returncode}: {text[-1500:]}")
    return findings


def main() -> int:
    """Fuzz graphs; 1 where a node ends, hangs or refuses in silence."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("graphs", nargs="*", default=graph_names())
    parser.add_argument("--count", type=int, default=100, help="messages a topic")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--ros", action="append", default=[], help="as of humans-sim up"
    )
    options = parser.parse_args()
    os.environ.setdefault("ROS_DOMAIN_ID", str(1 + os.getpid() % 101))
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    words = [word for pair in options.ros for word in ("--ros", pair)]
    bad = 0
    for graph in options.graphs:
        findings = fuzz_graph(graph, options.count, options.seed, words)
        print(
            f"{graph}: {sum(findings.sent.values())} sent to {len(findings.sent)} "
            f"topics, services and actions; {len(findings.faults)} faults, "
            f"{len(findings.uncounted)} topics without a count",
            flush=True,
        )
        for line in (
            *findings.faults,
            *(f"not counted: {t}" for t in findings.uncounted),
        ):
            print(f"  {line}", flush=True)
        bad += bool(findings.faults or findings.uncounted)
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
