// Lines that two texts share, and those that they don't.

import { empty, h } from './dom.js';

const MOST = 4e6; // cells of the table; texts beyond are shown as wholly different
const AROUND = 3;

// [{op: ' ' | '-' | '+', a: line of the old text, b: line of the new one, text}]
export function compareLines(one, two) {
  const a = one.replace(/\n$/, '').split('\n'), b = two.replace(/\n$/, '').split('\n');
  let head = 0, tail = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  const n = a.length - head - tail, m = b.length - head - tail, out = [];
  const same = (i, j) => out.push({ op: ' ', a: i + 1, b: j + 1, text: a[i] });
  const gone = (i) => out.push({ op: '-', a: i + 1, text: a[i] });
  const come = (j) => out.push({ op: '+', b: j + 1, text: b[j] });
  for (let i = 0; i < head; i++) same(i, i);
  middle(a, b, head, n, m, { same, gone, come });
  for (let i = 0; i < tail; i++) same(head + n + i, head + m + i);
  return out;
}

// length[i][j]: of the longest common part of what follows line i of a and line j of b.
function middle(a, b, head, n, m, put) {
  const small = n * m <= MOST, wide = m + 1;
  const length = small ? new Uint32Array((n + 1) * wide) : null;
  for (let i = n - 1; small && i >= 0; i--) {
    for (let j = m - 1; j >= 0; j--) {
      length[i * wide + j] = a[head + i] === b[head + j] ? length[(i + 1) * wide + j + 1] + 1
        : Math.max(length[(i + 1) * wide + j], length[i * wide + j + 1]);
    }
  }
  let i = 0, j = 0;
  while (i < n || j < m) {
    if (small && i < n && j < m && a[head + i] === b[head + j]) put.same(head + i++, head + j++);
    else if (i < n && (j === m || !small || length[(i + 1) * wide + j] >= length[i * wide + j + 1])) put.gone(head + i++);
    else put.come(head + j++);
  }
}

export function diff(one, two) {
  const lines = compareLines(one, two), box = h('div');
  if (lines.every((l) => l.op === ' ')) return empty('Both have the same code.');
  const near = (i) => lines.slice(Math.max(0, i - AROUND), i + AROUND + 1).some((l) => l.op !== ' ');
  let hidden = 0;
  lines.forEach((l, i) => {
    if (!near(i)) {
      hidden++;
      return;
    }
    if (hidden > 0) box.append(gap(hidden));
    hidden = 0;
    box.append(h('span', { class: l.op === '+' ? 'add' : l.op === '-' ? 'del' : null, 'data-n': l.a ?? '', 'data-m': l.b ?? '' },
      l.op !== ' ' && h('b', null, l.op === '+' ? '+' : '−'), l.text));
  });
  if (hidden > 0) box.append(gap(hidden));
  return h('pre', { class: 'code diff', tabindex: 0 }, box);
}

const gap = (n) => h('span', { class: 'gap' }, `${n} equal line${n === 1 ? '' : 's'}`);
