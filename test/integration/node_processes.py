# SPDX-License-Identifier: Apache-2.0
"""Nodes in processes of their own, and calls of their services."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any


def start_node(
    kind: str, parameters: Sequence[str], file: Path, environment: Mapping[str, str]
) -> subprocess.Popen[str]:
    """Start a node.

    Args:
        kind: its name.
        parameters: ``name:=value``; they go before those of the file.
        file: of parameters.
        environment: of the process.
    """
    # By the node's name: it goes over the file, which names it too.
    words = [word for value in parameters for word in ("-p", f"{kind}:{value}")]
    return subprocess.Popen(
        [sys.executable, "-m", "humans_sim.nodes", kind, "--ros-args"]
        + ["--params-file", str(file), *words],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def call_service(
    node: Any, wait: Callable[..., None], kind: Any, name: str, request: Any
) -> Any:
    """Call a service of another node and wait for its answer.

    Args:
        node: of the test.
        wait: spins it until a condition holds.
        kind: type of the service.
        name: of the service.
        request: the request.
    """
    client = node.create_client(kind, name)
    wait(client.service_is_ready, f"the service {name}")
    future = client.call_async(request)
    wait(future.done, f"an answer of {name}")
    node.destroy_client(client)
    return future.result()
