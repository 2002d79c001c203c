# SPDX-License-Identifier: Apache-2.0
"""NIfTI images and DICOM series, written by their own libraries."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.anatomy import read_stack, segment

nibabel = pytest.importorskip("nibabel", reason="humans-sim[images] is not there")
pydicom = pytest.importorskip("pydicom", reason="humans-sim[images] is not there")
PIXEL = (0.25, 0.3)
"""Height and width of a pixel of the series [mm]."""
SERIES = "1.2.3.4"


def levels() -> np.ndarray:
    """Three axes of different sizes, all values different."""
    return np.arange(5 * 6 * 7, dtype=np.int16).reshape(5, 6, 7)


def write_slice(
    path: Path, plane: np.ndarray, place: np.ndarray, axes: np.ndarray
) -> Any:
    """One DICOM file of a series, values stored with slope 2 and intercept -1000."""
    meta = pydicom.dataset.FileMetaDataset()
    meta.TransferSyntaxUID = pydicom.uid.ExplicitVRLittleEndian
    meta.MediaStorageSOPClassUID = pydicom.uid.CTImageStorage
    meta.MediaStorageSOPInstanceUID = pydicom.uid.generate_uid()
    item = pydicom.dataset.FileDataset(
        str(path), {}, file_meta=meta, preamble=b"\0" * 128
    )
    item.SeriesInstanceUID = SERIES
    item.Rows, item.Columns = plane.shape
    item.SamplesPerPixel, item.PhotometricInterpretation = 1, "MONOCHROME2"
    item.BitsAllocated = item.BitsStored = 16
    item.HighBit, item.PixelRepresentation = 15, 1
    item.RescaleSlope, item.RescaleIntercept = 2, -1000
    item.PixelSpacing = list(PIXEL)
    item.ImagePositionPatient = list(place)
    item.ImageOrientationPatient = list(axes.ravel())
    item.PixelData = ((plane + 1000) // 2).astype("<i2").tobytes()
    item.save_as(path, enforce_file_format=True)
    return item


def write_series(folder: Path, values: np.ndarray) -> list[Any]:
    """A series with slices 1.2 mm apart, sagittal, its files in another order."""
    folder.mkdir()
    axes = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, -1.0]])
    normal = np.cross(*axes)
    order = np.random.default_rng(3).permutation(len(values))
    return [
        write_slice(folder / f"{n}.dcm", values[k], (40 + 1.2 * k) * normal, axes)
        for n, k in enumerate(order)
    ]


def test_series_in_the_order_of_places(tmp_path: Path) -> None:
    """Slices are sorted along their normal, levels scaled, spacing in metres."""
    values = 2 * levels()
    write_series(tmp_path / "ct", values)
    stack = read_stack(tmp_path / "ct")
    assert np.array_equal(stack.values, values)
    assert np.diff(stack.positions) == pytest.approx(np.full(4, 1.2e-3))
    assert stack.pixel == pytest.approx(np.array(PIXEL) * 1e-3)
    assert stack.notes == ()


def test_missing_slices_of_a_series(tmp_path: Path) -> None:
    """One slice away is noted with its number, six are refused."""
    values = 2 * np.tile(levels(), (4, 1, 1))
    items = write_series(tmp_path / "ct", values)
    by_place = sorted(items, key=lambda item: -float(item.ImagePositionPatient[0]))
    Path(by_place[8].filename).unlink()
    assert read_stack(tmp_path / "ct").notes[0].startswith("1 slices are missing")
    for item in by_place[9:14]:
        Path(item.filename).unlink()
    with pytest.raises(
        hs.errors.ImageStackError, match="6 slices are missing after slice 7"
    ):
        read_stack(tmp_path / "ct")


@pytest.mark.parametrize(
    ("key", "value", "why"),
    [
        ("SeriesInstanceUID", "9.9", "3.dcm differs from 0.dcm in its series"),
        ("PixelSpacing", [0.5, 0.5], "3.dcm differs from 0.dcm in its pixel"),
        ("ImageOrientationPatient", [1, 0, 0, 0, 1, 0], "in its direction"),
        ("ImagePositionPatient", [float("1e9"), 0, 0], "missing after|not beyond"),
        ("PixelSpacing", [0, 0], "positive"),
    ],
)
def test_slices_of_other_series_are_refused(
    tmp_path: Path, key: str, value: object, why: str
) -> None:
    """Nothing of another series, size, direction or place is mixed in."""
    items = write_series(tmp_path / "ct", 2 * levels())
    chosen = items[3:4] if why != "positive" else items
    for item in chosen:
        setattr(item, key, value)
        item.save_as(item.filename, enforce_file_format=True)
    with np.errstate(all="ignore"), pytest.raises(hs.errors.ImageStackError, match=why):
        read_stack(tmp_path / "ct")


def test_damaged_slices_are_refused(tmp_path: Path) -> None:
    """Files cut short, without places, or of nothing are named."""
    items = write_series(tmp_path / "ct", 2 * levels())
    path = Path(items[2].filename)
    whole = path.read_bytes()
    for damaged in (whole[:-10], whole[:200], b"no file", b""):
        path.write_bytes(damaged)
        with pytest.raises(hs.errors.FileError, match=r"2\.dcm"):
            read_stack(tmp_path / "ct")
    del items[2].ImagePositionPatient
    items[2].save_as(path, enforce_file_format=True)
    with pytest.raises(hs.errors.FileError, match="ImagePositionPatient"):
        read_stack(tmp_path / "ct")


@pytest.mark.parametrize(("unit", "scale"), [("mm", 1.0), ("meter", 1e-3)])
def test_image_in_its_own_unit(tmp_path: Path, unit: str, scale: float) -> None:
    """Voxels of a NIfTI image, in millimetres or metres."""
    values = levels().astype(np.float32)
    affine = np.diag([0.3 * scale, 0.25 * scale, 1.2 * scale, 1.0])
    image = nibabel.Nifti1Image(values.transpose(2, 1, 0), affine)
    image.header.set_xyzt_units(unit)
    nibabel.save(image, tmp_path / "hand.nii.gz")
    stack = read_stack(tmp_path / "hand.nii.gz")
    assert np.array_equal(stack.values, values)
    assert np.diff(stack.positions) == pytest.approx(np.full(4, 1.2e-3))
    assert stack.pixel == pytest.approx([0.25e-3, 0.3e-3])


def test_stored_directions_do_not_mirror(tmp_path: Path) -> None:
    """An image stored from right to left and top to bottom is turned back."""
    values = levels().astype(np.float32)
    stored = values.transpose(2, 1, 0)[::-1, :, ::-1]
    affine = np.diag([-0.3, 0.25, -1.2, 1.0])
    nibabel.save(nibabel.Nifti1Image(stored, affine), tmp_path / "hand.nii")
    assert np.array_equal(read_stack(tmp_path / "hand.nii").values, values)


def test_images_that_are_none(tmp_path: Path) -> None:
    """Four axes, damaged files and values that are no numbers are refused."""
    path = tmp_path / "hand.nii"
    nibabel.save(nibabel.Nifti1Image(np.zeros((4, 4, 4, 2)), np.eye(4)), path)
    with pytest.raises(hs.errors.FileError, match="not one of three axes"):
        read_stack(path)
    values = np.zeros((7, 6, 5), np.float32)
    values[3, 3, 3] = np.nan
    nibabel.save(nibabel.Nifti1Image(values, np.eye(4)), path)
    with pytest.raises(hs.errors.ImageStackError, match="slice 3 has 1 values"):
        read_stack(path)
    assert read_stack(path, replace_nan=0.0).notes
    whole = path.read_bytes()
    for damaged in (whole[:-100], whole[:100], b""):
        path.write_bytes(damaged)
        with pytest.raises(hs.errors.FileError, match="not a NIfTI image"):
            read_stack(path)


def test_a_bone_of_a_series(tmp_path: Path) -> None:
    """A bright ball in a series is found where it is, with its volume."""
    z, y, x = np.indices((20, 40, 40), dtype=float)
    far = ((z - 9) * 1.2) ** 2 + ((y - 20) * 0.25) ** 2 + ((x - 22) * 0.3) ** 2
    write_series(tmp_path / "ct", np.where(far < 16, 1200, -900).astype(np.int16))
    stack = read_stack(tmp_path / "ct")
    parts = segment(stack.values, 200, 800)
    assert parts.count == 1
    volume = (parts.labels > 0).sum() * 1.2 * 0.25 * 0.3
    assert volume == pytest.approx(4 / 3 * np.pi * 64, rel=0.05)


@pytest.mark.parametrize(
    ("module", "name"), [("nibabel", "head.nii.gz"), ("pydicom", "series")]
)
def test_missing_libraries_are_named(
    tmp_path: Path, module: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the optional libraries the answer says what to install."""
    monkeypatch.setitem(sys.modules, module, None)
    path = tmp_path / name
    if name == "series":
        path.mkdir()
        (path / "1.dcm").write_bytes(b"DICM")
    else:
        path.write_bytes(b"nifti")
    with pytest.raises(hs.errors.MissingDependencyError, match=r"humans-sim\[images\]"):
        read_stack(path)
