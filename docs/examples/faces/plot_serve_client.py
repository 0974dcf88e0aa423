"""
A client of the server
======================

``facereject serve`` scores images for programs in any language: the body of a request is an image, the
response is JSON. Here the server runs in a thread of this script; usually it is a separate process.
"""

import io
import json
import threading
import urllib.request

import matplotlib.pyplot as plt
import numpy as np
import PIL.Image
from skimage.data import astronaut

from facereject import FaceRejector
from facereject.demo.material import clean_picture, degraded_pictures
from facereject.serve.app import make_app
from facereject.serve.models import ModelRegistry
from facereject.serve.server import address_of, bind, make_server

listener, ready = bind(port=0), threading.Event()
server = make_server(make_app(ModelRegistry("default", FaceRejector.pretrained())), on_ready=ready.set)
thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
thread.start()
ready.wait()
address = address_of(listener).rstrip("/")


# %%
# A client needs nothing of facereject. The query names a target: accept up to an expected error of 5 %.


def score(image, query="expected_error=5"):
    body = io.BytesIO()
    PIL.Image.fromarray(image).save(body, "PNG")
    request = urllib.request.Request(f"{address}/api/score?{query}", data=body.getvalue())
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)["faces"]


(face,) = score(astronaut())
print({name: face[name] for name in ("box", "expected_error", "accepted", "reason")})

# %%
# The same for degraded versions, with the landmarks of the response.

figure, axes = plt.subplots(2, 4, layout="constrained", figsize=(10, 5.6))
for ax, picture in zip(axes.flat, degraded_pictures(clean_picture()), strict=True):
    ax.imshow(picture.image)
    ax.set(xlim=(90, 350), ylim=(270, 30))
    ax.set_title(f"{picture.name}: no face", fontsize=9)
    for face in score(picture.image)[:1]:
        color = "tab:green" if face["accepted"] else "tab:red"
        ax.plot(*np.array(face["landmarks"]).T, ".", color=color, markersize=3)
        ax.set_title(f"{picture.name}: {face['expected_error']:.1f} %", fontsize=9)
    ax.axis("off")

# %%
# Videos (``/api/video``) answer with a line per frame, live frames go over a WebSocket (``/api/live``);
# ``/api/docs`` describes all of it.

server.should_exit = True
thread.join()
