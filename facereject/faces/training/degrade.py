"""Degrading photos on purpose, with landmarks that follow exactly: training data for a score of trust.

A degradation takes a severity in [0, 1]; its physical range is stated where it is defined. Lengths are
relative to the face size (the larger side of the landmark box), so a photo and its enlargement degrade
alike.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from facereject.faces.face import Box
from facereject.faces.geometry import FloatArray, bounding_box, check_landmarks, transform_points
from facereject.faces.images import ImageArray


class Degraded(NamedTuple):
    """A degraded photo, its landmarks in the new frame, and what was done to it.

    Attributes
    ----------
    image : ndarray of uint8
    landmarks : ndarray of shape (n, 2)
    steps : tuple of (kind, severity)
    hidden : ndarray of shape (n,), bool
        Points that were covered, or that lie outside the frame.
    """

    image: ImageArray
    landmarks: FloatArray
    steps: tuple[tuple[str, float], ...]
    hidden: NDArray[np.bool_]


def degrade(
    image: ImageArray, landmarks: FloatArray, kind: str, severity: float, *, random_state: Any = None
) -> Degraded:
    """Apply one kind of degradation.

    Parameters
    ----------
    image : ndarray of uint8
        Grey (H, W) or RGB (H, W, 3); not changed.
    landmarks : ndarray of shape (n, 2)
        True landmarks in pixels.
    kind : str
        One of `DEGRADATIONS`.
    severity : float in [0, 1]
        0 is just noticeable, 1 defeats most landmark predictors.
    random_state : int, Generator or None
        What is random about the kind: direction, position, texture.
    """
    points = check_landmarks(landmarks)
    if kind not in DEGRADATIONS:
        raise ValueError(f"kind must be one of {', '.join(DEGRADATIONS)}; got {kind!r}")
    if not 0 <= severity <= 1:
        raise ValueError(f"severity must lie in [0, 1], got {severity}")
    if image.dtype != np.uint8 or image.ndim not in (2, 3):
        raise ValueError(f"image must be uint8 of shape (H, W) or (H, W, 3), got {image.dtype} {image.shape}")
    result = DEGRADATIONS[kind](image, points, severity, np.random.default_rng(random_state))
    changed, moved, covered = result if isinstance(result, tuple) else (result, points, _seen(points))
    hidden = covered | outside_frame(changed, moved)
    return Degraded(np.ascontiguousarray(changed), moved, ((kind, float(severity)),), hidden)


def random_degradation(image: ImageArray, landmarks: FloatArray, *, random_state: Any = None) -> Degraded:
    """One to three different kinds in a row (probabilities 0.6, 0.3, 0.1), severities uniform in [0, 1].

    Rotation is drawn twice as often as any other kind: heads are tilted more often than photos are spoilt.

    Combined degradations are milder, severity / sqrt(number): otherwise most combinations lose the face.
    """
    rng = np.random.default_rng(random_state)
    number = int(rng.choice([1, 2, 3], p=[0.6, 0.3, 0.1]))
    kinds = rng.choice(_ORDER, size=number, replace=False, p=_SHARES)
    steps: list[tuple[str, float]] = []
    hidden = outside_frame(image, landmarks)
    for kind in sorted(kinds, key=_ORDER.index):
        severity = float(rng.uniform(0, 1) / np.sqrt(number))
        image, landmarks, step, more = degrade(image, landmarks, str(kind), severity, random_state=rng)
        steps.extend(step)
        hidden = hidden | more
    return Degraded(image, landmarks, tuple(steps), hidden)


def jitter_box(box: Box, severity: float, *, random_state: Any = None) -> Box:
    """Shift a box by up to 20 % of its size each way and scale it by up to 25 %, both times severity."""
    rng = np.random.default_rng(random_state)
    shift_x, shift_y = rng.uniform(-0.20, 0.20, size=2) * severity
    scale = float(np.exp(rng.uniform(-1, 1) * np.log(1.25) * severity))
    x, y = box.center
    x, y = x + shift_x * box.width, y + shift_y * box.height
    width, height = box.width * scale, box.height * scale
    return Box(x - width / 2, y - height / 2, width, height)


def _face_size(points: FloatArray) -> float:
    box = bounding_box(points)
    return max(box.width, box.height, 1.0)


def _geometric(low: float, high: float, severity: float) -> float:
    return float(low * (high / low) ** severity)


def _to_image(values: NDArray[Any]) -> ImageArray:
    return np.asarray(np.clip(np.rint(values), 0, 255), dtype=np.uint8)


def _uint8(array: Any) -> ImageArray:
    """Tells the type checker what OpenCV returned."""
    return np.asarray(array, dtype=np.uint8)


# the changed image; where landmarks move or are covered, also these and which are covered
_Result = ImageArray | tuple[ImageArray, FloatArray, NDArray[np.bool_]]


def outside_frame(image: ImageArray, landmarks: FloatArray) -> NDArray[np.bool_]:
    """Which points lie beyond the outermost pixels."""
    height, width = image.shape[:2]
    beyond = (landmarks < -0.5) | (landmarks > (width - 0.5, height - 0.5))
    return np.asarray(beyond.any(axis=1))


def _seen(points: FloatArray) -> NDArray[np.bool_]:
    return np.zeros(len(points), dtype=bool)


def _blur(image: ImageArray, points: FloatArray, severity: float, rng: np.random.Generator) -> _Result:
    """Gaussian blur, standard deviation 0.8 to 6 % of the face size."""
    sigma = _geometric(0.008, 0.06, severity) * _face_size(points)
    return _uint8(cv2.GaussianBlur(image, (0, 0), sigma, borderType=cv2.BORDER_REPLICATE))


def _motion(image: ImageArray, points: FloatArray, severity: float, rng: np.random.Generator) -> _Result:
    """Straight motion blur in a random direction, length 3 to 25 % of the face size."""
    length = max(3, round(_geometric(0.03, 0.25, severity) * _face_size(points)))
    side = length + 1 - length % 2
    angle = rng.uniform(0, np.pi)
    reach = np.array([np.cos(angle), np.sin(angle)]) * (side - 1) / 2
    center = np.array([side // 2, side // 2])
    kernel = np.zeros((side, side), dtype=np.float32)
    # 4 fractional bits keep the line straight at odd angles
    start, end = (tuple(int(v) for v in np.rint((center + sign * reach) * 16)) for sign in (-1, 1))
    cv2.line(kernel, start, end, (1.0,), 1, cv2.LINE_8, 4)
    return _uint8(cv2.filter2D(image, -1, kernel / kernel.sum(), borderType=cv2.BORDER_REPLICATE))


def _noise(image: ImageArray, points: FloatArray, severity: float, rng: np.random.Generator) -> _Result:
    """Gaussian noise, standard deviation 6 to 70 grey levels; half the time smoothed to coarse grain."""
    sigma = _geometric(6, 70, severity)
    noise = rng.standard_normal(image.shape, dtype=np.float32)
    if rng.random() < 0.5:
        grain = _face_size(points) * 0.006
        noise = np.asarray(cv2.GaussianBlur(noise, (0, 0), max(grain, 0.5)), dtype=np.float32)
        noise /= noise.std() + 1e-6
    return _to_image(image + sigma * noise)


def _jpeg(image: ImageArray, points: FloatArray, severity: float, rng: np.random.Generator) -> _Result:
    """JPEG compression, quality 40 down to 3."""
    quality = round(_geometric(40, 3, severity))
    # OpenCV writes BGR; the channels only need to come back in the order they went in
    _, code = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, quality])
    flag = cv2.IMREAD_GRAYSCALE if image.ndim == 2 else cv2.IMREAD_COLOR
    return _uint8(cv2.imdecode(code, flag))


def _dark(image: ImageArray, points: FloatArray, severity: float, rng: np.random.Generator) -> _Result:
    """Underexposure: light divided by 2 to 24, then read noise of 2 grey levels and rounding."""
    gain = 1 / _geometric(2, 24, severity)
    noise = rng.standard_normal(image.shape, dtype=np.float32)
    return _to_image(image * np.float32(gain) + 2 * noise)


def _bright(image: ImageArray, points: FloatArray, severity: float, rng: np.random.Generator) -> _Result:
    """Overexposure: light times 1.3 to 6, saturating at 255."""
    return _to_image(image * np.float32(_geometric(1.3, 6, severity)))


def _shadow(image: ImageArray, points: FloatArray, severity: float, rng: np.random.Generator) -> _Result:
    """A soft shadow over one side of the face, leaving 60 down to 5 % of the light there."""
    light = _geometric(0.6, 0.05, severity)
    size = _face_size(points)
    angle = rng.uniform(0, 2 * np.pi)
    center = points.mean(axis=0) + rng.uniform(-0.2, 0.2, size=2) * size
    height, width = image.shape[:2]
    along = (np.arange(width) - center[0]) * np.cos(angle) + (
        (np.arange(height) - center[1]) * np.sin(angle)
    )[:, None]
    edge = 1 / (1 + np.exp(-np.clip(along / (rng.uniform(0.02, 0.15) * size), -30, 30)))
    gain = (light + (1 - light) * edge).astype(np.float32)
    return _to_image(image * (gain if image.ndim == 2 else gain[:, :, None]))


def _haze(image: ImageArray, points: FloatArray, severity: float, rng: np.random.Generator) -> _Result:
    """Contrast lowered to 60 down to 5 % around a random grey level."""
    contrast = _geometric(0.6, 0.05, severity)
    level = np.float32(rng.uniform(60, 220))
    return _to_image(level + (image - level) * np.float32(contrast))


def _low_resolution(
    image: ImageArray, points: FloatArray, severity: float, rng: np.random.Generator
) -> _Result:
    """Shrunk until the face is 80 down to 14 pixels high, then enlarged back by a random interpolation."""
    shrink = min(1.0, _geometric(80, 14, severity) / _face_size(points))
    height, width = image.shape[:2]
    small_size = (max(4, round(width * shrink)), max(4, round(height * shrink)))
    small = cv2.resize(image, small_size, interpolation=cv2.INTER_AREA)
    enlarge = [cv2.INTER_NEAREST, cv2.INTER_LINEAR, cv2.INTER_CUBIC][int(rng.integers(3))]
    # cv2.resize keeps pixel corners aligned, so landmarks stay where they were
    return _uint8(cv2.resize(small, (width, height), interpolation=enlarge))


def _occlusion(image: ImageArray, points: FloatArray, severity: float, rng: np.random.Generator) -> _Result:
    """A rectangle or ellipse, sides 20 to 90 % of the face: flat, noisy, or another part of the image."""
    box = bounding_box(points)
    share = _geometric(0.2, 0.9, severity)
    width = max(2, round(box.width * share * rng.uniform(0.7, 1.3)))
    height = max(2, round(box.height * share * rng.uniform(0.7, 1.3)))
    x = round(box.x + rng.uniform(0, 1) * box.width - width / 2)
    y = round(box.y + rng.uniform(0, 1) * box.height - height / 2)
    mask = np.zeros(image.shape[:2], dtype=np.uint8)
    if rng.random() < 0.5:
        cv2.rectangle(mask, (x, y), (x + width, y + height), (1,), -1)
    else:
        center = (x + width // 2, y + height // 2)
        cv2.ellipse(mask, center, (width // 2, height // 2), rng.uniform(0, 180), 0, 360, (1,), -1)
    texture = rng.integers(3)
    if texture == 0:
        cover = np.empty_like(image)
        cover[...] = rng.integers(0, 256, size=image.shape[2:])
    elif texture == 1:
        cover = _to_image(rng.uniform(0, 255) + 40 * rng.standard_normal(image.shape, dtype=np.float32))
    else:
        shift = (int(rng.integers(image.shape[0])), int(rng.integers(image.shape[1])))
        cover = np.roll(image, shift, axis=(0, 1))[::-1]
    changed = image.copy()
    changed[mask > 0] = cover[mask > 0]
    inside = np.clip(np.rint(points).astype(int), 0, (image.shape[1] - 1, image.shape[0] - 1))
    return changed, points, mask[inside[:, 1], inside[:, 0]] > 0


def _rotation(image: ImageArray, points: FloatArray, severity: float, rng: np.random.Generator) -> _Result:
    """In-plane rotation about the face centre by 8 to 60 degrees, either way; the border is replicated."""
    angle = (8 + 52 * severity) * rng.choice([-1, 1])
    center = tuple(float(v) for v in points.mean(axis=0))
    matrix = cv2.getRotationMatrix2D(center, angle, 1.0)
    height, width = image.shape[:2]
    turned = cv2.warpAffine(image, matrix, (width, height), borderMode=cv2.BORDER_REPLICATE)
    moved = transform_points(np.asarray(matrix, dtype=np.float64), points)
    return _uint8(turned), moved, _seen(points)


def _small(image: ImageArray, points: FloatArray, severity: float, rng: np.random.Generator) -> _Result:
    """The whole image shrunk until the face is 110 down to 28 pixels high, as in a photo of a crowd."""
    shrink = min(1.0, _geometric(110, 28, severity) / _face_size(points))
    height, width = image.shape[:2]
    size = (max(32, round(width * shrink)), max(32, round(height * shrink)))
    small = cv2.resize(image, size, interpolation=cv2.INTER_AREA)
    # cv2.resize keeps pixel corners aligned, not their centres
    moved = (points + 0.5) * (size[0] / width, size[1] / height) - 0.5
    return _uint8(small), moved, _seen(points)


def _old_print(image: ImageArray, points: FloatArray, severity: float, rng: np.random.Generator) -> _Result:
    """A scan of an old print: grey or sepia, 80 down to 25 % of the contrast, soft, stained, with grain."""
    size = _face_size(points)
    gray = image if image.ndim == 2 else _uint8(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY))
    sigma = _geometric(0.004, 0.02, severity) * size
    soft = cv2.GaussianBlur(gray, (0, 0), sigma, borderType=cv2.BORDER_REPLICATE)
    # film has another response curve
    curve = np.exp(rng.uniform(-0.5, 0.5))
    level = rng.uniform(90, 200)
    light = 255 * (np.asarray(soft, dtype=np.float32) / 255) ** curve
    light = level + (light - level) * _geometric(0.8, 0.25, severity)
    coarse = rng.standard_normal((4, 4), dtype=np.float32)
    stains = np.asarray(cv2.resize(coarse, gray.shape[::-1], interpolation=cv2.INTER_CUBIC))
    fine = rng.standard_normal(gray.shape, dtype=np.float32)
    grain = np.asarray(cv2.GaussianBlur(fine, (0, 0), max(0.006 * size, 0.5)))
    light = light + _geometric(2, 14, severity) * (stains + grain / (grain.std() + 1e-6))
    if image.ndim == 2:
        return _to_image(light)
    tone = (1.0, 1.0, 1.0) if rng.random() < 0.5 else (1.07, 0.95, 0.76)
    return _to_image(light[:, :, None] * np.array(tone, dtype=np.float32))


def _cut(image: ImageArray, points: FloatArray, severity: float, rng: np.random.Generator) -> _Result:
    """The frame ends inside the face: 3 to 45 % of the landmark box is lost on one side of the photo."""
    share = 0.03 + 0.42 * severity
    box = bounding_box(points)
    height, width = image.shape[:2]
    left, top, right, bottom = 0, 0, width, height
    side = rng.integers(4)
    if side == 0:
        left = int(np.clip(round(box.x + share * box.width), 0, width - 4))
    elif side == 1:
        right = int(np.clip(round(box.x + (1 - share) * box.width), 4, width))
    elif side == 2:
        top = int(np.clip(round(box.y + share * box.height), 0, height - 4))
    else:
        bottom = int(np.clip(round(box.y + (1 - share) * box.height), 4, height))
    return image[top:bottom, left:right], points - (left, top), _seen(points)


_Function = Callable[[ImageArray, FloatArray, float, np.random.Generator], _Result]

#: kind of degradation -> function; box jitter is apart (`jitter_box`): it changes the box, not the image
DEGRADATIONS: dict[str, _Function] = {
    function.__name__.removeprefix("_"): function
    # a camera first moves, then blurs, then adds noise, then compresses
    for function in (
        _rotation, _cut, _occlusion, _shadow, _haze, _dark, _bright,
        _low_resolution, _blur, _motion, _old_print, _noise, _small, _jpeg,
    )
}  # fmt: skip

_ORDER = tuple(DEGRADATIONS)

# probabilities of the kinds, in the order above
_SHARES = np.array([2.0 if kind == "rotation" else 1.0 for kind in _ORDER]) / (len(_ORDER) + 1)
