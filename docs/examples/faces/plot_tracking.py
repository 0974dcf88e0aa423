"""
Following a face through a video
================================

A synthetic clip: a camera moves over a photo while the image is blurred, hazy, rotated and covered in turn.
Faces are tracked from frame to frame, and every frame is scored.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from facereject import FaceRejector
from facereject.demo.material import FPS, SCENES, SIZE, clean_picture, video_frames
from facereject.outputs import VideoWriter
from facereject.outputs._drawing.faces import draw_faces
from facereject.tracking import Tracking

clip = Path(tempfile.mkdtemp()) / "clip.mp4"
with VideoWriter(clip, FPS, SIZE) as writer:
    for image in video_frames(clean_picture()):
        writer.write(image)

# %%
# ``rejector.video`` gives the frames one at a time, with their faces; ``smooth`` averages the uncertainty of
# each face over about this many seconds.

rejector = FaceRejector.pretrained()
frames = list(rejector.video(clip, Tracking(smooth=0.2)))
tracks = {face.track for frame in frames for face in frame.faces}
accepted = [bool(frame.faces) and all(face.accepted for face in frame.faces) for frame in frames]
print(f"{len(frames)} frames, tracks {sorted(tracks)}, {np.mean(accepted):.0%} of the frames accepted")

# %%
# The expected error along the clip. Grey: the image is degraded. Gaps: no face was found.

figure, ax = plt.subplots(layout="constrained", figsize=(8, 3.6))
for scene in SCENES:
    ax.axvspan(scene.start / FPS, (scene.end + 1) / FPS, color="0.92")
    ax.text((scene.start + scene.end) / 2 / FPS, 0.3, scene.kind, ha="center", color="0.4")
times = [frame.time_s for frame in frames]
error = np.array([max((face.expected_error for face in frame.faces), default=np.nan) for frame in frames])
ax.plot(times, error, color="tab:blue")
good = np.where(accepted, error, np.nan)
ax.plot(times, good, ".", color="tab:green", label="accepted")
ax.plot(times, np.where(accepted, np.nan, error), ".", color="tab:red", label="rejected")
ax.set(xlabel="seconds", ylabel="expected error, percent", ylim=0)
ax.legend(loc="upper right")

# %%
# Four frames as ``facereject filter --annotate`` draws them.

figure, axes = plt.subplots(2, 2, layout="constrained", figsize=(8, 6.4))
for ax, index in zip(axes.flat, (4, 42, 66, 91), strict=True):
    ax.imshow(draw_faces(frames[index].image, frames[index].faces))
    ax.set_title(f"{frames[index].time_s:.1f} s")
    ax.axis("off")
