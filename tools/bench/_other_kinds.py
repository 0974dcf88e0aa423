"""Photos made into faces of another kind, with their landmarks: stand-ins for other data sets."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np

from facereject.faces import FaceDataset, load_rgb


def drawing(image, points, rng):
    """A pencil drawing: the image over a blurred copy of it."""
    grey = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)
    blurred = cv2.GaussianBlur(255 - grey, (0, 0), 4)
    lines = cv2.divide(grey, 255 - blurred, scale=255)
    return _grey(1.6 * (lines.astype(float) - 128) + 128), points


def line_drawing(image, points, rng):
    """Black lines on white."""
    grey = cv2.GaussianBlur(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY), (5, 5), 0)
    method = cv2.ADAPTIVE_THRESH_GAUSSIAN_C
    return _grey(cv2.adaptiveThreshold(grey, 255, method, cv2.THRESH_BINARY, 9, 4)), points


def thermal(image, points, rng):
    """False colours of a blurred, inverted image."""
    grey = cv2.equalizeHist(cv2.GaussianBlur(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY), (0, 0), 2.5))
    grey = np.clip(180 - 0.5 * grey + rng.normal(0, 4, grey.shape), 0, 255).astype(np.uint8)
    return cv2.cvtColor(cv2.applyColorMap(grey, cv2.COLORMAP_INFERNO), cv2.COLOR_BGR2RGB), points


def negative(image, points, rng):
    """Light is dark."""
    return 255 - image, points


def halftone(image, points, rng):
    """A scan of a print: screen, scratches, yellow paper."""
    grey = cv2.GaussianBlur(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY).astype(float), (0, 0), 1.0)
    height, width = grey.shape
    y, x = np.mgrid[:height, :width]
    screen = 28 * (np.sin(1.4 * (x + y)) + np.sin(1.4 * (x - y)))
    grey = 60 + 0.55 * grey + screen + rng.normal(0, 9, grey.shape)
    for start, end in rng.integers(0, [width, height], size=(6, 2, 2)).tolist():
        cv2.line(grey, start, end, 220, 1)
    grey = np.clip(grey, 0, 255)
    return np.stack([grey, 0.93 * grey, 0.78 * grey], axis=2).astype(np.uint8), points


def fisheye(image, points, rng):
    """A wide lens close to the face: its middle bulges."""
    centre, size = points.mean(axis=0), float(np.ptp(points, axis=0).max())
    radius = np.linspace(0, 2, 20001)
    source = radius * np.minimum(0.55 + 0.9 * radius**2, 2.0)

    def scaled(x, y, old, new):
        dx, dy = (x - centre[0]) / size, (y - centre[1]) / size
        r = np.maximum(np.hypot(dx, dy), 1e-6)
        factor = np.interp(r, old, new) / r
        return centre[0] + size * dx * factor, centre[1] + size * dy * factor

    return _warped(
        image,
        points,
        lambda x, y: scaled(x, y, radius, source),
        lambda x, y: scaled(x, y, source, radius),
    )


def infant(image, points, rng):
    """Proportions of an infant: a high forehead, a short lower face, large eyes."""
    eyes = [points[36:42].mean(axis=0), points[42:48].mean(axis=0)]
    level = float(points[36:48, 1].mean())
    reach = 0.38 * float(np.linalg.norm(points[36] - points[45]))
    radius = np.linspace(0, 1, 2001)
    source = radius * (0.72 + 0.28 * radius)

    def along(y, lower, upper):
        return level + (y - level) * np.where(y > level, lower, upper)

    def bulge(x, y, old, new):
        for eye_x, eye_y in eyes:
            dx, dy = x - eye_x, y - eye_y
            r = np.maximum(np.hypot(dx, dy) / reach, 1e-6)
            factor = np.where(r < 1, np.interp(r, old, new) / r, 1.0)
            x, y = eye_x + dx * factor, eye_y + dy * factor
        return x, y

    def forward(x, y):
        x, y = bulge(x, y, source, radius)
        return x, along(y, 0.72, 1.25)

    return _warped(
        image, points, lambda x, y: bulge(x, along(y, 1 / 0.72, 1 / 1.25), radius, source), forward
    )


def sepia(image, points, rng):
    """Brown tones of an old photo."""
    tones = np.array([[0.393, 0.769, 0.189], [0.349, 0.686, 0.168], [0.272, 0.534, 0.131]])
    return np.clip(image.astype(float) @ tones.T, 0, 255).astype(np.uint8), points


def posterised(image, points, rng):
    """Four levels of every colour."""
    return image // 64 * 64 + 32, points


def infrared(image, points, rng):
    """Skin is bright and smooth, as in the near infrared: mostly the red channel."""
    colours = image.astype(float)
    values = np.clip(1.6 * colours[:, :, 0] - 0.5 * colours[:, :, 2] + 10, 0, 255)
    return _grey(cv2.GaussianBlur(values, (0, 0), 1.2)), points


def vignette(image, points, rng):
    """Dark towards the corners of the face."""
    centre, size = points.mean(axis=0), np.ptp(points, axis=0).max()
    y, x = np.mgrid[: image.shape[0], : image.shape[1]]
    away = np.hypot(x - centre[0], y - centre[1]) / size
    return (image * np.clip(1.1 - 1.3 * away**2, 0.02, 1)[:, :, None]).astype(np.uint8), points


def stretched(image, points, rng):
    """Wrong aspect ratio: a third wider."""
    height, width = image.shape[:2]
    return cv2.resize(image, (round(1.35 * width), height)), points * [1.35, 1]


def night_vision(image, points, rng):
    """Green and noisy."""
    grey = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY).astype(float)
    grey = 255 * (grey / 255) ** 0.6 * 0.7 + rng.normal(0, 18, grey.shape)
    return np.clip(np.stack([0.2 * grey, grey, 0.25 * grey], axis=2), 0, 255).astype(np.uint8), points


def solarised(image, points, rng):
    """What is bright becomes dark."""
    return np.where(image > 128, 255 - image, image).astype(np.uint8), points


def embossed(image, points, rng):
    """A relief lit from the upper left."""
    grey = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY).astype(float)
    slope = np.array([[-2, -1, 0], [-1, 1, 1], [0, 1, 2]])
    return _grey(0.5 * cv2.filter2D(grey, -1, slope) + 64), points


def grey(image, points, rng):
    """No colour: no other kind, as landmarks are placed on grey images."""
    return _grey(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)), points


def mosaic(image, points, rng):
    """Tiles of a twentieth of the face."""
    tile = max(2, round(np.ptp(points, axis=0).max() / 20))
    height, width = image.shape[:2]
    small = cv2.resize(image, (-(-width // tile), -(-height // tile)), interpolation=cv2.INTER_AREA)
    large = cv2.resize(small, (small.shape[1] * tile, small.shape[0] * tile), interpolation=cv2.INTER_NEAREST)
    return np.ascontiguousarray(large[:height, :width]), points


def painting(image, points, rng):
    """Flat patches of strong colours."""
    smooth = image
    for _ in range(4):
        smooth = cv2.bilateralFilter(smooth, 9, 40, 7)
    vivid = cv2.cvtColor(smooth, cv2.COLOR_RGB2HSV)
    vivid[:, :, 1] = np.minimum(255, 1.8 * vivid[:, :, 1]).astype(np.uint8)
    return cv2.cvtColor(vivid, cv2.COLOR_HSV2RGB), points


#: kinds that no training image has
KINDS = {
    "drawing": drawing,
    "line drawing": line_drawing,
    "thermal": thermal,
    "negative": negative,
    "halftone": halftone,
    "fisheye": fisheye,
    "infant": infant,
}

#: more of them; `tools/bench/units.py` says which were seen before which choice
MORE_KINDS = {
    "sepia": sepia,
    "posterised": posterised,
    "infrared": infrared,
    "vignette": vignette,
    "stretched": stretched,
    "night vision": night_vision,
    "solarised": solarised,
    "embossed": embossed,
    "grey": grey,
    "mosaic": mosaic,
    "painting": painting,
}


def make_kind(name: str, samples, folder: Path) -> FaceDataset:
    """Write images of a kind with their landmarks into a folder, unless they are there, and load them."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    for number, sample in enumerate(samples):
        file = folder / f"{number:04}.png"
        original = load_rgb(sample.image_path), np.asarray(sample.landmarks, float)
        image, points = (KINDS | MORE_KINDS)[name](*original, rng)
        if not file.is_file():
            cv2.imwrite(str(file), cv2.cvtColor(image, cv2.COLOR_RGB2BGR))
            lines = [f"{x + 1:.3f} {y + 1:.3f}" for x, y in points]
            text = ["version: 1", f"n_points: {len(points)}", "{", *lines, "}", ""]
            file.with_suffix(".pts").write_text("\n".join(text))
    return FaceDataset.load(folder)


def _grey(values):
    return np.repeat(np.clip(values, 0, 255).astype(np.uint8)[:, :, None], 3, axis=2)


def _warped(image, points, backward, forward):
    height, width = image.shape[:2]
    y, x = np.mgrid[:height, :width].astype(np.float64)
    places = [part.astype(np.float32) for part in backward(x, y)]
    moved = cv2.remap(image, *places, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    return moved, np.column_stack(forward(points[:, 0], points[:, 1]))
