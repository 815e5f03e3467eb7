// Queue, rate, funnel, verdicts, hacks, devices, and what came last.

import { get, getIfThere } from './api.js';
import { chart, columns } from './chart.js';
import { chip, count, empty, h, link, outcome, percent, section, span, table, time } from './dom.js';

const STAGES = ['extract', 'static', 'compile', 'tiny', 'full', 'timing', 'profile'];

const sum = (list) => list.reduce((n, e) => n + e.n, 0);

function grouped(ends, name) {
  const groups = new Map();
  for (const e of ends) groups.set(name(e), [...(groups.get(name(e)) ?? []), e]);
  return [...groups].map(([key, list]) => ({ key, list, n: sum(list) })).sort((a, b) => b.n - a.n);
}

const tile = (value, name, note, href, cls) => h(href ? 'a' : 'div', { class: 'tile', href, 'data-key': href && `tile-${name}` },
  h('b', { class: cls }, value), h('span', null, name), h('i', null, note));

function tiles(o) {
  const { waiting, running, done, dead } = o.jobs;
  const hour = o.done_per_minute.reduce((a, b) => a + b, 0);
  const ok = sum(o.ends.filter((e) => e.verdict === 'ok'));
  const hacks = sum(o.ends.filter((e) => e.verdict === 'hack'));
  return h('div', { class: 'tiles' },
    tile(count(waiting), 'waiting', waiting > 0 ? `the oldest for ${span(o.oldest_waiting_s)}` : 'no queue', '#/evaluations?state=waiting'),
    tile(count(running), 'running', `${count(o.lanes)} lane${o.lanes === 1 ? ' waits' : 's wait'}`, '#/evaluations?state=running'),
    tile(count(done), 'judged', `${count(hour)} in the last hour`, '#/evaluations?state=done'),
    tile(percent(ok, done), 'ok', `${count(ok)} kernels`, '#/evaluations?verdict=ok', ok > 0 && 'good'),
    tile(count(hacks), 'hacks', `${percent(hacks, done)} of what was judged`, '#/evaluations?verdict=hack', hacks > 0 && 'hack'),
    tile(count(dead), 'dead', `claims that ran out: ${count(o.claims_expired)}`, '#/evaluations?state=dead', dead > 0 && 'bad'));
}

// A job has passed all stages before the one it entered last.
function funnel(ends) {
  const at = (e) => STAGES.indexOf(e.stage);
  const known = ends.filter((e) => at(e) >= 0), all = sum(known);
  const rows = STAGES.map((name, i) => {
    const here = known.filter((e) => at(e) === i);
    const failed = here.filter((e) => e.verdict !== '' && e.verdict !== 'ok');
    return { name, entered: sum(known.filter((e) => at(e) >= i)), failed: sum(failed), errors: sum(here.filter((e) => e.verdict === '')), why: grouped(failed, (e) => e.verdict) };
  }).filter((r) => r.entered > 0);
  return section('Funnel', 'Each stage costs more than the last one. A bar is what entered, its striped end what failed there.',
    table('funnel', [
      { head: 'Stage', cls: 'fit', cell: (r) => r.name },
      { head: '', cls: 'graph', cell: (r) => h('div', { class: 'bar' },
        h('i', { class: 'p', 'width%': 100 * (r.entered - r.failed) / all }), h('i', { class: 'f', 'width%': 100 * r.failed / all })) },
      { head: 'Entered', cls: 'n', cell: (r) => count(r.entered) },
      { head: 'Failed', cls: 'n', cell: (r) => count(r.failed) },
      { head: 'Verdicts', cell: (r) => r.why.map((g) => [chip(g.key), ` ${count(g.n)} `]) },
    ], rows, 'Nothing has been judged yet.'));
}

function verdicts(ends) {
  const all = sum(ends);
  return section('Verdicts', 'An error is not a verdict: the gym could not judge that job.',
    table('verdicts', [
      { head: 'Verdict', cls: 'fit', cell: (g) => h('a', { href: g.key === 'error' ? '#/evaluations?state=done' : `#/evaluations?verdict=${encodeURIComponent(g.key)}`, 'data-key': `v-${g.key}` }, chip(g.key)) },
      { head: '', cls: 'graph', cell: (g) => h('div', { class: `bar v-${g.key}` }, h('i', { class: 'fill', 'width%': 100 * g.n / all })) },
      { head: 'Count', cls: 'n', cell: (g) => count(g.n) },
      { head: '', cls: 'n', cell: (g) => percent(g.n, all) },
      { head: 'Reasons', cls: 'text', cell: (g) => grouped(g.list, (e) => e.reason).filter((r) => r.key).slice(0, 4).map((r) => `${r.key} ${count(r.n)}`).join(', ') || '–' },
    ], grouped(ends, (e) => e.verdict || 'error'), 'Nothing has been judged yet.'));
}

function hacks(ends) {
  const caught = ends.filter((e) => e.verdict === 'hack'), all = sum(ends);
  return section('Hacks', 'Attempts to gain what was not earned, each with evidence in its record.',
    table('hacks', [
      { head: 'Hack', cls: 'fit', cell: (g) => chip('hack', g.key) },
      { head: 'Count', cls: 'n', cell: (g) => count(g.n) },
      { head: 'Of all', cls: 'n', cell: (g) => percent(g.n, all) },
      { head: 'Found at', cell: (g) => grouped(g.list, (e) => e.stage).map((x) => x.key).filter(Boolean).join(', ') },
    ], grouped(caught, (e) => e.reason), 'None was seen.'));
}

function devices(answer) {
  const list = answer?.devices ?? [];
  return section('Devices', null, answer === null ? empty('This service lists no devices.') :
    table('devices', [
      { head: 'Device', cls: 'fit', cell: (d) => d.name },
      { head: 'State', cls: 'fit', cell: (d) => h('span', { title: d.aside?.reason }, chip(d.state ?? 'idle')) },
      { head: 'Holds', cls: 'n', cell: (d) => `${d.holds?.length ?? 0} of ${d.slots ?? '–'}` },
      { head: 'Host', cls: 'fit extra', cell: (d) => d.host ?? '–' },
      { head: 'Serves', cell: (d) => (d.words ?? []).join(', ') },
    ], list, 'No worker is here.'));
}

const recent = (jobs) => section('Last evaluations', null, table('recent', [
  { head: 'Accepted', cls: 'fit', cell: (j) => time(j.created) },
  { head: 'Problem', cell: (j) => link(j, j.problem ?? j.id) },
  { head: 'Outcome', cls: 'fit', cell: outcome },
  { head: 'Took', cls: 'n', cell: (j) => (j.finished && j.started ? span(j.finished - j.started) : '–') },
], jobs, 'None yet.'));

export function overview(view) {
  return async () => {
    const [o, there, last] = await Promise.all([
      get('overview', view.signal), getIfThere('devices', view.signal), get('evaluations?limit=8', view.signal)]);
    return [
      h('h1', null, 'Overview'),
      tiles(o),
      h('div', { class: 'pair' },
        section('Throughput', 'Evaluations that ended, for each minute of the last hour.', chart((wide) => columns(wide, o.done_per_minute, 'evaluations per minute'))),
        recent(last.evaluations)),
      funnel(o.ends),
      verdicts(o.ends),
      h('div', { class: 'pair' }, hacks(o.ends), devices(there)),
    ];
  };
}
