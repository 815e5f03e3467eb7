// The list of evaluations: filters in the address, two of them to compare.

import { get } from './api.js';
import { h, link, outcome, section, shortId, span, table, time } from './dom.js';

const STATES = ['waiting', 'running', 'done', 'cancelled', 'dead'];
const VERDICTS = ['ok', 'wrong', 'hack', 'crash', 'timeout', 'out_of_memory', 'compile_error', 'rejected', 'no_code'];
const FILTERS = ['state', 'verdict', 'problem', 'batch'];
const PAGE = 50;

const titled = (name) => name[0].toUpperCase() + name.slice(1);
const choice = (name, value, values, change) => h('label', null, titled(name),
  h('select', { 'data-key': name, name, onchange: change },
    h('option', { value: '' }, 'any'), values.map((v) => h('option', { value: v, selected: v === value }, v))));

const word = (name, value) => h('label', { class: 'wide' }, titled(name),
  h('input', { 'data-key': name, name, value, maxlength: 200, spellcheck: 'false', placeholder: name === 'problem' ? 'as in softmax' : 'id' }));

export function evaluations(view) {
  const filter = Object.fromEntries(FILTERS.map((name) => [name, view.query.get(name) ?? '']));
  const picked = new Set();
  let pages = 1; // shown

  const apply = (form) => view.go('/evaluations', Object.fromEntries(FILTERS.map((name) => [name, form.elements[name].value.trim()])));
  const form = h('form', { class: 'tools', role: 'search', onsubmit: (e) => { e.preventDefault(); apply(form); } },
    choice('state', filter.state, STATES, () => apply(form)), choice('verdict', filter.verdict, VERDICTS, () => apply(form)),
    word('problem', filter.problem), word('batch', filter.batch), h('button', { type: 'submit' }, 'Filter'));
  const button = h('button', { 'data-key': 'compare', disabled: true, onclick: () => {
    const [a, b] = picked;
    view.go('/compare', { a, b });
  } }, 'Compare two');

  const pick = (job) => h('input', { type: 'checkbox', 'data-key': `pick-${job.id}`, 'aria-label': `compare ${job.id}`, checked: picked.has(job.id),
    onchange: (e) => {
      if (e.target.checked) picked.add(job.id);
      else picked.delete(job.id);
      button.disabled = picked.size !== 2;
    } });

  return async () => {
    const jobs = [];
    let next = '';
    for (let i = 0; i < pages; i++) {
      const query = new URLSearchParams(Object.entries(filter).filter(([, v]) => v));
      query.set('limit', PAGE);
      if (next) query.set('after', next);
      const answer = await get(`evaluations?${query}`, view.signal);
      jobs.push(...answer.evaluations);
      next = answer.next;
      if (!next) break;
    }
    return () => [
      h('div', { class: 'headline' }, h('h1', null, 'Evaluations'), h('div', { class: 'push' }, button)),
      section('', null, form, table('jobs', [
        { head: h('span', { title: 'choose two to compare' }, '⇄'), cls: 'fit', cell: pick },
        { head: 'Accepted', cls: 'fit', cell: (j) => time(j.created) },
        { head: 'Problem', cell: (j) => link(j, j.problem ?? 'its own') },
        { head: 'Outcome', cls: 'fit', cell: outcome },
        { head: 'Took', cls: 'n', cell: (j) => (j.finished && j.started ? span(j.finished - j.started) : '–') },
        { head: 'Attempts', cls: 'extra n', cell: (j) => j.attempts },
        { head: 'Priority', cls: 'extra fit', cell: (j) => j.priority },
        { head: 'Id', cls: 'extra fit', cell: (j) => shortId(j.id) },
      ], jobs, next ? 'None among the newest ones.' : 'None.'),
      next && h('button', { 'data-key': 'older', onclick: () => { pages++; view.redraw(); } }, 'Show older ones')),
    ];
  };
}
