"""WS /api/live: frames are scored as the library scores them; the newest wins; nobody can pile up work."""

from __future__ import annotations

import json
import threading
import time

import numpy as np
import pytest
from serving import jpeg, pixels, running
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from facereject.faces import DomainMonitor
from facereject.serve.limits import ServeLimits
from facereject.tracking.tracker import FaceTracker


def ask(socket, message) -> dict:
    socket.send(message)
    return json.loads(socket.recv(120))


def test_frames_are_those_of_a_tracker(server, rejector, photo):
    frames = [jpeg(np.roll(photo, shift, axis=1)) for shift in range(5)]
    tracker = FaceTracker(rejector)
    with connect(server.socket_address) as socket:
        for number, frame in enumerate(frames):
            answer = ask(socket, frame)
            (truth,) = tracker.update(pixels(frame))
            (found,) = answer["faces"]
            assert (answer["frame"], answer["width"], answer["height"]) == (number, 320, 240)
            # two decoders of JPEG differ by a grey level
            assert np.abs(np.array(found["landmarks"]) - truth.face.landmarks).max() < 2
            assert found["track"] == truth.track == 0
            assert found["accepted"] == truth.face.accepted


def test_faces_seen_are_compared_with_the_calibration_faces(server, rejector, photo):
    """Forty frames of one person: the median typicality, as the library tells it."""
    monitor, tracker = DomainMonitor(rejector), FaceTracker(rejector)
    with connect(server.socket_address) as socket:
        for shift in range(41):
            frame = jpeg(np.roll(photo, shift % 3, axis=1))
            domain = ask(socket, frame)["domain"]
            monitor.add([found.face for found in tracker.update(pixels(frame))])
    assert domain["typicality"] == pytest.approx(monitor.typicality, abs=0.1)
    assert domain["unusual"] == monitor.unusual
    assert bool(domain["sentence"]) == domain["unusual"]
    # another model starts anew
    with connect(server.socket_address) as socket:
        ask(socket, json.dumps({"model": "thorough"}))
        assert ask(socket, jpeg(np.zeros((240, 320, 3), np.uint8)))["domain"]["typicality"] is None


def test_a_black_frame_has_no_face(server):
    with connect(server.socket_address) as socket:
        answer = ask(socket, jpeg(np.zeros((240, 320, 3), np.uint8)))
    assert (answer["accepted"], answer["reason"], answer["faces"]) == (False, "no_face", [])


def test_the_target_changes_without_a_restart(server, photo_jpeg):
    with connect(server.socket_address) as socket:
        assert ask(socket, photo_jpeg)["accepted"]
        target = ask(socket, json.dumps({"expected_error": 1.0}))["target"]
        assert (target["kind"], target["value"], target["coverage"]) == ("expected_error", 1.0, 0.0)
        answer = ask(socket, photo_jpeg)
        assert not answer["accepted"]
        assert answer["faces"][0]["track"] == 0
        ask(socket, json.dumps({"coverage": 1}))
        assert ask(socket, photo_jpeg)["accepted"]


def test_the_model_changes_without_a_restart(server, photo_jpeg):
    with connect(server.socket_address) as socket:
        before = ask(socket, photo_jpeg)["faces"][0]["uncertainty"]
        ask(socket, json.dumps({"model": "thorough"}))
        assert ask(socket, photo_jpeg)["faces"][0]["uncertainty"] != before


@pytest.mark.parametrize(
    "text",
    ["", "no json", "[]", "3", '{"model": 3}', '{"model": "../x"}', '{"coverage": 7}', "[" * 100_000]
    + [f'{{"expected_error": {number}}}' for number in ("1e999", "9" * 400, "9" * 5000, "[]", "{}")],
    ids=lambda text: text[:24],
)
def test_a_message_that_makes_no_sense_changes_nothing(server, photo_jpeg, text):
    with connect(server.socket_address) as socket:
        assert ask(socket, text)["error"]
        assert ask(socket, photo_jpeg)["accepted"]


@pytest.mark.parametrize(
    "data", [b"", b"no jpeg", b"\x89PNG\r\n\x1a\n" + bytes(50), b"\xff\xd8\xff" + bytes(50)]
)
def test_a_broken_frame_is_told_and_the_next_one_scored(server, photo_jpeg, data):
    with connect(server.socket_address) as socket:
        answer = ask(socket, data)
        assert (answer["frame"], bool(answer["error"])) == (0, True)
        assert ask(socket, photo_jpeg)["accepted"]


def test_a_frame_of_too_many_pixels_is_not_decoded(rejector, photo_jpeg):
    with (
        running(rejector, limits=ServeLimits(frame_pixels=1000)) as server,
        connect(server.socket_address) as socket,
    ):
        assert "320 x 240 pixels are more than the limit" in ask(socket, photo_jpeg)["error"]


def test_a_message_of_too_many_bytes_ends_the_socket(rejector):
    with (
        running(rejector, limits=ServeLimits(frame_bytes=1000)) as server,
        connect(server.socket_address) as socket,
    ):
        socket.send(bytes(2000))
        with pytest.raises(ConnectionClosed) as closed:
            socket.recv(30)
        assert closed.value.rcvd.code == 1009


class Gated:
    """A rejector that waits before each whole picture, and counts how many are looked at side by side."""

    def __init__(self, rejector) -> None:
        self._rejector, self.go = rejector, threading.Semaphore(0)
        self.lock, self.inside, self.most = threading.Lock(), 0, 0
        self.detector = self

    def __getattr__(self, name):
        return getattr(self._rejector, name)

    def __call__(self, image):
        return self._rejector(image)

    def detect(self, gray):
        if gray.shape == (100, 100):
            return []
        with self.lock:
            self.inside += 1
            self.most = max(self.most, self.inside)
        assert self.go.acquire(timeout=30)
        with self.lock:
            self.inside -= 1
        return []


def test_a_failure_on_a_frame_is_told_without_details(rejector, photo_jpeg):
    gated = Gated(rejector)
    gated.go = None
    with running(gated) as server, connect(server.socket_address) as socket:
        assert ask(socket, photo_jpeg) == {"frame": 0, "error": "the server failed on this frame"}
        assert ask(socket, photo_jpeg)["frame"] == 1


def test_the_newest_frame_wins_and_one_is_in_work(rejector, photo_jpeg):
    gated = Gated(rejector)
    black = jpeg(np.zeros((240, 320, 3), np.uint8))
    with running(gated) as server, connect(server.socket_address) as socket:
        socket.send(photo_jpeg)
        while not gated.inside:
            time.sleep(0.01)
        for _ in range(20):
            socket.send(black)
        # all of them have arrived when the server has answered a ping behind them
        assert socket.ping().wait(10)
        for _ in range(5):
            gated.go.release()
        numbers = [json.loads(socket.recv(30))["frame"] for _ in range(2)]
        with pytest.raises(TimeoutError):
            socket.recv(0.3)
    assert numbers == [0, 20]
    assert gated.most == 1


def test_more_clients_than_places_are_told_when_to_come_again(rejector, photo_jpeg):
    with running(rejector, limits=ServeLimits(live=2)) as server:
        with connect(server.socket_address), connect(server.socket_address):
            with pytest.raises(InvalidStatus) as refused:
                connect(server.socket_address)
            assert refused.value.response.status_code == 503
            assert int(refused.value.response.headers["Retry-After"]) > 0
        end = time.monotonic() + 20
        while True:
            try:
                with connect(server.socket_address) as socket:
                    assert ask(socket, photo_jpeg)["accepted"]
                break
            except InvalidStatus:
                assert time.monotonic() < end
                time.sleep(0.05)


def test_a_client_that_sends_nothing_is_sent_away(rejector):
    with (
        running(rejector, limits=ServeLimits(idle_s=0.3)) as server,
        connect(server.socket_address) as socket,
    ):
        with pytest.raises(ConnectionClosed) as closed:
            socket.recv(30)
        assert closed.value.rcvd.code == 1001


def test_eight_clients_all_get_their_turn(rejector, photo_jpeg):
    counts = [0] * 8
    with running(rejector) as server:
        stop, together = threading.Event(), threading.Barrier(8)

        def watch(number):
            with connect(server.socket_address, open_timeout=60) as socket:
                together.wait(120)
                while not stop.is_set():
                    assert "faces" in ask(socket, photo_jpeg)
                    counts[number] += 1

        threads = [threading.Thread(target=watch, args=[number]) for number in range(8)]
        for thread in threads:
            thread.start()
        end = time.monotonic() + 240
        while min(counts) < 5 and time.monotonic() < end:
            time.sleep(0.05)
        stop.set()
        for thread in threads:
            thread.join(120)
    assert min(counts) >= 5
    assert max(counts) <= 3 * min(counts)
