// The camera: frames go to the server as JPEG, one in work at a time; each comes back with its faces.

import { LiveSocket } from "./api.js";

const QUALITY = 0.85;

/** A frame on its way: its pixels, its JPEG, and when it was captured. */
class Shot {
  constructor() {
    this.canvas = document.createElement("canvas");
    this.context = this.canvas.getContext("2d");
  }

  take(video, capturedAt) {
    const [width, height] = [video.videoWidth, video.videoHeight];
    if (this.canvas.width !== width || this.canvas.height !== height) {
      this.canvas.width = width;
      this.canvas.height = height;
    }
    this.context.drawImage(video, 0, 0);
    this.capturedAt = capturedAt;
    return new Promise((done) => this.canvas.toBlob((blob) => {
      this.blob = blob;
      done(this);
    }, "image/jpeg", QUALITY));
  }
}

/** Captures, sends, and tells what comes back: `onAnswer(answer, shot)`. */
export class Camera {
  #video = document.createElement("video");
  #free = [new Shot(), new Shot(), new Shot()];
  #stream = null;
  #fresh = null;
  #encoding = false;
  #next = null;
  #sent = null;
  #number = 0;
  #socket;

  constructor({ onAnswer, onEnd, onConnection, settings }) {
    Object.assign(this, { onAnswer, onEnd, onConnection, settings });
    this.#video.muted = true;
    this.#video.playsInline = true;
    this.#socket = new LiveSocket({
      onOpen: () => {
        this.#number = 0;
        this.#release(this.#sent);
        this.#sent = null;
        this.#socket.send(JSON.stringify(this.settings()));
        this.onConnection(true);
        this.#pump();
      },
      onAnswer: (answer) => this.#answered(answer),
      onLost: () => this.onConnection(false),
    });
  }

  get running() {
    return this.#stream !== null;
  }

  /** Open a device; rejects with the browser's error if it does not give one. */
  async start(deviceId, width, height) {
    this.stop();
    if (!navigator.mediaDevices) throw new Error("no camera");
    const wanted = { width: { ideal: width }, height: { ideal: height }, frameRate: { ideal: 30 } };
    if (deviceId) wanted.deviceId = { exact: deviceId };
    const stream = await navigator.mediaDevices.getUserMedia({ video: wanted, audio: false });
    this.#stream = stream;
    stream.getVideoTracks()[0].addEventListener("ended", () => {
      if (this.#stream === stream) {
        this.stop();
        this.onEnd("The camera was unplugged or taken away.");
      }
    });
    this.#video.srcObject = stream;
    await this.#video.play();
    this.#socket.open();
    this.#watch(stream);
  }

  stop() {
    this.#socket.close();
    this.#stream?.getTracks().forEach((track) => track.stop());
    this.#stream = null;
    this.#video.srcObject = null;
    this.#fresh = null;
    for (const shot of [this.#next, this.#sent]) this.#release(shot);
    this.#next = this.#sent = null;
  }

  /** Tell the server about another target or model. */
  changed() {
    this.#socket.send(JSON.stringify(this.settings()));
  }

  #watch(stream) {
    const seen = (now, metadata) => {
      if (this.#stream !== stream) return;
      this.#fresh = metadata?.captureTime ?? now;
      this.#pump();
      this.#ask(seen);
    };
    this.#ask(seen);
  }

  #ask(callback) {
    if (this.#video.requestVideoFrameCallback) this.#video.requestVideoFrameCallback(callback);
    else setTimeout(() => requestAnimationFrame((now) => callback(now)), 15);
  }

  // the next frame is made ready while one is in work, and the newest is taken
  async #pump() {
    if (this.#next && this.#socket.ready && !this.#sent) this.#send();
    if (this.#fresh === null || this.#encoding || this.#next || !this.#socket.ready) return;
    const shot = this.#free.pop();
    if (!shot) return;
    const capturedAt = this.#fresh;
    this.#fresh = null;
    this.#encoding = true;
    await shot.take(this.#video, capturedAt);
    this.#encoding = false;
    if (!this.#stream || !shot.blob) {
      this.#release(shot);
      return;
    }
    this.#next = shot;
    this.#pump();
  }

  #send() {
    this.#sent = this.#next;
    this.#next = null;
    this.#sent.number = this.#number++;
    this.#socket.send(this.#sent.blob);
  }

  #answered(answer) {
    if (answer.frame === undefined) return;
    const shot = this.#sent;
    if (!shot || answer.frame !== shot.number) return;
    this.#sent = null;
    this.#pump();
    if (this.#stream && !answer.error) this.onAnswer(answer, shot);
    this.#release(shot);
  }

  #release(shot) {
    if (shot && !this.#free.includes(shot)) this.#free.push(shot);
  }
}

/** The cameras there are; their names are known once one may be used. */
export async function devices() {
  if (!navigator.mediaDevices?.enumerateDevices) return [];
  const found = await navigator.mediaDevices.enumerateDevices();
  return found.filter((device) => device.kind === "videoinput" && device.deviceId);
}
