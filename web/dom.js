// Elements and what they show. All text goes in as text nodes: nothing that a model wrote is ever
// read as HTML.

const SVG = 'http://www.w3.org/2000/svg';

function fill(node, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else if (name === 'width%') node.style.width = `${value}%`;
    else node.setAttribute(name, value === true ? '' : value);
  }
  for (const child of children.flat(3)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return node;
}

// h('a', {href: '#/'}, 'text', node, [more])
export const h = (tag, props, ...children) => fill(document.createElement(tag), props, children);
export const s = (tag, props, ...children) =>
  fill(document.createElementNS(SVG, tag), props, children);

export const section = (title, note, ...children) =>
  h('section', null, title && h('h2', null, title), note && h('p', null, note), children);

export const empty = (text) => h('p', { class: 'empty' }, text);

// columns: [{head, cls, cell: row => node or text}]. It scrolls in a box of its own.
export function table(key, columns, rows, none) {
  if (rows.length === 0) return empty(none);
  return h('div', { class: 'scroll', 'data-key': `box-${key}` },
    h('table', null,
      h('thead', null, h('tr', null, columns.map((c) => h('th', { class: c.cls, scope: 'col' }, c.head)))),
      h('tbody', null, rows.map((row) =>
        h('tr', null, columns.map((c) => h('td', { class: c.cls }, c.cell(row))))))));
}

export const facts = (pairs) => h('dl', { class: 'facts' }, pairs
  .filter(([, value]) => value !== null && value !== undefined && value !== '')
  .map(([name, value]) => h('div', null, h('dt', null, name), h('dd', null, value))));

export function chip(verdict, reason) {
  const known = /^[a-z_]{1,20}$/.test(verdict);
  return h('span', { class: known ? `chip v-${verdict}` : 'chip' },
    reason ? `${verdict} · ${reason}` : verdict);
}

// What became of a job: its verdict, its error, or its state.
export const outcome = (job) => job.verdict ? chip(job.verdict, job.reason)
  : job.error && job.state === 'done' ? chip('error', job.error.code) : chip(job.state);

export const link = (job, text) =>
  h('a', { href: `#/evaluations/${job.id}`, 'data-key': `job-${job.id}` }, text);

export const shortId = (id) => h('span', { class: 'mono', title: id }, `…${id.slice(-8)}`);

export function code(text, marked) {
  const box = h('div');
  const lines = text.replace(/\n$/, '').split('\n');
  lines.forEach((line, i) => box.append(
    h('span', { 'data-n': i + 1, class: marked?.has(i + 1) && 'at' }, line)));
  return h('pre', { class: 'code', tabindex: 0 }, box);
}

export const pre = (text) => h('pre', { tabindex: 0 }, text);

// --- numbers and times ---

export const count = (n) => (n ?? 0).toLocaleString('en-US').replaceAll(',', ' ');

export const percent = (part, whole) =>
  whole > 0 ? `${(100 * part / whole).toFixed(part > 0 && part < whole / 100 ? 1 : 0)} %` : '–';

// Three digits, without an exponent: x is below 1000.
const three = (x) => (x >= 99.95 ? x.toFixed(0) : x >= 9.995 ? x.toFixed(1) : x.toFixed(2));

export const ratio = (x) =>
  x === null || x === undefined ? '–' : `${three(x)}×`;

export function span(seconds) {
  if (seconds === null || seconds === undefined || Number.isNaN(seconds)) return '–';
  if (seconds < 0.9995e-3) return `${three(seconds * 1e6)} µs`;
  if (seconds < 0.9995) return `${three(seconds * 1e3)} ms`;
  if (seconds < 59.95) return `${three(seconds)} s`;
  const whole = Math.round(seconds), minutes = Math.round(seconds / 60); // so that none reads 60
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  if (minutes < 2880) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  return `${Math.round(seconds / 86400)} days`;
}

export const nanos = (ns) => (ns === null || ns === undefined ? '–' : span(ns / 1e9));

export function bytes(n) {
  if (n === null || n === undefined) return '–';
  const at = n > 0 ? Math.min(3, Math.floor(Math.log2(n) / 10)) : 0;
  return `${(n / 1024 ** at).toFixed(at > 0 ? 1 : 0)} ${['B', 'KiB', 'MiB', 'GiB'][at]}`;
}

const pad = (n) => String(n).padStart(2, '0');

export function time(seconds) {
  if (!seconds) return '–';
  const d = new Date(seconds * 1000);
  const clock = `${pad(d.getHours())}:${pad(d.getMinutes())}:${pad(d.getSeconds())}`;
  const day = `${d.getFullYear()}-${pad(d.getMonth() + 1)}-${pad(d.getDate())}`;
  const today = d.toDateString() === new Date().toDateString();
  return h('time', { datetime: d.toISOString(), title: `${day} ${clock}` }, today ? clock : `${day} ${clock}`);
}
