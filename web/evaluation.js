// One evaluation: its life, stages, speed, rewards, code, evidence, kernels.

import { get, getIfThere } from './api.js';
import { chart, ratios } from './chart.js';
import { bytes, chip, code, empty, facts, h, nanos, outcome, percent, pre, ratio, section, span, table, time } from './dom.js';

const ENDED = ['done', 'cancelled', 'dead'];
const show = (value) => (typeof value === 'string' ? value : JSON.stringify(value));

export function steps(record) {
  return h('ol', { class: 'steps' }, (record.stages ?? []).map((stage) =>
    h('li', { class: ['pass', 'fail'].includes(stage.status) && stage.status },
      stage.name, h('i', null, stage.status === 'pass' || stage.status === 'fail' ? nanos(stage.ns) : stage.status === 'off' ? 'off' : 'not reached'))));
}

export function speed(record) {
  const x = record.speedup;
  if (!x) return '–';
  return x.lo !== null && x.lo !== undefined ? `${ratio(x.ratio)} (${ratio(x.lo)} to ${ratio(x.hi)})` : ratio(x.ratio);
}

const job = (j) => section('Job', null, facts([
  ['State', j.state], ['Accepted', time(j.created)], ['Last attempt', j.started && time(j.started)],
  ['Ended', j.finished && time(j.finished)], ['Took', j.finished && j.started && span(j.finished - j.started)],
  ['Attempts', j.attempts], ['Priority', j.priority], ['Key', j.key],
  ['Batch', j.batch && h('a', { href: `#/evaluations?batch=${encodeURIComponent(j.batch)}` }, j.batch)], ['Id', h('span', { class: 'mono' }, j.id)]]));

const life = (events) => section('Life', null, table('life', [
  { head: 'When', cls: 'fit', cell: (e) => time(e.time) }, { head: 'What', cls: 'fit', cell: (e) => e.type.replace('_', ' ') },
  { head: '', cell: (e) => e.detail }], events, 'Its events are no longer kept.'));

function pairs(record) {
  const points = (record.timing?.samples ?? []).flatMap((p) => p.reference_ns.map((ns, i) => (
    { value: ns / p.candidate_ns[i], alt: p.process % 2 === 1 }))).filter((p) => Number.isFinite(p.value) && p.value > 0);
  const t = record.timing ?? {};
  return section('Speed', 'Each dot is one pair: the time of the reference over that of the candidate. Above the dashed line the candidate is faster.',
    points.length > 0 && chart((wide) => ratios(wide, points, 'ratio of each pair')),
    facts([['Speed-up', speed(record)], ['Candidate', nanos(t.candidate_ns)], ['Reference', nanos(t.reference_ns)], ['Pairs', record.speedup?.pairs],
      ['Empty call', nanos(t.overhead_ns)], ['Timing', t.status], ['Why', t.why],
      ['Coverage', typeof record.coverage === 'number' ? percent(record.coverage, 1) : null]]));
}

function rewards(record) {
  const list = Object.entries(record.rewards ?? {});
  return list.length > 0 && section('Rewards', null, table('rewards', [
    { head: 'Preset', cls: 'fit', cell: ([name]) => name }, { head: 'Reward', cls: 'n', cell: ([, r]) => r.value?.toFixed(3) ?? '–' },
    { head: 'Terms', cell: ([, r]) => Object.entries(r.terms ?? {}).map(([k, v]) => `${k} ${typeof v === 'number' ? Number(v.toFixed(3)) : v}`).join(', ') },
    { head: 'Why', cls: 'text', cell: ([, r]) => (r.why ? show(r.why) : '') }], list, ''));
}

const evidence = (list) => section('Evidence', null, table('evidence', [
  { head: 'Check', cls: 'fit', cell: (e) => e.check },
  { head: 'What was seen', cls: 'text', cell: ({ check, ...rest }) => (typeof rest.text === 'string' ? pre(rest.text)
    : Object.entries(rest).filter(([, v]) => v !== null).map(([k, v]) => `${k} ${show(v)}`).join(' · ')) },
], list, 'None.'));

const kernels = (list) => section('Kernels', 'What the candidate ran on the device, as it was profiled.', table('kernels', [
  { head: 'Kernel', cls: 'text mono', cell: (k) => k.name }, { head: 'Share', cls: 'n', cell: (k) => percent(k.share, 1) },
  { head: '', cls: 'graph', cell: (k) => h('div', { class: 'bar' }, h('i', { class: 'p', 'width%': 100 * k.share })) },
  { head: 'Calls', cls: 'n', cell: (k) => k.calls }, { head: 'Whose', cls: 'fit', cell: (k) => k.class ?? (k.own ? 'own' : '–') },
  { head: '', cls: 'fit', cell: (k) => (k.dead ? h('span', { class: 'chip v-hack' }, 'not needed') : '') }], list, ''));

const output = (o) => (o?.stdout || o?.stderr) && section('Output', `${bytes(o.bytes)} were printed.`,
  o.stdout && [h('h3', null, 'stdout'), pre(o.stdout)], o.stderr && [h('h3', null, 'stderr'), pre(o.stderr)]);

function environment(record) {
  const e = record.environment ?? {};
  return section('Where', null, facts([['Isolation', record.isolation?.level], ['kgym', e.kgym], ['CPU', e.cpu], ['Device', e.device_name ?? e.device],
    ['Compiler', e.compiler], ['Kernel', e.kernel], ['torch', e.torch], ['triton', e.triton], ['Memory', bytes(record.peak_bytes)]]),
    h('details', { 'data-key': 'record' }, h('summary', null, 'The whole record'), pre(JSON.stringify(record, null, 2))));
}

function ofRecord(record, feedback) {
  const all = record.evidence ?? [], ran = all.filter((e) => e.check === 'kernel');
  const marked = new Set(all.map((e) => e.line).filter((n) => n > 0));
  return [
    section('Stages', record.message, steps(record)),
    record.speedup && pairs(record),
    rewards(record),
    section('Code', null, record.candidate?.code ? code(record.candidate.code, marked) : empty('No code was found in the reply.')),
    feedback && section('Feedback', 'The model is told this.', pre(feedback)),
    evidence(all.filter((e) => e.check !== 'kernel')),
    ran.length > 0 && kernels(ran),
    output(record.output),
    environment(record),
  ];
}

export function evaluation(view) {
  const [id] = view.args;
  const path = `evaluations/${encodeURIComponent(id)}`;
  let ended = false;
  view.live = (e) => e.id === id && !ended;
  return async () => {
    const j = await get(path, view.signal);
    const record = j.record;
    const [{ events }, told] = await Promise.all([get(`events?job=${encodeURIComponent(id)}`, view.signal),
      record && !record.error ? getIfThere(`${path}/feedback`, view.signal).catch(() => null) : null]);
    ended = ENDED.includes(j.state);
    return [
      h('div', { class: 'headline' }, h('h1', null, record?.problem?.name ?? j.problem ?? 'Evaluation'), outcome(j),
        h('div', { class: 'push' }, h('a', { class: 'button', href: `#/compare?a=${id}` }, 'Compare with …'))),
      h('p', { class: 'sub mono' }, id),
      j.error && h('div', { class: 'note' }, `The gym could not judge this (${j.error.code}, blame ${j.error.blame}): ${j.error.message ?? ''}`),
      record && h('div', { class: 'tiles' },
        tile(speed(record).split(' (')[0], 'speed-up', record.timing?.status ?? ''), tile(nanos(record.timing?.candidate_ns), 'candidate', `reference ${nanos(record.timing?.reference_ns)}`),
        tile(record.stage ?? '–', 'last stage', record.correct === true ? 'correct' : record.correct === false ? 'not correct' : ''),
        tile(record.candidate?.language ?? '–', 'language', bytes(record.candidate?.bytes))),
      record && ofRecord(record, typeof told === 'string' ? told : told?.feedback),
      h('div', { class: 'pair' }, job(j), life(events)),
    ].flat(3);
  };
}

const tile = (value, name, note) => h('div', { class: 'tile' }, h('b', null, value), h('span', null, name), h('i', null, note));
