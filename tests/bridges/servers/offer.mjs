// What the TypeScript test servers offer, apart from the protocol: raw results to raw requests.
//
// A server gives `answer` the method, the parameters and an exchange, the ways it has to reach the client
// in the middle of a request: `ask(names)`, `log`, `progress`, `changed(kind)`, `updated(uri)`, the `signal`
// that tells of cancellation, and the client's `capabilities` and `meta`. Nothing in here knows which
// revision is spoken.

import { readFileSync } from 'node:fs';

export const OFFER = JSON.parse(readFileSync(new URL('../offer.json', import.meta.url), 'utf8'));

const LISTS = {
  'tools/list': 'tools',
  'prompts/list': 'prompts',
  'resources/list': 'resources',
  'resources/templates/list': 'resourceTemplates',
};

/** The methods that `answer` knows. */
export const METHODS = [...Object.keys(LISTS), 'tools/call', 'prompts/get', 'resources/read', 'completion/complete'];

/** A protocol error to answer with. */
export class Refusal extends Error {
  constructor(code, message, data) {
    super(message);
    Object.assign(this, { code, data });
  }
}

/** The state of one server. */
export class Offer {
  revisions = { tools: 0, prompts: 0, resources: 0 };
  counter = 0;
  started = new Marks();
  cancelled = new Marks();
  released = new Marks();

  async answer(method, params = {}, exchange) {
    if (method in LISTS) return this.page(LISTS[method], params.cursor);
    if (method === 'tools/call') return this.call(params.name, params.arguments ?? {}, exchange);
    if (method === 'prompts/get') return this.prompt(params.name, params.arguments ?? {}, exchange);
    if (method === 'resources/read') return { contents: [await this.read(params.uri, exchange)] };
    if (method === 'completion/complete') {
      const values = OFFER.completions.filter((name) => name.startsWith(params.argument.value));
      return { completion: { values, total: values.length, hasMore: false } };
    }
    throw new Refusal(-32601, `Method not found: ${method}`);
  }

  page(kind, cursor) {
    const items = [...OFFER[kind]];
    if (this.revisions[kind]) items.push(extra(kind, this.revisions[kind]));
    const start = Number(cursor ?? 0);
    if (Number.isNaN(start)) throw new Refusal(-32602, `Invalid cursor: ${cursor}`);
    const end = start + OFFER.pageSizes[kind];
    const page = { [kind]: items.slice(start, end) };
    return end >= items.length ? page : { ...page, nextCursor: String(end) };
  }

  async call(name, given, exchange) {
    if (name in OFFER.asks) {
      const rounds = given.answer === 'decline' ? [['decline']] : OFFER.asks[name];
      const answers = {};
      for (const names of rounds) Object.assign(answers, await exchange.ask(names));
      return text(sorted(answers));
    }
    if (name in OFFER.results) return OFFER.results[name];
    if (name === 'refuse') throw new Refusal(OFFER.refusal.code, OFFER.refusal.message, OFFER.refusal.data);
    if (name === 'seen') return text(sorted(seen(exchange.capabilities ?? {}, exchange.meta ?? {})));
    if (name === 'log_levels') {
      for (const [level, data] of OFFER.logs) await exchange.log(level, data);
      await this.released.wait(given.key);
      return text('done');
    }
    if (name === 'progress') {
      for (const step of OFFER.steps) await exchange.progress(...step);
      await this.released.wait(given.key);
      return text('done');
    }
    if (name === 'release') {
      this.released.set(given.key);
      return text('released');
    }
    if (name === 'slow') return this.slow(given.key, exchange.signal);
    if (name === 'await_started' || name === 'await_cancelled') {
      await (name === 'await_started' ? this.started : this.cancelled).wait(given.key);
      return text(name);
    }
    if (name === 'touch') {
      this.counter += 1;
      await exchange.updated('bridge://counter');
      return text(String(this.counter));
    }
    if (name.startsWith('change_')) {
      const kind = name.slice('change_'.length);
      this.revisions[kind] += 1;
      await exchange.changed(kind);
      return text(String(this.revisions[kind]));
    }
    throw new Refusal(-32602, `Unknown tool: ${name}`);
  }

  slow(key, signal) {
    this.started.set(key);
    return new Promise((_, reject) => {
      signal.addEventListener('abort', () => {
        this.cancelled.set(key);
        reject(new Refusal(-32800, 'cancelled'));
      });
    });
  }

  async prompt(name, given, exchange) {
    if (name === 'greet') return { messages: [message(`Greet ${given.name}.`)], description: 'A greeting' };
    if (name === 'asks') return { messages: [message(sorted(await exchange.ask(['name'])))] };
    if (name === 'plain' || name === 'extra') return { messages: [message('Plain.')] };
    throw new Refusal(-32602, `Unknown prompt: ${name}`);
  }

  async read(uri, exchange) {
    if (uri in OFFER.contents) return OFFER.contents[uri];
    const contents = { uri, mimeType: 'text/plain' };
    if (uri === 'bridge://counter') return { ...contents, text: String(this.counter) };
    if (uri === 'bridge://asks') return { ...contents, text: sorted(await exchange.ask(['name'])) };
    if (uri.startsWith('bridge://items/')) return { ...contents, text: `item ${uri.slice('bridge://items/'.length)}` };
    throw new Refusal(-32602, `Resource not found: ${uri}`, { uri });
  }
}

/** Things that happened, each by a key, and those who wait for them. */
class Marks {
  happened = new Set();
  waiting = new Map();

  set(key) {
    this.happened.add(key);
    for (const tell of this.waiting.get(key) ?? []) tell();
    this.waiting.delete(key);
  }

  wait(key) {
    if (this.happened.has(key)) return Promise.resolve();
    return new Promise((resolve) => this.waiting.set(key, [...(this.waiting.get(key) ?? []), resolve]));
  }
}

/** What a client says about itself, in the words of no revision. */
function seen(capabilities, meta) {
  const kinds = ['elicitation', 'roots', 'sampling'].filter((kind) => capabilities[kind]);
  const isOwn = ([key]) => key.startsWith('example.test/') || key === 'traceparent';
  const modes = Object.keys(capabilities.elicitation ?? {}).sort();
  return { capabilities: kinds, modes, meta: Object.fromEntries(Object.entries(meta).filter(isOwn)) };
}

/** The item that a change adds to a list. */
function extra(kind, revision) {
  const item = { name: 'extra', description: `revision ${revision}` };
  if (kind === 'tools') item.inputSchema = { type: 'object' };
  if (kind === 'resources') item.uri = 'bridge://extra';
  return item;
}

/** JSON with members in order, so that every server answers with the same letters. */
function sorted(value) {
  return JSON.stringify(value, (_, part) =>
    part && typeof part === 'object' && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
}

const text = (words) => ({ content: [{ type: 'text', text: words }] });
const message = (words) => ({ role: 'user', content: { type: 'text', text: words } });
