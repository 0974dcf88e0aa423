"""Fits the map from the 468 points of the face mesh to the 68 of 300-W that comes with the package.

    facereject models get mesh
    python -m tools.train.mesh_map ../shared/data/faces/300w

The photographs are those that the models are fitted to (tools/train/default_model.py sets a fifth aside). The
regularisation is chosen by five-fold cross-validation over photographs; the error on those set aside is
printed beside that of the fixed correspondences.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import facereject
from facereject.faces import FaceDataset
from facereject.faces.datasets import match_face
from facereject.faces.detectors.yunet import YuNetDetector
from facereject.faces.landmarks.conversion import FIXED, MeshMap
from facereject.faces.landmarks.face_mesh import FaceMesh
from facereject.faces.training.train import photo_folds
from facereject.losses import landmark_nme
from tools.train.default_model import set_aside

MAP = Path(facereject.__file__).parent / "pretrained" / "maps" / "mesh-68.safetensors"
ALPHAS = (0.003, 0.03, 0.3, 3.0)

# faces that the mesh lost, in percent by the fixed correspondences, teach nothing about the map
LOST = 15.0


def meshes_of(samples):
    """Meshes and annotation of the faces that are found, and their photographs."""
    detector, predictor = YuNetDetector(), FaceMesh()
    meshes, targets, photos = [], [], []
    for sample in samples:
        image = sample.load()
        found = match_face(detector.detect(image), sample.landmarks)
        if found is not None:
            meshes.append(predictor(image, found.box))
            targets.append(sample.landmarks)
            photos.append(sample.photo)
    return np.array(meshes), np.array(targets), photos


def errors(meshes, targets, mapped):
    return np.array([landmark_nme(t, mapped(m)) for m, t in zip(meshes, targets, strict=True)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", help="folder with annotated photographs (300-W layout)")
    parser.add_argument("--output", type=Path, default=MAP)
    options = parser.parse_args()
    fit, test, group, copies = set_aside(FaceDataset.load(options.data))
    test = [sample for i, sample in enumerate(test) if i not in copies]
    meshes, targets, photos = meshes_of(fit)

    def fixed(mesh):
        return mesh[list(FIXED)]

    good = errors(meshes, targets, fixed) < LOST
    meshes, targets = meshes[good], targets[good]
    fold = photo_folds([group[p] for p, kept in zip(photos, good, strict=True) if kept], 5, 0)
    scores = {}
    for alpha in ALPHAS:
        parts = []
        for k in range(5):
            fitted = MeshMap.fit(meshes[fold != k], targets[fold != k], alpha)
            parts.append(errors(meshes[fold == k], targets[fold == k], fitted))
        scores[alpha] = float(np.concatenate(parts).mean())
        print(f"alpha {alpha:g}: {scores[alpha]:.3f} % left out, {len(meshes)} faces")
    best = min(scores, key=scores.get)
    fitted = MeshMap.fit(meshes, targets, best)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    fitted.save(str(options.output), alpha=best, faces=len(meshes), cross_validated_error=scores[best])
    held, truth, _ = meshes_of(test)
    for name, mapped in (("fixed", fixed), ("fitted", fitted)):
        found = errors(held, truth, mapped)
        print(f"{name}: {found.mean():.2f} % mean, {np.median(found):.2f} % median on {len(found)} set aside")


if __name__ == "__main__":
    main()
