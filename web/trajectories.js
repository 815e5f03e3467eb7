// Trajectories: a list, and one of them turn by turn.

import { get, getIfThere } from './api.js';
import { chip, count, empty, facts, h, pre, section, shortId, table, time } from './dom.js';
import { diff } from './diff.js';

const nameOf = (t) => t.problem?.name ?? t.problem ?? t.id;
const numberOf = (turn) => turn.n ?? turn.turn;
const turnsOf = (t) => (Array.isArray(t.turns) ? t.turns.length : t.turns);

export function trajectories(view) {
  return async () => {
    const answer = await getIfThere('trajectories?limit=100', view.signal);
    return [h('h1', null, 'Trajectories'), section('', 'A trajectory is a problem and the turns that a model took at it.',
      table('trajectories', [
        { head: 'Opened', cls: 'fit', cell: (t) => time(t.created) },
        { head: 'Problem', cell: (t) => h('a', { href: `#/trajectories/${encodeURIComponent(t.id)}`, 'data-key': `t-${t.id}` }, nameOf(t)) },
        { head: 'State', cls: 'fit', cell: (t) => t.state ?? '–' },
        { head: 'Turns', cls: 'n', cell: (t) => count(turnsOf(t)) },
        { head: 'At most', cls: 'n extra', cell: (t) => t.max_turns ?? '–' },
        { head: 'Ended', cls: 'fit', cell: (t) => t.end ?? '–' },
        { head: 'Id', cls: 'extra fit', cell: (t) => shortId(t.id) },
      ], answer?.trajectories ?? [], 'None yet.'))];
  };
}

// A guess at the code of a reply: its last fenced block, or all of it. The gym takes the last block
// that defines the entry, and keeps it in the record.
function guessOf(reply) {
  const blocks = [...String(reply ?? '').matchAll(/^```[^\n]*\n([\s\S]*?)^```/gm)];
  return blocks.length > 0 ? blocks.at(-1)[1] : String(reply ?? '');
}

const rewardsOf = (rewards) => Object.entries(rewards ?? {}).map(([name, r]) => {
  const value = typeof r === 'object' && r !== null ? r.value : r;
  return `${name} ${typeof value === 'number' ? value.toFixed(3) : '–'}`;
}).join(', ');

// {text, judged}: what was judged, or a guess where there is no record of it.
function codeOf(t, records) {
  const candidate = records.get(t.evaluation)?.candidate;
  return candidate ? { text: candidate.code ?? '', judged: true } : { text: guessOf(t.reply), judged: false };
}

function codeShown(now, old) {
  const guessed = !now.judged || (old && !old.judged);
  const title = old ? `What changed since the turn before${guessed ? ', from the replies' : ''}` : guessed ? 'From the reply' : 'Code';
  return [h('h3', null, title),
    old ? diff(old.text, now.text) : now.text ? pre(now.text) : empty('No code was found in the reply.')];
}

function turn(t, before, best, records) {
  return section(`Turn ${numberOf(t)}`, null,
    h('p', null, t.verdict ? chip(t.verdict, t.reason) : chip(t.state ?? 'running'), ' ', best === numberOf(t) && h('span', { class: 'chip' }, 'best turn'), ' ',
      t.evaluation && h('a', { href: `#/evaluations/${encodeURIComponent(t.evaluation)}` }, 'its evaluation')),
    facts([['Rewards', rewardsOf(t.rewards)]]),
    codeShown(codeOf(t, records), before && codeOf(before, records)),
    h('details', { 'data-key': `reply-${numberOf(t)}` }, h('summary', null, 'The whole reply'), pre(String(t.reply ?? ''))),
    t.feedback && [h('h3', null, 'Feedback'), pre(String(t.feedback))]);
}

// Adds the records of turns that it does not hold yet; a record does not change.
const addRecords = (turns, records, signal) => Promise.all(turns.map(async (t) => {
  if (!t.evaluation || records.has(t.evaluation)) return;
  const job = await get(`evaluations/${encodeURIComponent(t.evaluation)}`, signal).catch(() => null);
  if (job?.record) records.set(t.evaluation, job.record);
}));

export function trajectory(view) {
  const [id] = view.args;
  const records = new Map();
  return async () => {
    const t = await get(`trajectories/${encodeURIComponent(id)}`, view.signal);
    const turns = Array.isArray(t.turns) ? t.turns : [];
    const best = t.best ?? t.extra?.best;
    await addRecords(turns, records, view.signal);
    return [h('h1', null, nameOf(t)), h('p', { class: 'sub mono' }, id),
      section('', null, facts([['State', t.state], ['Ended', t.end], ['Group', t.group], ['Turns', turns.length], ['Best turn', best], ['Opened', t.created && time(t.created)]])),
      turns.length > 0 ? turns.map((x, i) => turn(x, turns[i - 1], best, records)) : section('Turns', null, empty('None yet.'))].flat();
  };
}
