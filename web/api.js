// The service: requests, the token, and events as they happen. The token is kept until the tab is
// closed, and goes to this service only.

import { h } from './dom.js';

const root = new URL('..', document.baseURI);
const KEPT = 'kgym.token';
let asking = null; // while the dialog is open: its promise

export class Failure extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

function headers(accept) {
  const token = sessionStorage.getItem(KEPT);
  return token ? { Accept: accept, Authorization: `Bearer ${token}` } : { Accept: accept };
}

// The dialog that asks for a token. It is one, however many requests wait for it.
function askForToken(refused) {
  asking ??= new Promise((resolve) => {
    const field = h('input', { type: 'password', id: 'token', autocomplete: 'off', required: true });
    const dialog = h('dialog', { 'aria-labelledby': 'token-title' },
      h('form', { method: 'dialog' },
        h('h2', { id: 'token-title' }, 'This service asks for a token'),
        h('p', null, 'A token with the scope read shows all pages. It is kept until this tab is closed.'),
        refused && h('p', { class: 'bad', role: 'alert' }, 'That token does not open this service.'),
        h('label', { for: 'token' }, 'Token', field),
        h('button', { class: 'primary', type: 'submit' }, 'Go on')));
    dialog.querySelector('form').addEventListener('submit', (e) => {
      e.preventDefault();
      sessionStorage.setItem(KEPT, field.value.trim());
      dialog.close();
    });
    dialog.addEventListener('cancel', (e) => e.preventDefault());
    dialog.addEventListener('close', () => {
      dialog.remove();
      asking = null;
      resolve();
    });
    document.body.append(dialog);
    dialog.showModal();
  });
  return asking;
}

async function send(path, accept, signal) {
  for (;;) {
    const sent = sessionStorage.getItem(KEPT);
    const answer = await fetch(new URL(path, root), { headers: headers(accept), cache: 'no-store', signal });
    const refused = answer.status === 403 && sent !== null; // a token that is meant for something else
    if (answer.status !== 401 && !refused) return answer;
    if (sent === sessionStorage.getItem(KEPT)) {
      sessionStorage.removeItem(KEPT);
      await askForToken(sent !== null);
    } else {
      await asking;
    }
  }
}

// JSON at this path of /v1. Throws a Failure.
export async function get(path, signal) {
  const answer = await send(`v1/${path}`, 'application/json', signal);
  const body = await answer.json().catch(() => null);
  if (answer.ok && body !== null) return body;
  throw new Failure(answer.status, body?.code ?? 'no_json', body?.message ?? `the service answered ${answer.status}`);
}

// The same; null where the service has no such thing.
export const getIfThere = (path, signal) => get(path, signal).catch((e) => {
  if (e instanceof Failure && e.status === 404) return null;
  throw e;
});

const pause = (ms, signal) => new Promise((resolve) => {
  const timer = setTimeout(resolve, ms);
  signal.addEventListener('abort', () => { clearTimeout(timer); resolve(); }, { once: true });
});

function readEvents(text, each) {
  const parts = text.split('\n\n');
  const rest = parts.pop();
  for (const part of parts) {
    const data = part.split('\n').find((line) => line.startsWith('data: '));
    if (data) each(JSON.parse(data.slice(6)));
  }
  return rest;
}

// Calls each(event) for what happens after event number `after`, until the signal. A stream that
// ends is opened anew where it was. state(true): it is open.
export async function follow(after, each, state, signal) {
  let last = after;
  for (let wait = 500; !signal.aborted; wait = Math.min(2 * wait, 8000)) {
    try {
      const answer = await send(`v1/events?after=${last}`, 'text/event-stream', signal);
      if (!answer.ok) throw new Failure(answer.status, 'events', 'no events');
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      let text = '';
      state(true);
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        wait = 500;
        text = readEvents(text + value, (e) => { last = e.seq; each(e); });
      }
    } catch {
      // the next turn tries again
    }
    if (signal.aborted) return last;
    state(false);
    await pause(wait, signal);
  }
  return last;
}
