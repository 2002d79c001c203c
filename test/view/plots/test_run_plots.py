# SPDX-License-Identifier: Apache-2.0
"""The picture of a run: what is drawn is what was simulated, and it can be read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib._pylab_helpers import Gcf
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import humans_sim as hs
from humans_sim.actuation.fes_muscles import FesMuscles
from humans_sim.contact.geometry.ground import Ground
from humans_sim.core.errors import ParameterError
from humans_sim.dynamics import Event, Run, Simulation
from humans_sim.dynamics.problems import (
    bouncing_ball,
    pendulum,
    rocking_block,
    rocking_block_start,
)
from humans_sim.results.event_states import (
    NO_EVENT_STATES,
    ImpactSamples,
    samples_at_events,
    with_event_samples,
)
from humans_sim.results.records import IMPACT
from humans_sim.view.plots.figure_panels import NAMED, part_and_side
from humans_sim.view.plots.run_plots import plot_run


@pytest.fixture(scope="module")
def block() -> Run:
    """A rocking block that slides, hits and comes to rest."""
    return Simulation(rocking_block(0.15)).run(
        rocking_block_start(), np.array([1.0, 0.0, 0.0]), t_end=1.2
    )


@pytest.fixture(scope="module")
def figure(block: Run) -> Figure:
    """The picture of the block."""
    return plot_run(block)


@pytest.fixture(scope="module")
def flight(khr1: hs.Model) -> Run:
    """A KHR-1 in the air with joints that turn, and nothing to touch."""
    v = np.zeros(khr1.nv)
    v[6:] = np.linspace(-1.0, 1.0, khr1.nv - 6)
    nothing = hs.Contacts(limits=False, self_collision=False)
    simulation = Simulation(khr1, ground=Ground.empty(), contacts=nothing)
    return simulation.run(khr1.neutral(), v, t_end=0.05)


def first(run: Run) -> Run:
    """The run's first sample alone."""
    names = ("t", "q", "v", "z", "torques", "contacts", "forces", "gaps", "energy")
    return replace(run, **{name: getattr(run, name)[:1] for name in names})


def lines(panel: Any) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Named curves of a panel."""
    return {
        line.get_label(): line.get_data()
        for line in panel.lines
        if not line.get_label().startswith("_")
    }


def at_samples(run: Run, curve: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Values of a curve at the samples; between them it has those at events only."""
    drawn = with_event_samples(run)
    impacts = ImpactSamples(drawn.t, drawn.events)
    assert np.array_equal(curve[0], impacts.t)
    between = impacts.inserted
    if drawn is not run:
        places = np.searchsorted(run.t, samples_at_events(run).t)
        between = np.insert(np.zeros(len(run), dtype=bool), places, True)
    assert np.array_equal(curve[0][~between], run.t)
    return np.asarray(curve[1])[~between]


def named_lines(panel: Any) -> dict[str, Any]:
    """Named curves of a panel, as they are drawn."""
    return {line.get_label(): line for line in panel.lines if line.get_label() in
            lines(panel)}  # fmt: skip


def words(panel: Any) -> list[str]:
    """Entries of a panel's legend."""
    return [text.get_text() for text in panel.get_legend().get_texts()]


def marks(panel: Any) -> list[float]:
    """Times of the vertical lines."""
    return [
        float(line.get_xdata()[0])
        for line in panel.lines
        if len(line.get_xdata()) == 2 and np.ptp(line.get_xdata()) == 0
    ]


def bars(panel: Any, colour: str) -> list[tuple[int, float, float]]:
    """Row, start and end of the bars of a colour."""
    from matplotlib.colors import to_rgba

    rows = []
    for collection in panel.collections:
        if len(collection.get_facecolor()) == 0:
            continue
        if tuple(collection.get_facecolor()[0]) == to_rgba(colour):
            for path in collection.get_paths():
                box = path.get_extents()
                rows.append((round((box.y0 + box.y1) / 2), box.x0, box.x1))
    return rows


def test_contacts(block: Run, figure: Figure) -> None:
    """A row for each contact; bars cover the samples of a mode, and those only."""
    panel = figure.axes[0]
    rows = [text.get_text() for text in panel.get_yticklabels()]
    assert rows == ["corner_0", "corner_1"]
    assert words(panel) == ["sticking", "sliding", "impact"]
    for mode, colour in ((1, "tab:blue"), (2, "tab:orange")):
        covered = np.zeros(block.contacts.shape, dtype=bool)
        for row, start, end in bars(panel, colour):
            covered[:, row] |= (block.t >= start) & (block.t < end)
        on = block.contacts == mode
        assert on.any()
        assert np.array_equal(covered[:-1], on[:-1])


def test_only_contacts_that_touch(khr1: hs.Model) -> None:
    """A contact that never closes and is never hit has no row and no curve."""
    q = khr1.neutral()
    q[2] += 0.002
    q[3:7] = [np.sin(0.05), 0.0, 0.0, np.cos(0.05)]
    q[2] -= khr1.contact(q)[:, 2].min() - 0.002
    run = Simulation(khr1, locked=["*"]).run(q, t_end=0.06)
    touching = [
        name for k, name in enumerate(run.table.names) if run.contacts[:, k].any()
    ]
    assert 0 < len(touching) < len(run.table)
    contacts, forces, _, base = plot_run(run).axes
    assert [text.get_text() for text in contacts.get_yticklabels()] == touching
    assert set(lines(forces)) - {"total"} == set(touching)
    # no joint moves: the base is drawn
    shown = at_samples(run, lines(base)["z"])
    assert np.array_equal(shown, run.q[:, 2] - run.q[0, 2])


def test_contacts_without_friction_are_closed() -> None:
    """A ball on the floor can neither stick nor slide; its impacts are in its row."""
    run = Simulation(bouncing_ball(0.5)).run(np.array([0.1]), t_end=0.6)
    panel = plot_run(run).axes[0]
    assert words(panel) == ["closed", "impact"]
    assert len(bars(panel, "tab:gray")) == 1


def test_forces(block: Run, figure: Figure) -> None:
    """Each loaded contact and their sum."""
    drawn = lines(figure.axes[1])
    assert set(drawn) == {"corner_0", "corner_1", "total"}
    for k in range(2):
        shown = at_samples(block, drawn[f"corner_{k}"])
        assert np.array_equal(shown, block.forces[:, k, 0])
    total = at_samples(block, drawn["total"])
    assert np.allclose(total, block.forces[:, :, 0].sum(axis=1))


def test_forces_of_limits_are_left_out() -> None:
    """A stop carries a moment; it is no force in newtons."""
    run = Simulation(pendulum(-0.2)).run(np.array([-0.2]), np.array([-0.5]), t_end=0.02)
    run = replace(run, forces=np.ones_like(run.forces))
    titles = [panel.get_title() for panel in plot_run(run).axes]
    assert "normal forces of the contact points" not in titles


def test_energy(block: Run, figure: Figure) -> None:
    """Potential energy counts from the start."""
    drawn = lines(figure.axes[2])
    kinetic, potential = block.energy.T
    assert set(drawn) == {"kinetic", "potential", "total"}
    assert np.array_equal(at_samples(block, drawn["kinetic"]), kinetic)
    shown = at_samples(block, drawn["potential"])
    assert shown[0] == 0.0
    assert np.allclose(shown, potential - potential[0])
    total = at_samples(block, drawn["total"])
    assert np.allclose(total, kinetic + potential - potential[0])


def test_coordinates(block: Run, figure: Figure) -> None:
    """Positions in metres and angles in degrees, each in a panel of its own."""
    positions, angles = figure.axes[3:]
    assert list(lines(positions)) == ["x", "z"] and list(lines(angles)) == ["angle"]
    assert positions.get_ylabel() == "position [m]"
    assert angles.get_ylabel() == "angle [°]"
    assert np.array_equal(at_samples(block, lines(positions)["x"]), block.q[:, 0])
    shown = at_samples(block, lines(angles)["angle"])
    assert np.allclose(shown, np.degrees(block.q[:, 2]))


def test_impacts_are_jumps() -> None:
    """A ball bounces: steps of the energy at the impact's time, as theory has them."""
    h, e = 0.1, 0.7
    run = Simulation(bouncing_ball(e)).run(
        np.array([h]), t_end=0.55, sampling_period=0.01
    )
    _, _, energy, height = plot_run(run).axes
    fall = np.sqrt(2 * h / 9.81)
    times = [fall, fall * (1 + 2 * e), fall * (1 + 2 * e + 2 * e**2)]
    t, kinetic = lines(energy)["kinetic"]
    total = lines(energy)["total"][1]
    for k, time in enumerate(times):
        before, after = np.flatnonzero(np.abs(t - time) < 1e-6)
        arriving = 9.81 * h * e ** (2 * k)
        assert kinetic[before] == pytest.approx(arriving, rel=1e-6)
        assert kinetic[after] == pytest.approx(arriving * e**2, rel=1e-6)
        fallen = 9.81 * h * (1 - np.array([e ** (2 * k), e ** (2 * k + 2)]))
        assert total[[before, after]] == pytest.approx(-fallen, abs=1e-8)
        assert lines(height)["height"][1][before] == pytest.approx(0.0, abs=1e-8)
    # of a file without states at events the potential is prolonged from the samples
    older = plot_run(replace(run, event_states=NO_EVENT_STATES)).axes
    t, total = lines(older[2])["total"]
    before, after = np.flatnonzero(np.abs(t - fall) < 1e-6)
    fallen = 9.81 * h * (1 - np.array([1.0, e**2]))
    assert total[[before, after]] == pytest.approx(-fallen, abs=0.01 * 9.81 * h)
    assert lines(older[3])["height"][1][before] == pytest.approx(0.0, abs=0.01 * h)


def test_forces_jump(block: Run, figure: Figure) -> None:
    """A corner that hits carries nothing before, and its load right after."""
    states = block.event_states
    t, force = lines(figure.axes[1])["corner_0"]
    hits = [e.time for e in block.events if e.kind == IMPACT and block.t[0] < e.time]
    assert hits
    jumps = 0
    for time in hits:
        here = np.flatnonzero(t == time)
        before, after = states.forces[states.t == time][0, :, 0, 0]
        assert force[here[0]] == before and force[here[1]] == after
        jumps += bool(abs(after - before) > 1.0)
    assert jumps


def test_forces_of_older_files_jump(block: Run) -> None:
    """Without states at events, forces are those of the samples on both sides."""
    run = replace(block, event_states=NO_EVENT_STATES)
    impacts = ImpactSamples(run.t, run.events)
    t, force = lines(plot_run(run).axes[1])["corner_0"]
    hits = [e.time for e in run.events if e.kind == IMPACT and run.t[0] < e.time]
    jumps = 0
    for time in hits:
        here = np.flatnonzero((t == time) & impacts.inserted)
        left = run.forces[np.searchsorted(run.t, time) - 1, 0, 0]
        right = run.forces[np.searchsorted(run.t, time), 0, 0]
        assert force[here[0]] == left and force[here[-1]] in (left, right)
        jumps += bool(abs(force[here[-1]] - force[here[0]]) > 1.0)
    assert jumps


def test_joint_angles(flight: Run) -> None:
    """Degrees; the joints that move most have names, the others are counted."""
    still = flight.q.copy()
    still[:, 7] = 0.3
    run = replace(flight, q=still)
    panel = plot_run(run).axes[3]
    angles = np.rad2deg(run.q[:, 7:])
    names = run.position_names[7:]
    drawn = lines(panel)
    named = [k for k, name in enumerate(names) if name in drawn]
    assert NAMED - 2 < len(named) <= NAMED
    rest = f"{len(names) - 1 - len(named)} smaller ones"
    assert set(drawn) == {names[k] for k in named} | {rest}
    for k in named:
        assert np.allclose(drawn[names[k]][1], angles[:, k])
    # no part of the body without a name moves more than one with a name
    spans = np.ptp(angles, axis=0)
    parts = [part_and_side(name)[0] for name in names]
    most = {part: max(spans[k] for k in range(len(names)) if parts[k] == part)
            for part in parts}  # fmt: skip
    chosen = {parts[k] for k in named}
    assert min(most[part] for part in chosen) >= max(
        most[part] for part in set(parts) - chosen
    )
    assert len(panel.lines) == len(names) - 1
    assert "°" in panel.get_ylabel()


@pytest.fixture(scope="module")
def leg(human: hs.Model) -> Run:
    """A knee, all else locked, whose quadriceps is stimulated more and more."""
    others = [name for name in human.joint_names if name != "r_knee"]
    sim = Simulation(
        human,
        FesMuscles(human, sides=("r",)),
        lambda t, state: np.array([min(t, 0.1) * 4e-4, 0.0]),
        ground=Ground.empty(),
        locked=["base", *others],
        contacts=hs.Contacts(limits=False),
        control_period=0.05,
    )
    return sim.run(human.neutral(), t_end=0.4, sampling_period=0.01)


def test_muscles(leg: Run) -> None:
    """Torques, forces of the muscles, and a mark for each pulse that acts."""
    *_, torques, forces, pulses = plot_run(leg).axes
    assert lines(torques).keys() == {"r_knee"}
    knee = leg.velocity_names.index("r_knee")
    assert np.array_equal(lines(torques)["r_knee"][1], leg.torques[:, knee])
    drawn = lines(forces)
    assert set(drawn) == {"r_quadriceps", "r_hamstrings"}
    assert np.array_equal(drawn["r_quadriceps"][1], leg.z[:, 2])
    assert drawn["r_quadriceps"][1].max() > 1.0
    events = [event for event in leg.events if event.kind == "stimulation"]
    assert len(events) > 4
    assert [text.get_text() for text in pulses.get_yticklabels()] == ["r_quadriceps"]
    (collection,) = pulses.collections
    marks = collection.get_segments()
    assert [mark[0][0] for mark in marks] == [event.time for event in events]
    heights = [abs(mark[1][1] - mark[0][1]) for mark in marks]
    assert heights == pytest.approx([0.8 * e.detail["recruitment"] for e in events])
    assert heights[-1] > heights[0]


def test_states_without_names(leg: Run) -> None:
    """Runs of older files have no names of states: no panel, no failure."""
    info = {key: value for key, value in leg.info.items() if key != "z_names"}
    titles = [p.get_title() for p in plot_run(replace(leg, info=info)).axes]
    assert "joint torques" in titles
    assert not any("muscles" in title for title in titles)


def test_torques_of_the_largest(flight: Run) -> None:
    """The largest torques have names; without any there is no panel."""
    assert len(plot_run(flight).axes) == 4
    torques = np.zeros_like(flight.torques)
    n = torques.shape[1] - 6
    torques[:, 6:] = np.arange(n)
    torques[-1] = np.nan
    panel = plot_run(replace(flight, torques=torques)).axes[4]
    names = flight.velocity_names
    drawn = set(lines(panel))
    assert {names[-1], f"{n - len(drawn)} smaller ones"} <= drawn
    assert NAMED - 2 < len(drawn) - 1 <= NAMED
    assert panel.get_ylabel() == "torque [N m]"


def test_one_colour_a_joint(flight: Run) -> None:
    """A joint has its colour in every panel, its twin the same; right is dashed."""
    torques = np.zeros_like(flight.torques)
    torques[:, 6:] = np.arange(torques.shape[1] - 6)[::-1] + 1.0
    torques[:, 2], torques[:, 4] = 12.0, 3.0
    info = {
        **flight.info,
        "signal_names": [f"servos/{n}/set_point" for n in flight.velocity_names[6:]],
        "signal_units": ["rad"] * (torques.shape[1] - 6),
    }
    run = replace(flight, torques=torques, info=info, signals=flight.q[:, 7:])
    _, _, _, *panels, force, moment = plot_run(run).axes
    assert [p.get_title() for p in panels] == [
        "joint angles that change",
        "set points of the servos",
        "joint torques",
    ]
    colours: dict[str, set[str]] = {}
    for panel in panels:
        for name, line in named_lines(panel).items():
            if name.endswith("smaller ones"):
                continue
            part, side = part_and_side(name)
            colours.setdefault(part, set()).add(line.get_color())
            dashed = line._unscaled_dash_pattern[1] is not None
            assert dashed == (side == "r"), name
        assert {"solid: left", "dashed: right"} <= set(words(panel))
    assert len(colours) > 5
    assert all(len(own) == 1 for own in colours.values())
    assert len(set.union(*colours.values())) == len(colours)
    # what acts on the base has its own unit and does not flatten the joints
    assert panels[1].get_ylabel() == "angle [°]"
    assert (force.get_ylabel(), moment.get_ylabel()) == ("force [N]", "moment [N m]")
    assert lines(force)["z"][1][0] == 12.0 and lines(moment)["y"][1][0] == 3.0


def test_impacts_are_thinned_out(block: Run, figure: Figure) -> None:
    """Each impact has a line where there are few; many share their lines."""
    times = [event.time for event in block.events if event.kind == IMPACT]
    assert 1 <= len(times) < 10
    for panel in figure.axes[1:]:
        drawn = marks(panel)
        assert drawn and set(drawn) <= set(times)
    many = [Event(t, IMPACT, "corner_0") for t in np.linspace(0.0, 1.2, 2001)]
    drawn = marks(plot_run(replace(block, events=many)).axes[2])
    assert 50 < len(drawn) <= 121
    assert min(drawn) < 0.02 and max(drawn) > 1.18


def test_without_contacts(flight: Run) -> None:
    """Free flight: two panels say so."""
    assert len(flight.table) == 0
    contacts, forces, *_ = plot_run(flight).axes
    assert [t.get_text() for t in contacts.texts] == ["no contact closes"]
    assert [t.get_text() for t in forces.texts] == [
        "no contact point carries a load at a sample"
    ]


@pytest.mark.parametrize("name", ["block", "flight"])
def test_one_sample(name: str, request: pytest.FixtureRequest) -> None:
    """A single sample is drawn as points."""
    run = first(request.getfixturevalue(name))
    figure = plot_run(run)
    for panel in figure.axes[2:]:
        named = [line for line in panel.lines if line.get_label() in lines(panel)]
        assert named and all(line.get_marker() == "o" for line in named)
    low, high = figure.axes[0].get_xlim()
    assert low < run.t[0] < high


def test_forces_that_are_not_known(block: Run) -> None:
    """A failed run has NaN for its last forces: curves end there, or there are none."""
    forces = block.forces.copy()
    forces[-1] = np.nan
    drawn = lines(plot_run(replace(block, forces=forces)).axes[1])
    shown = at_samples(block, drawn["corner_0"])
    assert np.array_equal(shown, forces[:, 0, 0], equal_nan=True)
    assert np.isnan(drawn["total"][1][-1]) and np.isfinite(drawn["total"][1][:-1]).all()
    run = first(block)
    figure = plot_run(replace(run, forces=np.full_like(run.forces, np.nan)))
    assert not lines(figure.axes[1])


def boxes(figure: Figure) -> dict[str, Any]:
    """Places of all texts outside the curves, and of the panels [pixels]."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    places = {"title": figure._suptitle.get_window_extent(renderer)}
    for k, panel in enumerate(figure.axes):
        places[f"panel {k}"] = panel.get_window_extent(renderer)
        places[f"title {k}"] = panel.title.get_window_extent(renderer)
        if panel.get_ylabel():
            places[f"label {k}"] = panel.yaxis.label.get_window_extent(renderer)
        if panel.get_legend() is not None:
            places[f"legend {k}"] = panel.get_legend().get_window_extent(renderer)
        for j, text in enumerate(panel.get_yticklabels()):
            place = text.get_window_extent(renderer)
            middle = (place.y0 + place.y1) / 2
            if text.get_text() and panel.bbox.y0 <= middle <= panel.bbox.y1:
                places[f"tick {k} {j}"] = place
    return places


@pytest.mark.study
@pytest.mark.parametrize("name", ["block", "flight", "leg", "crowd"])
def test_nothing_overlaps(name: str, request: pytest.FixtureRequest) -> None:
    """Titles, labels, legends and panels keep apart and inside the picture."""
    if name == "crowd":
        block = request.getfixturevalue("block")
        n = 30
        run = replace(
            block,
            contacts=np.repeat(block.contacts[:, :1], n, axis=1),
            gaps=np.repeat(block.gaps[:, :1], n, axis=1),
            forces=np.repeat(block.forces[:, :1], n, axis=1)
            * np.arange(1, n + 1)[:, None],
            event_states=NO_EVENT_STATES,
            table=type(block.table).of(
                [f"a_rather_long_contact_{k}/chair_back" for k in range(n)],
                ["point"] * n,
                2,
                0.5,
                0.0,
            ),
        )
    else:
        run = request.getfixturevalue(name)
    figure = plot_run(run)
    width, height = figure.canvas.get_width_height()
    places = boxes(figure)
    assert len(places) > 12
    names = list(places)
    for i, one in enumerate(names):
        box = places[one]
        assert box.x0 >= -1 and box.y0 >= -1, one
        assert box.x1 <= width + 1 and box.y1 <= height + 1, one
        for other in names[i + 1 :]:
            apart = places[other]
            # legends begin level with their panel's top, a hair's breadth beside it
            across = min(box.x1, apart.x1) - max(box.x0, apart.x0)
            along = min(box.y1, apart.y1) - max(box.y0, apart.y0)
            assert min(across, along) <= 1, f"{one} and {other} overlap"


def test_labels(block: Run, flight: Run) -> None:
    """Every panel has a title, every axis its unit; the name is on top."""
    for run in (block, flight):
        figure = plot_run(run)
        assert figure._suptitle.get_text() == f"{run.info['system']} (event-driven)"
        assert all(panel.get_title() for panel in figure.axes)
        assert all("[" in panel.get_ylabel() for panel in figure.axes[1:])
        assert figure.axes[-1].get_xlabel() == "time [s]"
        assert len({panel.get_xlim() for panel in figure.axes}) == 1


@pytest.mark.parametrize(
    ("name", "start"),
    [("a.png", b"\x89PNG\r\n"), ("a.PDF", b"%PDF-"), ("a.svg", b"<?xml")],
)
def test_files(block: Run, tmp_path: Path, name: str, start: bytes) -> None:
    """The ending decides the format; no other file is left."""
    path = tmp_path / "sub" / name
    first(block).plot(path)  # the shortest run there is
    assert path.read_bytes().startswith(start)
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("name", ["a.jpg", "a", "a.png.txt"])
def test_unknown_format(block: Run, tmp_path: Path, name: str) -> None:
    """It is refused by name before anything is drawn or written."""
    with pytest.raises(ParameterError, match=rf"\.png, \.pdf, \.svg, not to '{name}'"):
        block.plot(str(tmp_path / name))
    assert not list(tmp_path.iterdir())


def test_failure_keeps_the_old_picture(
    block: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that fills up half-way leaves the old picture and nothing else."""

    def fail(self: Figure, stream: Any, **options: Any) -> None:
        stream.write(b"half")
        raise OSError("no space left")

    path = tmp_path / "a.png"
    path.write_bytes(b"old")
    monkeypatch.setattr(Figure, "savefig", fail)
    with pytest.raises(OSError, match="no space left"):
        block.plot(path)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_pyplot_knows_nothing_of_it(block: Run) -> None:
    """The figure belongs to its caller alone."""
    before = Gcf.get_all_fig_managers()
    assert isinstance(plot_run(block), Figure)
    assert Gcf.get_all_fig_managers() == before
