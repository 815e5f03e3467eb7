// The frame: which page the address names, what is drawn anew when something happens.
//
// A page is a function page(view) that returns load(). That asks the service and returns nodes, or a
// function that makes them, where it moves some that are shown: focus would be lost before it is
// noted. view: {args, query, signal, go, redraw}; a page sets view.live(event) where it need not be
// drawn anew after each event.

import { follow, get } from './api.js';
import { empty, h } from './dom.js';
import { compare } from './compare.js';
import { evaluation } from './evaluation.js';
import { evaluations } from './evaluations.js';
import { overview } from './overview.js';
import { problem, problems } from './problems.js';
import { trajectories, trajectory } from './trajectories.js';

const REDRAW_MS = 400;
const routes = [
  [/^\/$/, overview, 'Overview'],
  [/^\/evaluations$/, evaluations, 'Evaluations'],
  [/^\/evaluations\/([^/]+)$/, evaluation, 'Evaluation'],
  [/^\/compare$/, compare, 'Compare'],
  [/^\/problems$/, problems, 'Problems'],
  [/^\/problems\/(.+)$/, problem, 'Problem'],
  [/^\/trajectories$/, trajectories, 'Trajectories'],
  [/^\/trajectories\/([^/]+)$/, trajectory, 'Trajectory'],
];

const main = document.getElementById('page');
let open = null; // {page, control, drawing, again, last}

function address() {
  const [path, query] = (location.hash.slice(1) || '/').split('?');
  return { path, query: new URLSearchParams(query ?? '') };
}

// Draws, and leaves focus, the boxes' places and what was unfolded as they were.
function put(made) {
  const focus = document.activeElement?.dataset?.key;
  const places = new Map([...main.querySelectorAll('.scroll[data-key]')].map((b) => [b.dataset.key, b.scrollLeft]));
  const unfolded = new Set([...main.querySelectorAll('details[open]')].map((d) => d.dataset.key));
  const nodes = typeof made === 'function' ? made() : made;
  main.replaceChildren(...nodes.flat(2).filter(Boolean));
  for (const box of main.querySelectorAll('.scroll[data-key]')) box.scrollLeft = places.get(box.dataset.key) ?? 0;
  for (const d of main.querySelectorAll('details')) d.open = unfolded.has(d.dataset.key);
  if (focus) main.querySelector(`[data-key="${CSS.escape(focus)}"]`)?.focus({ preventScroll: true });
}

async function draw(view) {
  if (view.drawing) {
    view.again = true;
    return;
  }
  view.drawing = true;
  view.last = Date.now();
  try {
    const made = await view.load();
    if (open === view) put(made);
  } catch (e) {
    if (open === view && e.name !== 'AbortError') {
      put([h('h1', null, view.title), h('div', { class: 'note', role: 'alert' },
        e.status === 404 ? 'There is no such thing here.' : `That did not work: ${e.message}`)]);
    }
  }
  view.drawing = false;
  if (view.again) {
    view.again = false;
    later(view);
  }
}

function later(view) {
  if (view.timer || open !== view) return;
  view.timer = setTimeout(() => {
    view.timer = null;
    if (open === view) draw(view);
  }, Math.max(0, REDRAW_MS - (Date.now() - view.last)));
}

function go(path, query) {
  const text = new URLSearchParams(Object.entries(query ?? {}).filter(([, v]) => v)).toString();
  location.hash = text ? `${path}?${text}` : path;
}

function navigate() {
  const { path, query } = address();
  const found = routes.map(([pattern, page, title]) => ({ match: pattern.exec(path), page, title }))
    .find((r) => r.match);
  open?.control.abort();
  const control = new AbortController();
  const view = { title: found?.title ?? 'No such page', control, signal: control.signal, query, go, last: 0 };
  view.args = (found?.match.slice(1) ?? []).map(decodeURIComponent);
  view.redraw = () => draw(view);
  view.load = found ? found.page(view) : () => [h('h1', null, 'No such page'), empty('The address names no page.')];
  open = view;
  document.title = `${view.args[0] ?? view.title} – kgym`;
  for (const a of document.querySelectorAll('#nav a')) {
    const here = a.hash === '#/' ? path === '/' : path.startsWith(a.hash.slice(1));
    if (here) {
      a.setAttribute('aria-current', 'page');
      a.parentElement.scrollLeft = a.offsetLeft - a.parentElement.offsetLeft - 40;
    }
    else a.removeAttribute('aria-current');
  }
  main.replaceChildren(empty('…'));
  window.scrollTo(0, 0);
  return draw(view);
}

// --- events; a page that nobody sees asks for none ---

const live = document.getElementById('live');
let control = null;
let last = null;

function show(on) {
  live.className = `live ${on ? 'on' : 'off'}`;
  live.textContent = on ? 'live' : 'no connection';
}

async function listen() {
  if (control || document.hidden) return;
  const mine = control = new AbortController();
  try {
    last ??= (await get('overview', mine.signal)).last_event;
    last = await follow(last, (e) => { if (open && (open.live?.(e) ?? true)) later(open); }, show, mine.signal);
  } catch {
    show(false);
    if (!mine.signal.aborted) setTimeout(listen, 2000);
  }
  if (control === mine) control = null;
}

document.addEventListener('visibilitychange', () => {
  if (document.hidden) {
    control?.abort();
    control = null;
  } else {
    listen();
    if (open) later(open);
  }
});
document.querySelector('.skip').addEventListener('click', (e) => {
  e.preventDefault(); // the address names a page, not a place
  main.focus();
});
addEventListener('hashchange', async () => {
  await navigate();
  main.focus({ preventScroll: true });
});
navigate();
listen();
