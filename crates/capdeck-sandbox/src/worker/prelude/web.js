// The small part of the web platform that scripts expect: addresses, messages, cancelling, cloning.

const part = ['href', 'protocol', 'username', 'password', 'host', 'hostname', 'port', 'pathname', 'search', 'hash', 'origin'];

class URLSearchParams {
  #pairs = [];
  #changed;
  constructor(source = '', changed) {
    this.#changed = typeof changed === 'function' ? changed : undefined;
    this.#fill(source);
  }
  #fill(source) {
    if (typeof source === 'object' && source !== null) {
      const pairs = source[Symbol.iterator] ? [...source] : Object.entries(source);
      for (const pair of pairs) {
        const [name, value, ...more] = pair;
        if (value === undefined || more.length) throw new TypeError('URLSearchParams needs pairs of a name and a value');
        this.#pairs.push([String(name), String(value)]);
      }
    } else {
      this.#pairs = parse(host.formParse(String(source).toWellFormed().replace(/^\?/, '')));
    }
  }
  static refill(params, text) { params.#pairs = []; params.#fill(text); }
  #tell() { this.#changed?.(this.toString()); }
  get size() { return this.#pairs.length; }
  append(name, value) { this.#pairs.push([String(name), String(value)]); this.#tell(); }
  delete(name, value) {
    this.#pairs = this.#pairs.filter(([key, held]) => key !== String(name) || (value !== undefined && held !== String(value)));
    this.#tell();
  }
  get(name) { return this.#pairs.find(([key]) => key === String(name))?.[1] ?? null; }
  getAll(name) { return this.#pairs.filter(([key]) => key === String(name)).map(([, value]) => value); }
  has(name, value) { return this.#pairs.some(([key, held]) => key === String(name) && (value === undefined || held === String(value))); }
  set(name, value) {
    const at = this.#pairs.findIndex(([key]) => key === String(name));
    if (at < 0) this.#pairs.push([String(name), String(value)]);
    else this.#pairs = this.#pairs.filter(([key], index) => index <= at || key !== String(name)).map((pair, index) => index === at ? [pair[0], String(value)] : pair);
    this.#tell();
  }
  sort() { this.#pairs.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)); this.#tell(); }
  forEach(callback, self) { for (const [name, value] of this.#pairs) apply(callback, self, [value, name, this]); }
  *entries() { for (const [name, value] of this.#pairs) yield [name, value]; }
  *keys() { for (const [name] of this.#pairs) yield name; }
  *values() { for (const [, value] of this.#pairs) yield value; }
  [Symbol.iterator]() { return this.entries(); }
  toString() { return host.formSerialize(stringify(this.#pairs.map(([name, value]) => [name.toWellFormed(), value.toWellFormed()]))); }
  get [Symbol.toStringTag]() { return 'URLSearchParams'; }
}
const refill = URLSearchParams.refill;
delete URLSearchParams.refill;

class URL {
  #parts;
  #params;
  constructor(address, base) {
    const parts = host.urlParse(String(address).toWellFormed(), base === undefined ? undefined : String(base).toWellFormed());
    if (!parts) {
      const error = new TypeError(`\`${String(address).slice(0, 200)}\` is not a valid URL${base === undefined ? ' without a base' : ''}`);
      error.code = 'ERR_INVALID_URL';
      throw error;
    }
    this.#parts = parse(parts);
  }
  static canParse(address, base) { return Boolean(host.urlParse(String(address), base === undefined ? undefined : String(base))); }
  static parse(address, base) { return URL.canParse(address, base) ? new URL(address, base) : null; }
  #set(name, value) {
    const parts = host.urlSet(this.#parts.href, name, String(value).toWellFormed());
    if (parts) this.#parts = parse(parts);
    else if (name === 'href') throw new TypeError(`\`${String(value).slice(0, 200)}\` is not a valid URL`);
  }
  static {
    for (const name of part) {
      defineProperty(URL.prototype, name, {
        get() { return this.#parts[name]; },
        set: name === 'origin' ? undefined : function (value) {
          this.#set(name, value);
          if (this.#params && (name === 'search' || name === 'href')) refill(this.#params, this.#parts.search);
        },
        enumerable: true,
        configurable: true,
      });
    }
  }
  get searchParams() { return this.#params ??= new URLSearchParams(this.#parts.search, (text) => this.#set('search', text)); }
  toString() { return this.#parts.href; }
  toJSON() { return this.#parts.href; }
  get [Symbol.toStringTag]() { return 'URL'; }
}

class Headers {
  #held = new Map();
  constructor(source) {
    if (source === undefined || source === null) return;
    for (const [name, value] of source[Symbol.iterator] ? source : Object.entries(source)) this.append(name, value);
  }
  static #key(name) {
    if (!/^[!#$%&'*+.^_`|~\w-]+$/.test(String(name))) throw new TypeError(`\`${name}\` is not a header name`);
    return String(name).toLowerCase();
  }
  append(name, value) {
    const key = Headers.#key(name);
    this.#held.set(key, [...this.#held.get(key) ?? [], String(value).trim()]);
  }
  set(name, value) { this.#held.set(Headers.#key(name), [String(value).trim()]); }
  get(name) { return this.#held.get(Headers.#key(name))?.join(', ') ?? null; }
  getSetCookie() { return [...this.#held.get('set-cookie') ?? []]; }
  has(name) { return this.#held.has(Headers.#key(name)); }
  delete(name) { this.#held.delete(Headers.#key(name)); }
  forEach(callback, self) { for (const [name, value] of this) apply(callback, self, [value, name, this]); }
  *entries() { for (const name of [...this.#held.keys()].sort()) yield [name, this.get(name)]; }
  *keys() { for (const [name] of this.entries()) yield name; }
  *values() { for (const [, value] of this.entries()) yield value; }
  [Symbol.iterator]() { return this.entries(); }
  toJSON() { return Object.fromEntries(this.entries()); }
  get [Symbol.toStringTag]() { return 'Headers'; }
}

class FormData {
  #pairs = [];
  append(name, value, file) { this.#pairs.push([String(name), value instanceof Blob ? (value instanceof File ? value : new File([value], file ?? 'blob', { type: value.type })) : String(value)]); }
  set(name, value, file) { this.delete(name); this.append(name, value, file); }
  delete(name) { this.#pairs = this.#pairs.filter(([key]) => key !== String(name)); }
  get(name) { return this.#pairs.find(([key]) => key === String(name))?.[1] ?? null; }
  getAll(name) { return this.#pairs.filter(([key]) => key === String(name)).map(([, value]) => value); }
  has(name) { return this.#pairs.some(([key]) => key === String(name)); }
  forEach(callback, self) { for (const [name, value] of this.#pairs) apply(callback, self, [value, name, this]); }
  *entries() { yield* this.#pairs.map((pair) => [...pair]); }
  *keys() { for (const [name] of this.#pairs) yield name; }
  *values() { for (const [, value] of this.#pairs) yield value; }
  [Symbol.iterator]() { return this.entries(); }
}

// What requests and answers have in common: a body that is read once.
class Body {
  #source;
  #used = false;
  constructor(body = null) { this.#source = body === null ? new Blob() : body instanceof Blob || typeof body.getReader === 'function' ? body : new Blob([body]); }
  get bodyUsed() { return this.#used; }
  get body() { return this.#source instanceof Blob ? this.#source.stream() : this.#source; }
  async blob() {
    if (this.#used) throw new TypeError('the body was already read');
    this.#used = true;
    if (this.#source instanceof Blob) return this.#source;
    const parts = [];
    for await (const part of this.#source) parts.push(part);
    return new Blob(parts);
  }
  async text() { return (await this.blob()).text(); }
  async json() { return parse(await this.text()); }
  async arrayBuffer() { return (await this.blob()).arrayBuffer(); }
  async bytes() { return (await this.blob()).bytes(); }
}

class Request extends Body {
  constructor(address, { method = 'GET', headers, body } = {}) {
    super(body);
    defineProperty(this, 'url', { value: String(new URL(address)), enumerable: true });
    defineProperty(this, 'method', { value: String(method).toUpperCase(), enumerable: true });
    defineProperty(this, 'headers', { value: new Headers(headers), enumerable: true });
  }
}

class Response extends Body {
  constructor(body, { status = 200, statusText = '', headers } = {}) {
    if (status < 200 || status > 599) throw new RangeError(`the status ${status} is not between 200 and 599`);
    super(body);
    for (const [name, value] of Object.entries({ status, statusText: String(statusText), ok: status < 300, headers: new Headers(headers) })) {
      defineProperty(this, name, { value, enumerable: true });
    }
  }
  static json(data, given) { return new Response(stringify(data), { ...given, headers: { 'content-type': 'application/json', ...given?.headers } }); }
}

class Event {
  constructor(type, given = {}) { Object.assign(this, given); defineProperty(this, 'type', { value: String(type), enumerable: true }); }
}

class EventTarget {
  #listeners = new Map();
  addEventListener(type, listener, given) { this.#listeners.set(type, [...this.#listeners.get(type) ?? [], [listener, Boolean(given?.once)]]); }
  removeEventListener(type, listener) { this.#listeners.set(type, (this.#listeners.get(type) ?? []).filter(([held]) => held !== listener)); }
  dispatchEvent(event) {
    for (const [listener, once] of this.#listeners.get(event.type) ?? []) {
      if (once) this.removeEventListener(event.type, listener);
      if (typeof listener === 'function') apply(listener, this, [event]);
      else listener.handleEvent(event);
    }
    const handler = this[`on${event.type}`];
    if (typeof handler === 'function') apply(handler, this, [event]);
    return true;
  }
}

let abort;
class AbortSignal extends EventTarget {
  #aborted = false;
  #reason;
  static { abort = (signal, reason = new DOMException('the operation was aborted', 'AbortError')) => {
    if (signal.#aborted) return;
    signal.#aborted = true;
    signal.#reason = reason;
    signal.dispatchEvent(new Event('abort'));
  }; }
  get aborted() { return this.#aborted; }
  get reason() { return this.#reason; }
  throwIfAborted() { if (this.#aborted) throw this.#reason; }
  static abort(reason) { const signal = new AbortSignal(); abort(signal, reason); return signal; }
  static timeout(delay) {
    const signal = new AbortSignal();
    setTimeout(() => abort(signal, new DOMException(`the operation took longer than ${delay} ms`, 'TimeoutError')), delay);
    return signal;
  }
  static any(signals) {
    const joined = new AbortSignal();
    for (const signal of signals) {
      if (signal.aborted) abort(joined, signal.reason);
      else signal.addEventListener('abort', () => abort(joined, signal.reason));
    }
    return joined;
  }
}

class AbortController {
  #signal = new AbortSignal();
  get signal() { return this.#signal; }
  abort(reason) { abort(this.#signal, reason); }
}

function structuredClone(value) {
  const copies = new Map();
  const clone = (item) => {
    if (typeof item === 'function' || typeof item === 'symbol') throw new DOMException(`a ${typeof item} cannot be cloned`, 'DataCloneError');
    if (typeof item !== 'object' || item === null) return item;
    if (copies.has(item)) return copies.get(item);
    const keep = (copy) => (copies.set(item, copy), copy);
    if (item instanceof RealDate) return keep(new RealDate(item.getTime()));
    if (item instanceof RegExp) return keep(new RegExp(item.source, item.flags));
    if (item instanceof ArrayBuffer) return keep(item.slice(0));
    if (isView(item)) {
      const buffer = clone(item.buffer);
      return keep(item instanceof DataView ? new DataView(buffer, item.byteOffset, item.byteLength) : new item.constructor(buffer, item.byteOffset, item.length));
    }
    if (item instanceof Map) {
      const copy = keep(new Map());
      for (const [key, part] of item) copy.set(clone(key), clone(part));
      return copy;
    }
    if (item instanceof Set) {
      const copy = keep(new Set());
      for (const part of item) copy.add(clone(part));
      return copy;
    }
    if (item instanceof Error) {
      const copy = keep(create(getPrototypeOf(item)));
      for (const name of ['name', 'message', 'stack']) defineProperty(copy, name, { value: item[name], writable: true, configurable: true });
      if ('cause' in item) copy.cause = clone(item.cause);
      return copy;
    }
    if (item instanceof Promise || item instanceof WeakMap || item instanceof Blob && !(item instanceof File)) {
      if (item instanceof Blob) return keep(item);
      throw new DOMException('a Promise or a weak collection cannot be cloned', 'DataCloneError');
    }
    const copy = keep(isArray(item) ? new Array(item.length) : {});
    for (const key of Object.keys(item)) copy[key] = clone(item[key]);
    return copy;
  };
  return clone(value);
}

const log = (level) => (...parts) => { host.log(level, format(parts)); };
const counts = create(null);
const console = {
  log: log('log'), info: log('info'), warn: log('warn'), error: log('error'), debug: log('debug'), trace: log('debug'),
  dir: (value) => host.log('log', format([value])),
  table: (value) => host.log('log', format([value])),
  assert: (condition, ...parts) => { if (!condition) host.log('error', format(['assertion failed', ...parts])); },
  count: (label = 'default') => { counts[label] = (counts[label] ?? 0) + 1; host.log('log', `${label}: ${counts[label]}`); },
  group: log('log'), groupEnd: () => {}, time: () => {}, timeEnd: () => {},
};

function fetch() {
  const error = new Error('`fetch` is not available in code mode: scripts have no network');
  error.hint = 'call a capability instead, for example `await caplets.<id>.callTool(name, args)`; `await caplets.search("…")` finds one';
  throw mark(error, 'forbidden');
}
