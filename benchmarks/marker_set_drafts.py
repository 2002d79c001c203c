# SPDX-License-Identifier: Apache-2.0
"""How good drafts of marker sets are, beside a set of the package.

    python benchmarks/marker_set_drafts.py SET STATIC WALK

The static recording is drafted in several ways: with its labels; without the set (and
those that repeat it) among what the draft knows; without meaningful labels (M1, M2, ...
in another order), likewise; each without and with the walk, which shows what is rigid.
Printed are the markers on the segment that the set has, the residual of the walk with
a person calibrated by the draft, and how the angles of the legs differ from those that
the set gives.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

import humans_sim as hs
from humans_sim.observation.draft.draft_set import MarkerSetDraft
from humans_sim.observation.draft.landmarks import landmarks, read_labels
from humans_sim.observation.markers.marker_set import load_marker_set, marker_set_names
from humans_sim.observation.markers.trial import MarkerTrial

ALIKE = {"plug-in-gait": ("cmu", "helen-hayes")}
"""Sets whose labels are those of another."""
LEGS = [
    f"{side}_{joint}"
    for side in "rl"
    for joint in (
        *("hip_pitch", "hip_roll", "hip_yaw", "knee", "ankle_pitch", "ankle_roll"),
    )
]


def walk_of(person: hs.Model, marker_set: Path | str, trials: list[MarkerTrial]):
    """The walk of a person whom the static trial measures."""
    names = load_marker_set(marker_set, person).names
    known = trials[0].select([n for n in trials[0].names if n in names])
    subject = hs.calibrate(person, known, marker_set).subject
    return hs.reconstruct(subject.model(), trials[1], subject.marker_set())


def renamed(trial: MarkerTrial, labels: dict[str, str]) -> MarkerTrial:
    """These markers only, with other labels."""
    part = trial.select([name for name in labels if name in trial.names])
    return replace(part, names=tuple(labels[name] for name in part.names))


def report(
    way: str,
    draft: MarkerSetDraft,
    labels: dict[str, str],
    trials: list[MarkerTrial],
    reference: hs.Reconstruction,
    right: hs.MarkerSet,
    person: hs.Model,
) -> None:
    """Print a line."""
    original = {label: name for name, label in labels.items()}
    entries = [entry for entry in draft.markers if entry.name in original]
    good = sum(
        entry.marker is not None
        and entry.marker.segment == right[original[entry.name]].segment
        for entry in entries
    )
    sure = sum(entry.certainty.value == "uncertain" for entry in entries)
    with tempfile.TemporaryDirectory() as folder:
        drafted = walk_of(person, draft.save(Path(folder) / "draft.yaml"), trials)
    off = [drafted.joint(name) - reference.joint(name) for name in LEGS]
    rms = np.degrees(np.sqrt(np.mean(np.square(off), axis=1)))
    shape = np.degrees(np.std(off, axis=1))
    print(
        f"{way:30s} {good:2d}/{len(entries)}  {sure} uncertain  stature "
        f"{draft.model.height:.2f}  walk {1e3 * drafted.rms:5.1f} mm  legs "
        f"{rms.mean():4.1f} (most {rms.max():4.1f}, {LEGS[int(rms.argmax())]}), "
        f"curves alone {shape.mean():4.1f} degrees",
        flush=True,
    )


def main(name: str, static: str, walk: str) -> None:
    """Draft in all ways."""
    person = hs.load_model("human36")
    right = load_marker_set(name, person)
    trials = [hs.read_markers(static), hs.read_markers(walk)]
    reference = walk_of(person, name, trials)
    print(f"{name}: walk {1e3 * reference.rms:.1f} mm")
    skin = landmarks(person, (name,))
    seen = {s[1] for s, good in zip(skin.sources, skin.on_skin, strict=True) if good}
    kept = [n for n in trials[0].names if n in right.names and n in seen]
    rng = np.random.default_rng(1)
    order = rng.permutation(len(kept))
    anonymous = {kept[k]: f"M{i}" for i, k in enumerate(order, start=1)}
    others = [n for n in marker_set_names() if n not in (name, *ALIKE.get(name, ()))]
    unknown = sum(
        not meaning.segment
        for meaning in read_labels(kept, landmarks(person, tuple(others))).values()
    )
    print(f"labels that other sets and words do not know: {unknown} of {len(kept)}")
    for words, labels in (("labels", None), ("no labels", anonymous)):
        for known, sets in (("all sets known", None), ("this set unknown", others)):
            for motion in ("", ", walk"):
                pair = trials
                if labels is not None:
                    pair = [renamed(trial, labels) for trial in trials]
                draft = hs.draft_marker_set(
                    person, pair[0], pair[1:] if motion else (), sets=sets
                )
                own = labels or {name: name for name in kept}
                way = f"{words}, {known}{motion}"
                report(way, draft, own, pair, reference, right, person)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
