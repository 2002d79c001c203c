# SPDX-License-Identifier: Apache-2.0
"""Landmarks of the known marker sets, and the skin between; labels.

The markers of the package's sets are the landmarks. A limb's skin is added as points
around its axis, since clusters sit anywhere on it.

*Labels.* Those of the package's sets, and their aliases, are known. Others are taken
apart into a side and a word: ``KneeLat_R``, ``left thigh 3``, ``LMedMall``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from humans_sim.models.model import Model
from humans_sim.observation.markers.marker_set import (
    MarkerSet,
    SetMarker,
    load_marker_set,
    plain_name,
)
from humans_sim.observation.markers.synthetic import marker_positions

CLUSTER = 0.05
"""Spread from which on a place is anywhere on the segment [m]."""
_KEYPOINTS = ("body-25", "halpe-26")
"""Sets of joints seen in images: no places on the skin."""
_COMPUTED = re.compile(r".*(Ground|Joint|HJC)")
"""Labels of points of the sets that programs compute, on the floor and in joints."""
_ROUND_LIMBS = {
    "thigh": ("yfemur", 0.046),
    "shank": ("ytibia", 0.034),
    "arm": ("yhumerus", 0.027),
    "forearm": ("yforearm", 0.022),
}
"""Length of a limb, by its name, and its radius in statures."""
_ALONG = (0.2, 0.35, 0.5, 0.65, 0.8)
_AROUND = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
"""Forward and right."""
_FLAT_PARTS = {
    "foot": [
        (x, y, z)
        for x, y in ((0.03, 0.005), (0.055, -0.001), (0.08, -0.008))
        for z in (-0.022, 0.0, 0.025)
    ],
    "hand": [(-0.012, -0.04, -0.02), (-0.012, -0.04, 0.02)],
}
"""Backs of feet and of hands, right ones, in statures."""


@dataclass(frozen=True, eq=False)
class Landmarks:
    """Places on a model where a marker may be.

    Attributes:
        markers: as those of a set; their names are the places', as ``RKNE
            (plug-in-gait)``.
        sources: set and label of each; empty for skin.
        exact: whether it is a landmark that fingers find, not skin (n,).
        on_skin: whether a marker can be seen there; joints are inside (n,).
        height: stature of the model that has them [m].
    """

    markers: MarkerSet
    sources: tuple[tuple[str, str], ...]
    exact: np.ndarray
    on_skin: np.ndarray
    height: float

    def __len__(self) -> int:
        return len(self.sources)

    @property
    def segments(self) -> np.ndarray:
        """That carry the places (n,)."""
        return np.array([marker.segment for marker in self.markers.markers])

    def positions(self, model: Model, q: np.ndarray) -> np.ndarray:
        """Where the places are in a posture (n, 3) [m]."""
        return np.asarray(marker_positions(model, self.markers, q[None])[0])


@lru_cache(maxsize=64)
def landmarks(model: Model, sets: tuple[str, ...]) -> Landmarks:
    """The places of a human model, of these marker sets."""
    places: list[SetMarker] = []
    sources: list[tuple[str, str]] = []
    on_skin: list[bool] = []
    for name in sets:
        for marker in load_marker_set(name, model).markers:
            places.append(replace(marker, name=f"{marker.name} ({name})"))
            sources.append((name, marker.name))
            computed = name in _KEYPOINTS or _COMPUTED.match(marker.name)
            on_skin.append(not computed)
    for marker in _skin(model):
        places.append(marker)
        sources.append(("", ""))
        on_skin.append(True)
    exact = [marker.spread.max() < CLUSTER for marker in places]
    return Landmarks(
        MarkerSet("landmarks", "places of markers", tuple(places)),
        tuple(sources),
        np.array(exact),
        np.array(on_skin),
        model.height,
    )


def _skin(model: Model) -> Iterator[SetMarker]:
    """Places anywhere on limbs, feet and hands."""
    h = model.height
    for side, word, out in (("r_", "right", 1.0), ("l_", "left", -1.0)):
        points: list[tuple[str, np.ndarray]] = []
        for limb, (length, radius) in _ROUND_LIMBS.items():
            for share in _ALONG:
                down = -share * model.lengths[side + length]
                for x, z in _AROUND * radius * h:
                    points.append((limb, np.array([x, down, z])))
        for part, shares in _FLAT_PARTS.items():
            points += [(part, h * np.array([x, y, out * z])) for x, y, z in shares]
        for number, (part, at) in enumerate(points):
            yield SetMarker(
                f"skin of the {word} {part} {number}",
                side + part,
                at,
                spread=np.full(3, CLUSTER),
            )


_COMPUTED_LABELS = re.compile(
    r"\*\d+|unnamed\d+|unlabell?ed.*|[LR](FE|TI|FO|TO|HU|RA|HN|CL|BO|FT)\d?[OALP]"
    r"|(PEL|TRX|HED|THX|LUM)[OALP]|.*(ground|virtual|origin|joint|centre|center).*"
    r"|.*[A-Z]JC|mid.*|com|cent(re|er)ofmass",
    re.I,
)
"""Labels of points that programs compute, or gave to what they could not name."""
_SIDES = {"r": "R", "right": "R", "rt": "R", "l": "L", "left": "L", "lt": "L"}
_INNER = re.compile(r"med(ial)?|inner|int|m(?=kne|ank|elb|mall)|(?<=kne)m|(?<=ank)m")
_OUTER = re.compile(r"lat(eral)?|outer|ext|(?<=kne)l|(?<=ank)l")
_PIG = "plug-in-gait"
_CAST = "cast-ior"
# fmt: off
_WORDS: tuple[tuple[str, str, str, str], ...] = (
    # word, segment, set and label of the landmark ({s}: the side); none: anywhere there
    (r"asis?|sias|ias|iliacant", "base_link", _PIG, "{s}ASI"),
    (r"psis?|sips|ips", "base_link", _PIG, "{s}PSI"),
    (r"v?sacr(um|al)?|s[12]", "base_link", "helen-hayes", "SACR"),
    (r"pelv(is)?|waist|crest|iliac(crest)?|ic|hip", "base_link", "", ""),
    (r"g?troch(anter)?(ion)?|gt|gtr|greatertrochanter", "thigh", _CAST, "{s}GT"),
    (r"thi?(gh)?(up(per)?|low(er)?|front|rear|lat|sup|inf)?|fem(ur)?", "thigh", "", ""),
    (r"kneinner|epicondyleinner|fme|mfe|mfc", "thigh", _PIG, "{s}KNM"),
    (r"kne(outer)?|epicondyle(outer)?|fle|lfe|lfc", "thigh", _PIG, "{s}KNE"),
    (r"fib(ula)?(head)?|fh|hf|fax", "shank", _CAST, "{s}HF"),
    (r"tib(ial?)?tub(erosity)?|tt|ttc", "shank", _CAST, "{s}TT"),
    (r"(tib(ia)?|shank|shin|sha|shn|sh|sk|calf|leg)(up(per)?|low(er)?|front|rear"
     r"|outer|sup|inf)?", "shank", "", ""),
    (r"(ank|mall?(eol(us)?)?)inner|tam", "shank", _PIG, "{s}MED"),
    (r"(ank|mall?(eol(us)?)?)(outer)?|fal", "shank", _PIG, "{s}ANK"),
    (r"hee|cal(c(aneus)?)?|fcc", "foot", _PIG, "{s}HEE"),
    (r"(mt|mth|met|meta|fm|mtp)(head)?1|1(mt|met|mth|mtp)|bigtoe|hallux",
     "foot", _CAST, "{s}FM"),
    (r"(mt|mth|met|meta|fm|mtp)(head)?[23]|[23](mt|met|mth|mtp)",
     "foot", _CAST, "{s}SM"),
    (r"(mt|mth|met|meta|fm|mtp)(head)?5|5(mt|met|mth|mtp)|smalltoe",
     "foot", _CAST, "{s}VM"),
    (r"toe", "foot", _PIG, "{s}TOE"),
    (r"toe.*|(mid|fore|rear|hind)?foot.*|(mt|met|nav).*", "foot", "", ""),
    (r"sho|acr(om(ion|ium)?)?|ac|sae|saj", "scapula", _PIG, "{s}SHO"),
    (r"clav(icle)?|ij|jn|suprasternale|sternalnotch|jugular.*|snj",
     "torso", _PIG, "CLAV"),
    (r"stern?(um)?|strn|str|xiph(oid)?|px|substernale|sxs", "torso", _PIG, "STRN"),
    (r"c7|cv7|cervicale", "torso", _PIG, "C7"),
    (r"t1?\d|tv1?\d|bak|bac|back|chest|thorax|trunk|rib.*", "torso", "", ""),
    (r"elbinner|hme|mhe", "arm", "rajagopal", "{s}.MElbow"),
    (r"elb(outer)?|hle|lhe", "arm", _PIG, "{s}ELB"),
    (r"upa|ua|u(pper)?arm|arm|bic(eps?)?|tri(ceps?)?|delt(oid)?|hum(erus)?",
     "arm", "", ""),
    (r"f(ore)?arm|frm|fra|fa|rad(ius)?|ulna", "forearm", "", ""),
    (r"wr(i|ist)?(a|outer|rad(ial)?|thumb)|rsp|styloidrad.*",
     "forearm", _PIG, "{s}WRA"),
    (r"wr(i|ist)?(b|inner|uln(a|ar)?|pinky)|usp|uhe|styloiduln.*",
     "forearm", _PIG, "{s}WRB"),
    (r"wr(i|ist)?", "forearm", "rajagopal", "{s}.Wrist"),
    (r"fin(ger)?|knuckle|hand|thumb|pinky|index|hm\d", "hand", _PIG, "{s}FIN"),
    (r"fhd|hdf|fronthead|headfront|forehead", "head", _PIG, "{s}FHD"),
    (r"bhd|hdb|backhead|headback|rearhead", "head", _PIG, "{s}BHD"),
    (r"top(of)?head|headtop|vertex", "head", "gait2354", "Top.Head"),
    (r"head|hd|temple|ear|eye|nose|tragus", "head", "", ""),
)
# fmt: on
_SAME_PLACE = 0.02
"""Distance of two landmarks that are one [m]."""
_PAIRED = ("thigh", "shank", "foot", "scapula", "arm", "forearm", "hand")


@dataclass(frozen=True)
class LabelMeaning:
    """The meaning of a label.

    Attributes:
        segment: link of the model; empty where the label says nothing.
        landmark: set and label of the landmark; None: anywhere on the segment.
        known: whether the label itself is one of that set.
        computed: whether a program computed the point.
    """

    segment: str = ""
    landmark: tuple[str, str] | None = None
    known: bool = False
    computed: bool = False


def read_labels(labels: Sequence[str], known: Landmarks) -> dict[str, LabelMeaning]:
    """Meanings of the labels of a recording.

    A label that several sets have is that of the set which has most of the labels.
    """
    tables: dict[str, dict[str, str]] = {}
    segments: dict[tuple[str, str], str] = {}
    places: dict[tuple[str, str], np.ndarray] = {}
    for landmark, marker in zip(known.sources, known.markers.markers, strict=True):
        name, label = landmark
        if not name:  # skin
            continue
        segments[landmark], places[landmark] = marker.segment, marker.at
        for word in (label, *marker.aliases):
            tables.setdefault(name, {}).setdefault(plain_name(word), label)
    plain = {label: plain_name(label) for label in labels}
    count = {
        name: sum(word in table for word in plain.values())
        for name, table in tables.items()
    }
    own = {
        name: {plain_name(word) for word in tables[name].values()} for name in tables
    }
    names = {name: sum(word in own[name] for word in plain.values()) for name in tables}
    order = sorted(tables, key=lambda name: (-count[name], -names[name]))
    meanings: dict[str, LabelMeaning] = {}
    taken: list[tuple[str, str]] = []
    for label, word in plain.items():
        source = next((name for name in order if word in tables[name]), None)
        if source is not None:
            landmark = (source, tables[source][word])
            meanings[label] = LabelMeaning(segments[landmark], landmark, known=True)
            taken.append(landmark)
        elif _COMPUTED_LABELS.fullmatch(
            re.sub(r"[\s._-]", "", label.rpartition(":")[2])
        ):
            meanings[label] = LabelMeaning(computed=True)
        else:
            meanings[label] = _by_words(label)
    for label, meaning in meanings.items():
        if meaning.known or meaning.landmark is None:
            continue
        place = places.get(meaning.landmark)
        if place is None or any(
            segments[other] == meaning.segment
            and np.linalg.norm(places[other] - place) < _SAME_PLACE
            for other in taken
        ):  # a second one is elsewhere on the segment
            meanings[label] = replace(meaning, landmark=None)
        else:
            taken.append(meaning.landmark)
    return meanings


def _by_words(label: str) -> LabelMeaning:
    """A label taken apart into its side and its word."""
    bare = label.rpartition(":")[2] or label
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", bare)
    words = [w for w in re.split(r"[^A-Za-z0-9]+", spaced.lower()) if w]
    for side, rest in _sides(words):
        plain = re.sub(r"(?<=[a-z])0?\d{1,2}$", "", rest) if len(rest) > 2 else rest
        for text in dict.fromkeys((rest, plain)):
            text = re.sub("knee", "kne", re.sub("ankle", "ank", text))
            text = re.sub("shoulder|should", "sho", re.sub("elbow", "elb", text))
            text = re.sub("heel", "hee", text)
            moved = text
            for pattern, tag in ((_INNER, "inner"), (_OUTER, "outer")):
                if pattern.search(moved) and moved not in ("external", "internal"):
                    moved = pattern.sub("", moved, count=1) + tag
                    break
            for form in dict.fromkeys((moved, text)):
                meaning = _meaning(form, side)
                if meaning is not None:
                    return meaning
    return LabelMeaning()


def _sides(words: list[str]) -> list[tuple[str, str]]:
    """Possible sides of a label, with what remains of it."""
    options: list[tuple[str, str]] = []
    for place in (0, len(words) - 1):
        if words and words[place] in _SIDES:
            rest = words[:place] + words[place + 1 :]
            options.append((_SIDES[words[place]], "".join(rest)))
    glued = "".join(words)
    for word in ("right", "left", "r", "l"):
        if glued.startswith(word) and len(glued) > len(word) + 1:
            options.append((_SIDES[word], glued[len(word) :]))
    options.append(("", glued))
    for word in ("right", "left", "r", "l"):
        if glued.endswith(word) and len(glued) > len(word) + 1:
            options.append((_SIDES[word], glued[: -len(word)]))
    return options


def _meaning(word: str, side: str) -> LabelMeaning | None:
    for pattern, segment, source, landmark in _WORDS:
        if not re.fullmatch(pattern, word):
            continue
        if segment in _PAIRED:
            if not side:
                return None
            segment = f"{side.lower()}_{segment}"
        if "{s}" in landmark and not side:
            return None
        place = (source, landmark.replace("{s}", side)) if source else None
        return LabelMeaning(segment, place)
    return None
