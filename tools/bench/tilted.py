"""Tilted faces, with and without locating them on upright crops: python tools/bench/tilted.py FOLDER

The photographs of 300-W that were set aside in training are turned by some angles. Faces missed (or off by
more than 60 % of the eye distance), mean error of the landmarks, AuRC, and the share of all faces that can be
accepted with a mean error of 2.5 %. Three ways of turning the crops were compared on these photographs, so
the figures are somewhat too good.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import cv2
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from facereject.faces import FaceDataset, FaceRejector
from facereject.faces.detectors.yunet import _Search
from facereject.faces.images import Views
from facereject.losses import landmark_nme
from facereject.metrics import aurc
from tools.bench.boxes import usable
from tools.train.default_model import set_aside

LEVELLED = _Search.levelled
FARTHEST, TARGET = 60.0, 2.5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", help="annotated photographs (300-W layout)")
    parser.add_argument("--degrees", type=float, nargs="+", default=[0, 15, 30, 45, 60])
    parser.add_argument("--model", default="default")
    options = parser.parse_args()
    cv2.setNumThreads(1)
    rejector = FaceRejector.pretrained(options.model)
    _, test, _, copies = set_aside(FaceDataset.load(options.folder))
    samples = [sample for i, sample in enumerate(test) if i not in copies]
    print(f"{options.model}, {len(samples)} faces")
    for degrees in options.degrees:
        for name, step in ("as found", lambda search, face: face), ("on upright crops", LEVELLED):
            _Search.levelled = step
            faces = []
            for sample in samples:
                image = Views(sample.load()).rgb
                height, width = image.shape[:2]
                turn = cv2.getRotationMatrix2D((width / 2, height / 2), degrees, 1.0)
                truth = sample.landmarks @ turn[:, :2].T + turn[:, 2]
                found = rejector(cv2.warpAffine(image, turn, (width, height)))
                errors = [
                    (float(landmark_nme(truth[None], face.landmarks[None])[0]), face.uncertainty)
                    for face in found
                ]
                faces.append(min(errors, default=(np.inf, np.inf)))
            losses, uncertainty = np.array([face for face in faces if face[0] <= FARTHEST]).T
            print(
                f"{degrees:3.0f} degrees, {name:16}  missed {len(samples) - len(losses):3}, "
                f"mean error {losses.mean():.2f}, AuRC {aurc(losses, uncertainty):.3f}, "
                f"usable {usable(losses, uncertainty, len(samples), TARGET):.1%}",
                flush=True,
            )


if __name__ == "__main__":
    main()
