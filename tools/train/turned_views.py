"""Turned heads from photos taken from the front: the image is warped with the rotated mesh of the face.

A photo from the front teaches a score nothing about turned heads, and landmarks for real ones would have to
be placed by hand. The mesh has a depth for each of its points, so that the face, with the head around it, can
be turned by a known angle: piecewise affine over a triangulation, far triangles first. The landmarks turn
with it. On the side that turns away, the points of the jaw move to the visible outline, as in the mark-up of
300-W.
"""

from __future__ import annotations

import cv2
import numpy as np
from scipy.spatial import ConvexHull, Delaunay

from facereject.faces.landmarks.face_mesh import FaceMesh, Square, look_3d
from facereject.faces.landmarks.mesh_map import FIXED

# rings around the face, which turn with the head: their size in sizes of the face, and how much they turn
_RINGS = ((1.2, 1.0), (1.6, 0.6))

# the axis of the head lies behind the tip of the nose by this many face widths
_AXIS = 0.75

# share of the points that keep their depth; those behind are brought nearer by this factor
_BACK, _FLATTENED = 0.7, 0.35

# half height of the band in which the outline of the face is sought, in face heights
_BAND = 0.03


def mesh_3d(image, box):
    """The mesh of the face in ``box`` with depths, (468, 3) in pixels."""
    square = Square.of_mesh(FaceMesh().mesh(image, box).points)
    mesh = look_3d(image, square)[0]
    # A photo from the front hardly shows what lies far back: turned in full, it would be torn.
    back = np.quantile(mesh[:, 2], _BACK)
    mesh[:, 2] = np.minimum(mesh[:, 2], back + _FLATTENED * (mesh[:, 2] - back))
    return mesh


def turned_view(image, mesh, landmarks, yaw, pitch):
    """The photo with its head turned, and the landmarks there.

    Parameters
    ----------
    image : ndarray of shape (H, W, 3), uint8
        A face from the front.
    mesh : ndarray of shape (468, 3)
        See `mesh_3d`.
    landmarks : ndarray of shape (68, 2)
        The points of 300-W in pixels.
    yaw, pitch : float
        Degrees; to the right of the image, and up.
    """
    turn = _turn(mesh, yaw, pitch)
    outline = mesh[ConvexHull(mesh[:, :2]).vertices]
    middle = mesh.mean(axis=0)
    source, moved = [mesh], [turn(mesh)]
    for size, share in _RINGS:
        ring = np.column_stack([middle[:2] + size * (outline - middle)[:, :2], outline[:, 2]])
        ring[:, :2] = np.clip(ring[:, :2], 1, np.array(image.shape[1::-1]) - 2)
        source.append(ring)
        moved.append(ring + share * (turn(ring) - ring))
    frame = _frame(image, mesh[:, 2].max())
    source, moved = (np.concatenate([*parts, frame]) for parts in (source, moved))
    points = turn(np.column_stack([landmarks, mesh[list(FIXED), 2]]))
    return _warped(image, source, moved), _on_outline(points, turn(mesh), yaw)


def _turn(mesh, yaw, pitch):
    """The rotation about the axis of the head, under parallel projection."""
    a, b = np.radians(yaw), np.radians(pitch)
    about_y = np.array([[np.cos(a), 0, -np.sin(a)], [0, 1, 0], [np.sin(a), 0, np.cos(a)]])
    about_x = np.array([[1, 0, 0], [0, np.cos(b), np.sin(b)], [0, -np.sin(b), np.cos(b)]])
    axis = mesh.mean(axis=0)
    axis[2] = mesh[:, 2].min() + _AXIS * np.ptp(mesh[:, 0])
    return lambda points: (points - axis) @ (about_x @ about_y).T + axis


def _frame(image, depth):
    """Points along the border of the image, which stay where they are."""
    height, width = image.shape[:2]
    along = np.linspace(0, 1, 9)
    top = np.column_stack([along * (width - 1), np.zeros(9)])
    left = np.column_stack([np.zeros(7), along[1:-1] * (height - 1)])
    places = np.concatenate([top, top + [0, height - 1], left, left + [width - 1, 0]])
    return np.column_stack([places, np.full(len(places), depth)])


def _warped(image, source, moved):
    triangles = Delaunay(source[:, :2]).simplices
    # from the place in the new image to that in the old one
    corners = np.concatenate([moved[triangles][:, :, :2], np.ones((len(triangles), 3, 1))], axis=2)
    flat = np.abs(np.linalg.det(corners)) < 1e-6
    triangles, corners = triangles[~flat], corners[~flat]
    back = np.linalg.solve(corners, source[triangles][:, :, :2])
    owner = np.full(image.shape[:2], -1, dtype=np.int32)
    for number in np.argsort(-moved[triangles][:, :, 2].mean(axis=1)):
        polygon = np.round(16 * moved[triangles[number]][:, :2]).astype(np.int32)
        cv2.fillConvexPoly(owner, polygon, int(number), shift=4)
    y, x = np.mgrid[: image.shape[0], : image.shape[1]]
    here = np.stack([x, y, np.ones_like(x)], axis=2).astype(np.float64)
    places = np.einsum("hwi,hwij->hwj", here, back[owner])
    places[owner < 0] = here[owner < 0][:, :2]
    maps = places.astype(np.float32)
    return cv2.remap(image, maps[:, :, 0], maps[:, :, 1], cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)


def _on_outline(points, mesh, yaw):
    """The points in the image, those of the far half of the jaw on the visible outline of the face."""
    placed = points[:, :2].copy()
    away, far = (1, range(9, 17)) if yaw > 0 else (-1, range(8))
    band = _BAND * np.ptp(mesh[:, 1])
    for k in far:
        near = np.abs(mesh[:, 1] - placed[k, 1]) < band
        if near.any():
            placed[k, 0] = away * max(away * placed[k, 0], (away * mesh[near, 0]).max())
    return placed
