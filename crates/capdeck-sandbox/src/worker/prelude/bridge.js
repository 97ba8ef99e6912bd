// `caplets`: handles are made when they are touched, so a thousand capabilities cost a list of names.

const waiting = create(null);
let namesText = '[]';
let names;

// A capability as code reaches it.
const path = (id) => /^[A-Za-z_$][\w$]*$/.test(id) ? `caplets.${id}` : `caplets[${stringify(id)}]`;

const known = () => names ??= new Set(parse(namesText));

// Reading a result off a call that was not awaited would quietly give `undefined`.
const callPrototype = create(Promise.prototype);
for (const member of ['ok', 'data', 'error', 'meta', 'items', 'content', 'structuredContent', 'length', 'map', 'filter', 'forEach', 'find', 'tool', 'status']) {
  defineProperty(callPrototype, member, {
    get() {
      throw new TypeError(`this call was not awaited, so it has no \`${member}\` yet: write \`(await …).${member}\``);
    },
  });
}

function failure(answer, capability, tool) {
  const error = new Error(answer.message);
  error.name = 'CapabilityError';
  error.code = answer.code;
  if (answer.details !== undefined) error.details = answer.details;
  if (answer.hint !== undefined) error.hint = answer.hint;
  error.capability = capability;
  if (tool !== undefined) error.tool = tool;
  return mark(error, 'call');
}

// Arguments that could not leave, in the words of a call that failed.
const unsent = ({ kind, message, hint }) => ({ code: kind === 'large' ? 'CONTENT_TOO_LARGE' : 'SERIALIZATION_ERROR', message, hint });

// Sends one call. `asResult` calls answer `{ ok, data, meta }` or `{ ok, error, meta }`; the others throw.
function send(capability, method, args, asResult, tool) {
  let resolve;
  let reject;
  const promise = setPrototypeOf(new Promise((yes, no) => { resolve = yes; reject = no; }), callPrototype);
  try {
    const text = encode(args, 'the arguments', '.args');
    const id = host.call(capability, method, text);
    if (id < 0) throw mark(new RangeError(`a run may make at most ${-id} calls`), 'limit');
    const place = new Error();
    waiting[id] = (ok, data, meta) => {
      const value = data === undefined ? undefined : parse(data);
      if (asResult) {
        const result = ok ? { ok: true, data: value } : { ok: false, error: value };
        if (meta !== undefined) result.meta = parse(meta);
        resolve(result);
      } else if (ok) {
        resolve(value);
      } else {
        const error = failure(value, capability, tool);
        error.stack = place.stack;
        reject(error);
      }
    };
  } catch (error) {
    if (asResult && error instanceof ValueProblem) resolve({ ok: false, error: unsent(error), meta: { capletId: capability } });
    else reject(error);
  }
  return promise;
}

function settle(id, ok, data, meta) {
  const answer = waiting[id];
  delete waiting[id];
  if (answer) answer(ok, data, meta);
}

const page = (given) => given === undefined || given === null ? {} : { limit: given.limit, cursor: given.cursor };
const options = (given) => given === undefined || given === null ? {} : { fields: given.fields };

// Method name → [the call's arguments by name, whether it answers a result object].
const methods = {
  __proto__: null,
  inspect: [() => ({}), false],
  check: [() => ({}), true],
  tools: [page, false],
  searchTools: [(query, given) => ({ query, ...page(given) }), false],
  describeTool: [(name) => ({ name }), true],
  callTool: [(name, args, given) => ({ name, args: args ?? {}, ...options(given) }), true],
  resources: [page, false],
  searchResources: [(query, given) => ({ query, ...page(given) }), false],
  resourceTemplates: [page, false],
  readResource: [(uri) => ({ uri }), true],
  prompts: [page, false],
  searchPrompts: [(query, given) => ({ query, ...page(given) }), false],
  getPrompt: [(name, args) => ({ name, args: args ?? {} }), true],
  complete: [(input) => input, true],
};
const methodNames = Object.keys(methods);

// Asked of every object by the language itself, by `await` or by `JSON.stringify`; never a capability or a tool.
const isAmbient = (key) => typeof key === 'symbol' || key === 'then' || key === 'toJSON' || key === 'constructor';

function makeHandle(id) {
  const members = create(null);
  members.id = id;
  const member = (key) => {
    const method = methods[key];
    if (method) {
      const [shape, asResult] = method;
      return (...given) => send(id, key, shape(...given), asResult, typeof given[0] === 'string' ? given[0] : undefined);
    }
    if (key === 'call') throw mark(new TypeError(`\`${path(id)}.call\` is not a method: use \`${path(id)}.callTool(name, args)\``), 'method');
    return (args, given) => send(id, 'callTool', { name: key, args: args ?? {}, ...options(given) }, false, key);
  };
  return new Proxy(create(null), {
    get: (_, key) => isAmbient(key) ? undefined : members[key] ??= member(key),
    has: (_, key) => key === 'id' || key in methods,
    ownKeys: () => ['id', ...methodNames],
    getOwnPropertyDescriptor: (_, key) => isAmbient(key) ? undefined
      : { value: members[key] ??= member(key), enumerable: true, configurable: true },
    set: () => false,
    defineProperty: () => false,
    deleteProperty: () => false,
  });
}

const hostFunctions = {
  __proto__: null,
  search: (query, given) => send(undefined, 'search', { query, ...page(given) }, false),
  types: (id, tool) => send(undefined, 'types', { id, tool }, false),
  artifacts: freeze({ __proto__: null, read: (ref, range) => send(undefined, 'readArtifact', { ref, ...range }, false) }),
  debug: freeze({
    __proto__: null,
    readLogs: (given) => send(undefined, 'readLogs', given ?? {}, false),
    readRecovery: (given) => send(undefined, 'readRecovery', given ?? {}, false),
  }),
};

// A capability may be named like one of ours, `debug` for instance: then one object does both.
const both = (own, handle) => new Proxy(own, { get: (_, key) => isAmbient(key) || key in own ? own[key] : handle[key] });

const handles = create(null);
// The last capability that the cell asked for in vain. It is `undefined`, so that a script can ask; the error of one that
// relies on it says what is missing.
let missing;
function handle(key) {
  if (!known().has(key)) {
    missing = key;
    return undefined;
  }
  return handles[key] ??= hostFunctions[key] ? both(hostFunctions[key], makeHandle(key)) : makeHandle(key);
}

function missingText() {
  const near = host.nearest(missing, namesText);
  return `there is no capability \`${missing}\`${near ? `, did you mean \`${path(near)}\`?` : ''}; \`Object.keys(caplets)\` lists them, \`await caplets.search("…")\` searches them`;
}

// A capability may be called `then` or `constructor`: its handle is no function, so the language takes no notice of it.
const isMissing = (key) => isAmbient(key) && (typeof key === 'symbol' || !known().has(key));

const member = (key) => key in hostFunctions && !known().has(key) ? hostFunctions[key] : handle(key);
const caplets = new Proxy(create(null), {
  get: (_, key) => isMissing(key) ? undefined : member(key),
  has: (_, key) => key in hostFunctions || known().has(key),
  // Names of capabilities only: a script that goes through them calls each.
  ownKeys: () => [...known()],
  getOwnPropertyDescriptor: (_, key) => isMissing(key) || !(key in hostFunctions || known().has(key)) ? undefined
    : { value: member(key), enumerable: known().has(key), configurable: true },
  set: () => false,
  defineProperty: () => false,
  deleteProperty: () => false,
});
