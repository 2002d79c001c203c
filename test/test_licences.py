# SPDX-License-Identifier: Apache-2.0
"""The licences of what is installed, against requirements/licences.toml."""

from __future__ import annotations

from pathlib import Path
from runpy import run_path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SCRIPT = ROOT / ".ci" / "licences.py"
SPDX = "# SPDX-License-Identifier: Apache-2.0"
FOLDERS = ["humans_sim", "test", "benchmarks", "docs", "examples", "launch", "msgs"]
SOURCES = {".py", ".cmake", ".msg", ".srv", ".action"}


def check(*arguments: str) -> int:
    """Exit code of the script that `make licences` runs."""
    code: int = run_path(str(SCRIPT))["main"](list(arguments))
    return code


def install(folder: Path, name: str, *fields: str) -> None:
    """Write the metadata of an installed package."""
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    lines = ["Metadata-Version: 2.4", f"Name: {name}", "Version: 1.0", *fields, ""]
    (info / "METADATA").write_text("\n".join(lines))


def test_installed_packages_may_be_used(capsys: pytest.CaptureFixture[str]) -> None:
    """Every locked package that is installed has a licence of the list, or a reason."""
    code = check()
    output = capsys.readouterr()
    assert code == 0, output.err
    assert "numpy" in output.out


@pytest.mark.parametrize(
    ("fields", "allowed"),
    [
        (["License-Expression: MIT"], True),
        (["License-Expression: MIT OR GPL-3.0-only"], True),
        (["License-Expression: MIT AND GPL-3.0-only"], False),
        (["License: BSD-3-Clause"], True),
        (["License: proprietary"], False),
        (["Classifier: License :: OSI Approved :: MIT License"], True),
        (["Classifier: License :: Other/Proprietary License"], False),
        ([], False),
    ],
)
def test_licence_decides(tmp_path: Path, fields: list[str], allowed: bool) -> None:
    """A licence that is not in the list is refused, wherever metadata name it."""
    install(tmp_path, "numpy", *fields)
    assert (check("--path", str(tmp_path)) == 0) is allowed


def test_ros_licence_comes_from_package_xml(tmp_path: Path) -> None:
    """Wheels of ROS 2 say their licence in package.xml only."""
    site = tmp_path / "lib" / "python3" / "site-packages"
    share = tmp_path / "share" / "rclpy"
    site.mkdir(parents=True)
    share.mkdir(parents=True)
    install(site, "ros-rclpy")
    for licence, code in (("Apache License 2.0", 0), ("GPL", 1)):
        text = f"<package><license>{licence}</license></package>"
        (share / "package.xml").write_text(text)
        assert check("--path", str(site)) == code


def test_source_files_say_their_licence() -> None:
    """The SPDX line is at the top of every source file, after an interpreter's line."""
    paths = [ROOT / name for name in ("setup.py", "Makefile", "resource/run_node")]
    paths += (ROOT / ".ci").iterdir()
    for path in (path for folder in FOLDERS for path in (ROOT / folder).rglob("*")):
        if path.suffix in SOURCES or path.name == "CMakeLists.txt":
            paths.append(path)
    for path in paths:
        if path.is_file():
            top = path.read_text().split("\n")[:2]
            assert SPDX in top, f"{path.relative_to(ROOT)}: begin it with '{SPDX}'"
