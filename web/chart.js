// Charts as SVG. A chart is drawn for the width that it has, and anew when that changes.

import { h, s } from './dom.js';

// draw(wide) returns an element of that many pixels.
export function chart(draw) {
  const box = h('div');
  new ResizeObserver(() => {
    if (box.clientWidth > 0) box.replaceChildren(draw(box.clientWidth));
  }).observe(box);
  return box;
}

const frame = (wide, high, label, ...children) => s('svg', {
  class: 'chart', width: wide, height: high, viewBox: `0 0 ${wide} ${high}`, role: 'img', 'aria-label': label }, children);

const text = (x, y, anchor, what) => s('text', { x, y, 'text-anchor': anchor }, what);

// A column for each number, oldest first; the last one is not over yet.
export function columns(wide, values, label) {
  const high = 240, floor = 212, left = 36, most = Math.max(4, ...values), step = (wide - left) / values.length;
  const y = (v) => floor - (floor - 12) * v / most;
  return frame(wide, high, label,
    [0, Math.round(most / 2), most].map((v) => [
      s('line', { class: 'grid', x1: left, x2: wide, y1: y(v), y2: y(v) }), text(left - 8, y(v) + 4, 'end', v)]),
    values.map((v, i) => v > 0 && s('rect', {
      class: i === values.length - 1 ? 'col now' : 'col', x: left + i * step, width: Math.max(1, step - 2),
      y: y(v), height: floor - y(v), rx: 1.5 }, s('title', null, `${v}, ${values.length - 1 - i} min ago`))),
    text(left, high - 8, 'start', `${values.length} min ago`), text(wide, high - 8, 'end', 'now'));
}

// Ratios [{value, alt}] on a logarithmic axis, with a line at 1.
export function ratios(wide, points, label) {
  const high = 230, top = 14, floor = 198, left = 48;
  const logs = points.map((p) => Math.log2(p.value));
  const low = Math.min(0, ...logs), up = Math.max(0, ...logs), room = Math.max(0.05, (up - low) * 0.08);
  const y = (l) => floor - (floor - top) * (l - low + room) / (up - low + 2 * room);
  const x = (i) => left + 6 + (wide - left - 12) * (i + 0.5) / points.length;
  const marks = [0, ...[low, up].filter((l) => Math.abs(y(l) - y(0)) > 16)];
  return frame(wide, high, label,
    marks.map((l) => [
      s('line', { class: l === 0 ? 'one' : 'grid', x1: left, x2: wide, y1: y(l), y2: y(l) }),
      text(left - 6, y(l) + 4, 'end', `${(2 ** l).toFixed(2)}×`)]),
    points.map((p, i) => s('circle', { class: p.alt ? 'dot alt' : 'dot', cx: x(i), cy: y(logs[i]), r: 2.8 },
      s('title', null, `${p.value.toFixed(3)}×`))),
    text(left + (wide - left) / 2, high - 8, 'middle', 'pairs, in the order they were measured'));
}
