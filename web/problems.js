// The problems of the suites, how often each was solved, and its fastest kernel.

import { get } from './api.js';
import { code, count, empty, h, link, outcome, percent, pre, ratio, section, span, table, time } from './dom.js';
import { speed } from './evaluation.js';

const MOST = 300; // rows at once

export function problems(view) {
  let words = view.query.get('q') ?? '';
  let tried = view.query.get('tried') === '1';
  let rows = [];
  const box = h('div');
  const fill = () => {
    const parts = words.toLowerCase().split(/\s+/);
    const found = rows.filter((r) => (!tried || r.done > 0) && parts.every((w) => `${r.problem} ${r.suite} ${r.desc}`.toLowerCase().includes(w)));
    box.replaceChildren(h('p', { class: 'mute', role: 'status' }, `${count(found.length)} of ${count(rows.length)} problems${found.length > MOST ? `, the first ${MOST} are shown` : ''}`),
      table('problems', [
        { head: 'Problem', cls: 'fit', cell: (r) => h('a', { href: `#/problems/${encodeURIComponent(r.problem)}`, 'data-key': `p-${r.problem}` }, r.problem) },
        { head: 'Suite', cls: 'extra fit', cell: (r) => r.suite },
        { head: 'Level', cls: 'extra n', cell: (r) => r.level },
        { head: 'Judged', cls: 'n', cell: (r) => count(r.done) },
        { head: 'Ok', cls: 'n', cell: (r) => percent(r.ok, r.done) },
        { head: 'Fastest', cls: 'n', cell: (r) => (r.id ? h('a', { href: `#/evaluations/${r.id}` }, ratio(r.speedup)) : '–') },
        { head: 'What it computes', cls: 'text extra', cell: (r) => r.desc ?? '' },
      ], found.slice(0, MOST), 'None.'));
  };
  const tools = h('form', { class: 'tools', role: 'search', onsubmit: (e) => e.preventDefault() },
    h('label', { class: 'wide' }, 'Search', h('input', { type: 'search', value: words, 'data-key': 'q', oninput: (e) => { words = e.target.value; fill(); } })),
    h('label', null, 'Judged only', h('input', { type: 'checkbox', checked: tried, 'data-key': 'tried', onchange: (e) => { tried = e.target.checked; fill(); } })));
  view.live = (e) => e.type === 'finished';
  return async () => {
    const [all, best] = await Promise.all([get('problems', view.signal), get('bests', view.signal)]);
    const of = new Map(best.problems.map((b) => [b.problem, b]));
    rows = all.problems.map((p) => ({ done: 0, ok: 0, ...p, ...of.get(p.problem) }));
    rows.sort((a, b) => b.done - a.done);
    return () => {
      fill();
      return [h('h1', null, 'Problems'), section('', null, tools, box)];
    };
  };
}

export function problem(view) {
  const [name] = view.args;
  const path = encodeURIComponent(name);
  let prompt = null;
  view.live = (e) => e.type === 'finished';
  return async () => {
    prompt ??= (await get(`problems/${path}/prompt`, view.signal).catch(() => null))?.prompt ?? '';
    const [best, list] = await Promise.all([get('bests', view.signal), get(`evaluations?limit=20&problem=${path}`, view.signal)]);
    const b = best.problems.find((p) => p.problem === name);
    const fastest = b?.id ? await get(`evaluations/${b.id}`, view.signal) : null;
    return [
      h('h1', null, name),
      h('p', { class: 'sub' }, b ? `${count(b.done)} judged, ${count(b.ok)} ok` : 'not judged yet'),
      section('Fastest kernel', fastest && `${speed(fastest.record)} of the reference's speed`,
        fastest?.record?.candidate?.code ? [code(fastest.record.candidate.code), h('p', null, link(fastest, 'its evaluation'))] : empty('None was timed yet.')),
      section('Evaluations', null, table('jobs', [
        { head: 'Accepted', cls: 'fit', cell: (j) => time(j.created) },
        { head: 'Outcome', cell: (j) => link(j, outcome(j)) },
        { head: 'Took', cls: 'n', cell: (j) => (j.finished && j.started ? span(j.finished - j.started) : '–') },
      ], list.evaluations, 'None yet.'),
      list.next && h('a', { href: `#/evaluations?problem=${path}` }, 'All of them')),
      prompt && section('First message', 'A model is asked this.', h('details', { 'data-key': 'prompt' }, h('summary', null, 'Show'), pre(prompt))),
    ];
  };
}
