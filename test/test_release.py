# SPDX-License-Identifier: Apache-2.0
"""Files for releases, hosts and containers: they parse, and agree with the rest."""

from __future__ import annotations

import io
import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from catkin_pkg.changelog import get_changelog_from_path
from catkin_pkg.package import parse_package
from changelog import convert

import humans_sim

ROOT = Path(__file__).resolve().parents[1]
ACTION = re.compile(r"\s*- uses: [\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
"""By its commit, since a tag may be moved, and its version for people."""
IMAGE = re.compile(r"FROM ros:jazzy[\w-]*@sha256:[0-9a-f]{64}")
SAMPLE = """# Changelog

## [Unreleased]

### Added
- `humans-sim x`, *new* ([docs](docs/x.md)): a * b | c
  and a second line.

## [0.2.0] - 2026-11-17

### Added
- First `name_` and name_ without quotes.

### Fixed
- A fall.
"""


def docker_file() -> str:
    """The text of the image's file."""
    return (ROOT / "Dockerfile").read_text()


def make_targets() -> set[str]:
    """Targets of the Makefile."""
    return set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))


def called_targets(text: str) -> list[str]:
    """Targets that a text calls by make."""
    return re.findall(r"\bmake ([a-z-]+)", text)


def read_yaml(path: Path) -> Any:
    """A YAML file; its last document where it has several."""
    return list(yaml.safe_load_all(path.read_text()))[-1]


def test_changelog_is_read_by_catkin(tmp_path: Path) -> None:
    """What is made from it has versions, dates and entries for bloom."""
    path = tmp_path / "CHANGELOG.rst"
    path.write_text(convert(SAMPLE))
    read = get_changelog_from_path(str(path), "humans_sim")
    ((version, date, content),) = list(read.foreach_version())
    assert (version, str(date)[:10]) == ("0.2.0", "2026-11-17")
    entries = [str(entry).strip() for entry in content]
    assert any("First" in entry for entry in entries)
    assert any("Fixed: A fall." in entry for entry in entries)


@pytest.mark.parametrize("source", ["sample", "file"])
def test_changelog_is_valid(source: str) -> None:
    """It is reStructuredText without a warning."""
    core = pytest.importorskip("docutils.core")
    text = SAMPLE if source == "sample" else (ROOT / "CHANGELOG.md").read_text()
    stream = io.StringIO()
    settings = {"warning_stream": stream, "report_level": 2}
    core.publish_doctree(convert(text), settings_overrides=settings)
    assert stream.getvalue() == ""


def test_versions() -> None:
    """Other files that name the version have the library's."""
    released = re.findall(r"^## \[(\d.*)\]", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert humans_sim.__version__ == released[0]
    citation = read_yaml(ROOT / "CITATION.cff")
    assert citation["version"] == humans_sim.__version__
    pixi = tomllib.loads((ROOT / "pixi.toml").read_text())
    assert pixi["workspace"]["version"] == humans_sim.__version__


def test_citation() -> None:
    """CITATION.cff has the keys that its format wants."""
    citation = read_yaml(ROOT / "CITATION.cff")
    assert citation["cff-version"] == "1.2.0"
    assert {"message", "title", "authors"} <= citation.keys()
    for author in citation["authors"]:
        assert "name" in author or {"family-names", "given-names"} <= author.keys()
    package = parse_package(str(ROOT / "package.xml"))
    assert [citation["license"]] == package.licenses
    assert citation["authors"][0]["email"] == package.maintainers[0].email


def test_workflow_calls_make() -> None:
    """Jobs of the workflow run targets that there are, on the system of Jazzy."""
    workflow = read_yaml(ROOT / ".github" / "workflows" / "ci.yml")
    assert workflow["permissions"] == {"contents": "read"}
    called = []
    for job in workflow["jobs"].values():
        assert job["runs-on"] == "ubuntu-24.04"
        for step in job["steps"]:
            assert ("uses" in step) != ("run" in step)
            called += called_targets(step.get("run", ""))
    assert {"test", "docs", "test-ros"} <= set(called) <= make_targets()
    pythons = workflow["jobs"]["test"]["strategy"]["matrix"]["python"]
    assert "3.12" in pythons and all(isinstance(p, str) for p in pythons)
    assert f"FROM {workflow['jobs']['jazzy']['container']}\n" in docker_file()


def test_actions_are_pinned() -> None:
    """Whoever owns an action cannot change what runs here."""
    for path in (ROOT / ".github" / "workflows").glob("*.yml"):
        uses = [line for line in path.read_text().splitlines() if "uses:" in line]
        assert uses and all(ACTION.fullmatch(line) for line in uses), path.name


def test_hooks_run_what_make_lint_runs() -> None:
    """The hooks of commits are tools that a lock pins, and that `make lint` runs."""
    (repository,) = read_yaml(ROOT / ".pre-commit-config.yaml")["repos"]
    assert repository["repo"] == "local"  # another's is code that no lock names
    locked = (ROOT / "requirements" / "library.lock").read_text()
    lint = (ROOT / "Makefile").read_text().partition("\nlint:")[2].partition("\n\n")[0]
    for hook in repository["hooks"]:
        program, *words = hook["entry"].split()
        tool = program.removeprefix(".venv/bin/")
        assert hook["language"] == "system" and f"\n{tool}==" in f"\n{locked}"
        assert " ".join([f"$(BIN)/{tool}", *words[:1]]) in lint


def test_issue_forms() -> None:
    """Each form has the keys of an issue form, and fields that can be filled in."""
    for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"):
        form = read_yaml(path)
        if path.name == "config.yml":
            continue
        assert {"name", "description", "body"} <= form.keys(), path.name
        names = [field["id"] for field in form["body"]]
        assert len(set(names)) == len(names) > 0
        for field in form["body"]:
            assert field["type"] in ("textarea", "input", "dropdown")
            assert field["attributes"]["label"]


def test_containers() -> None:
    """Image and dev container copy and call what there is, and are not root."""
    docker = docker_file()
    assert IMAGE.fullmatch(docker.splitlines()[2])
    (user,) = re.findall(r"^USER (\S+)$", docker, re.MULTILINE)
    assert user != "root" and f" {user} " in docker.partition("useradd ")[2]
    # What it builds is its own: files, and all that comes after it.
    after = docker.partition("USER")[2]
    assert f"COPY --chown={user}:{user} . ." in after and "make setup" in after
    container = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text())
    assert container["remoteUser"] == user
    file = (ROOT / ".devcontainer" / container["build"]["dockerfile"]).resolve()
    assert file == ROOT / "Dockerfile"
    called = called_targets(docker + container["postCreateCommand"])
    assert "setup" in called and set(called) <= make_targets()
    port = yaml.safe_load((ROOT / "config" / "params" / "walk.yaml").read_text())
    assert container["forwardPorts"] == [port["/**/viewer"]["ros__parameters"]["port"]]


def test_pixi_calls_make() -> None:
    """Tasks of pixi are targets of the Makefile, on a Python that is tested."""
    pixi = tomllib.loads((ROOT / "pixi.toml").read_text())
    for name, command in pixi["tasks"].items():
        assert called_targets(command) == [name] and name in make_targets()
    assert pixi["dependencies"]["python"] == "3.12.*"


def test_rosdoc_builds_the_same_pages() -> None:
    """rosdoc2 is led to the folder that `make docs` builds."""
    head, body = yaml.safe_load_all((ROOT / "rosdoc2.yaml").read_text())
    assert head == {"type": "rosdoc2 config", "version": 1}
    (builder,) = body["builders"]
    assert (ROOT / builder["sphinx"]["sphinx_sourcedir"] / "conf.py").exists()


def test_package_says_where_it_lives() -> None:
    """package.xml has what a release wants: description, maintainer, licence, build."""
    package = parse_package(str(ROOT / "package.xml"))
    assert package.description and package.maintainers and package.licenses
    assert package.get_build_type() == "ament_python"
    assert "rosdoc2.yaml" in {path.name for path in ROOT.iterdir()}
    (export,) = [e for e in package.exports if e.tagname == "rosdoc2"]
    assert (ROOT / export.content).exists()
