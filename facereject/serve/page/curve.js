// The risk-coverage curve: mean error of what is accepted against its share.

import { GREEN, ink, sharp } from "./draw.js";

/** Draw points {coverage, error}; what is accepted is filled, the dot is where the target is. */
export function drawCurve(canvas, points, target) {
  // the first face has an error, too: the curve begins there
  const curve = [{ ...points[0], coverage: 0 }, ...points];
  const { context, width, height } = sharp(canvas);
  const [left, right, bottom] = [34, width - 8, height - 30];
  const highest = 1.1 * Math.max(...curve.map((point) => point.error));
  const x = (coverage) => left + coverage * (right - left);
  const y = (error) => bottom - (error / highest) * (bottom - 8);
  context.font = "12px system-ui, sans-serif";
  context.fillStyle = ink("soft");
  context.strokeStyle = ink("line");
  context.textAlign = "right";
  context.textBaseline = "middle";
  const stride = [0.5, 1, 2, 5, 10, 20, 50].find((step) => highest / step <= 4.5) ?? 100;
  for (let error = 0; error < highest; error += stride) {
    line(context, left, y(error), right, y(error));
    context.fillText(`${error}`, left - 6, y(error));
  }
  context.textBaseline = "top";
  for (const coverage of [0, 0.5, 1]) {
    context.textAlign = coverage === 1 ? "right" : coverage ? "center" : "left";
    context.fillText(`${100 * coverage} %${coverage === 0.5 ? " accepted" : ""}`, x(coverage), bottom + 4);
  }
  context.textAlign = "left";
  context.fillText("error %", left + 4, 0);
  context.beginPath();
  context.moveTo(x(0), bottom);
  for (const point of curve) if (point.coverage <= target.coverage) context.lineTo(x(point.coverage), y(point.error));
  context.lineTo(x(target.coverage), bottom);
  context.fillStyle = ink("good-ground");
  context.fill();
  context.beginPath();
  for (const point of curve) context.lineTo(x(point.coverage), y(point.error));
  context.strokeStyle = ink("accent");
  context.lineWidth = 2;
  context.stroke();
  context.lineWidth = 1;
  if (target.error !== null) {
    context.fillStyle = GREEN;
    context.strokeStyle = ink("ink");
    context.beginPath();
    context.arc(x(target.coverage), y(target.error), 6, 0, 2 * Math.PI);
    context.fill();
    context.stroke();
  }
}

function line(context, x0, y0, x1, y1) {
  context.beginPath();
  context.moveTo(x0, y0);
  context.lineTo(x1, y1);
  context.stroke();
}
