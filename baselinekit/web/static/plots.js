// Small pictures of numbers, as SVG, with the same numbers as a text for those who do not see them.
import {h} from "./dom.js";

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 320, HEIGHT = 120, LEFT = 34, BOTTOM = 18;

function svg(tag, properties, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(properties)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

export function short(number) {
  if (number === null || number === undefined) return "";
  if (number >= 1000000) return `${(number / 1000000).toFixed(1)}M`;
  if (number >= 10000) return `${Math.round(number / 1000)}k`;
  return number >= 100 || Number.isInteger(number) ? String(Math.round(number)) : number.toPrecision(2);
}

function figure(title, summary, ...shapes) {
  const picture = svg("svg", {viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": `${title}: ${summary}`},
    svg("line", {class: "axis", x1: LEFT, y1: HEIGHT - BOTTOM, x2: WIDTH, y2: HEIGHT - BOTTOM}), ...shapes);
  return h("figure", {}, h("figcaption", {}, title), picture, h("small", {}, summary));
}

function text(words, x, y, anchor = "start") { return svg("text", {x, y, "text-anchor": anchor}, words); }

// How many rows have which value: of the tested target, and beside it of the judges.
export function histogram(title, unit, series) {
  const all = series.flatMap(([, values]) => values).filter((value) => value > 0);
  if (!all.length) return null;
  const sorted = [...all].sort((a, b) => a - b),
        most = sorted[Math.floor((sorted.length - 1) * 0.99)] || sorted[sorted.length - 1];
  const bins = 16, width = (WIDTH - LEFT) / bins;
  const counted = series.map(([name, values]) => {
    const counts = new Array(bins).fill(0);
    for (const value of values)
      if (value > 0) counts[Math.min(bins - 1, Math.floor((value / most) * bins))] += 1;
    return [name, counts];
  });
  const top = Math.max(...counted.flatMap(([, counts]) => counts));
  const bars = counted.flatMap(([name, counts], n) => counts.map((one, bin) => svg("rect", {
    class: name,
    x: LEFT + bin * width + (n * width) / series.length,
    width: Math.max(1, width / series.length - 1),
    y: HEIGHT - BOTTOM - (one / top) * (HEIGHT - BOTTOM - 6),
    height: (one / top) * (HEIGHT - BOTTOM - 6),
  })));
  const totals = series.filter(([, values]) => values.some((value) => value > 0)).map(([name, values]) => {
    const own = values.filter((value) => value > 0).sort((a, b) => a - b);
    return `${name}: ${short(own.reduce((sum, value) => sum + value, 0))} ${unit} in all, median ${
      short(own[Math.floor(own.length / 2)])}`;
  });
  return figure(title, totals.join("; "), ...bars, text("0", LEFT, HEIGHT - 4),
    text(`${short(most)} ${unit}`, WIDTH, HEIGHT - 4, "end"), text(short(top), LEFT - 4, 12, "end"));
}

// A number over the runs, the oldest on the left.
export function trend(title, values) {
  const known = values.filter((value) => value !== null);
  if (known.length < 2) return null;
  const low = Math.min(...known, 0), high = Math.max(...known, 1),
        step = (WIDTH - LEFT - 6) / Math.max(1, values.length - 1);
  const points = values
                   .map((value, n) => (value === null ?
                            null :
                            `${(LEFT + n * step).toFixed(1)},${
                              (HEIGHT - BOTTOM - ((value - low) / (high - low)) * (HEIGHT - BOTTOM - 8)).toFixed(1)}`))
                   .filter(Boolean);
  return figure(title,
    `${known[0].toFixed(3)} at first, ${known[known.length - 1].toFixed(3)} now, over ${known.length} runs`,
    svg("polyline", {class: "line", points: points.join(" ")}), text(high.toFixed(2), LEFT - 4, 12, "end"),
    text(low.toFixed(2), LEFT - 4, HEIGHT - BOTTOM, "end"));
}
