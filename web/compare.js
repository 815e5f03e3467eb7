// Two evaluations beside each other.

import { get } from './api.js';
import { chip, empty, h, link, nanos, outcome, section, shortId, table } from './dom.js';
import { diff } from './diff.js';
import { speed } from './evaluation.js';

function chooser(view, ids) {
  const field = (name) => h('label', { class: 'wide' }, name === 'a' ? 'First evaluation' : 'Second evaluation',
    h('input', { name, value: ids[name], 'data-key': name, maxlength: 26, spellcheck: 'false', class: 'mono', placeholder: 'its id' }));
  const form = h('form', { class: 'tools', onsubmit: (e) => {
    e.preventDefault();
    view.go('/compare', { a: form.elements.a.value.trim(), b: form.elements.b.value.trim() });
  } }, field('a'), field('b'), h('button', { type: 'submit', class: 'primary' }, 'Compare'));
  return form;
}

const rows = [
  ['Evaluation', (j) => link(j, shortId(j.id))],
  ['Problem', (j) => j.problem ?? '–'],
  ['Outcome', outcome],
  ['Message', (j) => j.record?.message ?? '–'],
  ['Last stage', (j) => j.record?.stage ?? '–'],
  ['Speed-up', (j) => (j.record ? speed(j.record) : '–')],
  ['Candidate', (j) => nanos(j.record?.timing?.candidate_ns)],
  ['Reference', (j) => nanos(j.record?.timing?.reference_ns)],
  ['Rewards', (j) => Object.entries(j.record?.rewards ?? {}).map(([k, r]) => `${k} ${r.value?.toFixed(3) ?? '–'}`).join(', ') || '–'],
  ['Evidence', (j) => [...new Set((j.record?.evidence ?? []).map((e) => e.check))].slice(0, 8).map((c) => [chip(c), ' '])],
];

export function compare(view) {
  const ids = { a: view.query.get('a') ?? '', b: view.query.get('b') ?? '' };
  const form = chooser(view, ids);
  view.live = (e) => e.id === ids.a || e.id === ids.b;
  return async () => {
    const head = () => [h('h1', null, 'Compare'), section('', null, form,
      !(ids.a && ids.b) && empty('Two can also be chosen in the list of evaluations.'))];
    if (!ids.a || !ids.b) return head;
    const [a, b] = await Promise.all([ids.a, ids.b].map((id) => get(`evaluations/${encodeURIComponent(id)}`, view.signal)));
    const code = (j) => j.record?.candidate?.code ?? '';
    return () => [...head(),
      section('Both', null, table('both', [
        { head: '', cls: 'fit mute', cell: ([name]) => name },
        { head: 'First', cls: 'text', cell: ([, of]) => of(a) },
        { head: 'Second', cls: 'text', cell: ([, of]) => of(b) }], rows, '')),
      section('Code', 'From the first to the second: − is gone, + has come.', code(a) || code(b) ? diff(code(a), code(b)) : empty('Neither has code.'))];
  };
}
