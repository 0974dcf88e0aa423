"""
Your own detector
=================

Any object with ``detect(image)`` can be the detector; here, OpenCV's Haar cascade.
"""

import cv2
import matplotlib.pyplot as plt
from skimage.data import astronaut

from facereject import FaceRejector
from facereject.faces import Box, Detection
from facereject.outputs._drawing.faces import draw_faces


class HaarDetector:
    color = "gray"

    def __init__(self):
        self.model = cv2.CascadeClassifier(cv2.data.haarcascades + "haarcascade_frontalface_default.xml")

    def detect(self, image):
        boxes, _, scores = self.model.detectMultiScale3(image, outputRejectLevels=True, minSize=(60, 60))
        return [
            Detection(Box(*map(float, box)), float(score)) for box, score in zip(boxes, scores, strict=True)
        ]


# %%
# Its boxes are placed differently, and dlib's landmarks depend on the box. On this clean face that changes
# little; on difficult ones it may. Train the model with the detector you use
# (``train_face_rejector(detector=…)``).

photo = astronaut()
figure, axes = plt.subplots(1, 2, layout="constrained", figsize=(8, 4.4))
for ax, (name, detector) in zip(axes, {"dlib": None, "Haar": HaarDetector()}.items(), strict=True):
    rejector = FaceRejector.pretrained(detector=detector)
    faces = rejector(photo)
    for face in faces:
        print(name, face)
    ax.imshow(draw_faces(photo, faces)[:300, 60:360])
    ax.set_title(name)
    ax.axis("off")
