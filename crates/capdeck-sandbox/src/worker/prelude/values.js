// How values leave the script: as JSON for calls and results, as text for logs, as plain data for errors.
// Everything used here is taken at start, so that a script that replaces a built-in meets its own change only.

const global = globalThis;
const { AggregateError, Array, ArrayBuffer, BigInt, Error, JSON, Map, Math, Number, Object, Promise, Proxy, RangeError,
  Reflect, RegExp, Set, String, Symbol, TypeError, Uint8Array, DataView, DOMException, WeakMap } = global;
const RealDate = global.Date;
const { stringify, parse } = JSON;
const { isArray } = Array;
const { create, defineProperty, freeze, getOwnPropertyDescriptor, getPrototypeOf, setPrototypeOf } = Object;
const { apply, ownKeys } = Reflect;
const plainPrototype = Object.prototype;
const isView = ArrayBuffer.isView;

// Set for every run: the most characters of JSON text that may leave in one piece.
let largestValue = 1 << 22;

// Parts of values that JSON leaves out, counted so that the author hears of it.
let omitted = 0;

class ValueProblem extends Error {
  constructor(kind, message, hint) {
    super(message);
    this.kind = kind;
    this.hint = hint;
  }
}

const show = (path) => path.map((step) => typeof step === 'number' ? `[${step}]`
  : /^[A-Za-z_$][\w$]*$/.test(step) ? `.${step}` : `[${stringify(step)}]`).join('');

// What is inside a value, with the names it has there.
function partsOf(item) {
  if (item instanceof Map) return [...item].map(([key, part], index) => [typeof key === 'string' ? key : index, part]);
  if (item instanceof Set) return [...item].map((part, index) => [index, part]);
  return Object.keys(item).map((key) => [isArray(item) ? Number(key) : key, item[key]]);
}

// The way to the first part for which `wanted` holds, or to the first repetition of an object inside itself.
function locate(root, wanted) {
  const above = [];
  const walk = (item, path) => {
    if (path.length > 200) return undefined;
    if (wanted ? wanted(item) : above.includes(item)) return path;
    if (typeof item !== 'object' || item === null) return undefined;
    above.push(item);
    for (const [key, part] of partsOf(item)) {
      const found = walk(part, [...path, key]);
      if (found) return found;
    }
    above.pop();
    return undefined;
  };
  try {
    return show(walk(root, []) ?? []);
  } catch {
    return '';
  }
}

const tooLarge = (what, length) => new ValueProblem('large',
  `${what} would be ${length} characters of JSON, the limit is ${largestValue}`,
  'filter, count or page inside the script and return only what is needed');

function replace(key, item) {
  switch (typeof item) {
    case 'string':
      if (item.length > largestValue) throw tooLarge('it', item.length);
      return item;
    case 'bigint':
      throw new ValueProblem('bigint');
    case 'function':
    case 'symbol':
      omitted += 1;
      return undefined;
    case 'object': {
      if (item === null || isArray(item)) return item;
      const prototype = getPrototypeOf(item);
      if (prototype === plainPrototype || prototype === null) return item;
      return special(item);
    }
    default:
      return item;
  }
}

// Objects whose content `JSON.stringify` would lose without a word.
function special(item) {
  if (item instanceof Map) {
    const entries = [...item];
    return entries.every(([name]) => typeof name === 'string') ? Object.fromEntries(entries) : entries;
  }
  if (item instanceof Set) return [...item];
  if (item instanceof Promise) throw new ValueProblem('promise');
  if (item instanceof Error) return { name: item.name, message: item.message, ...item };
  if (item instanceof RegExp) return String(item);
  if (item instanceof ArrayBuffer) return Array.from(new Uint8Array(item));
  if (isView(item)) return Array.from(item.length === undefined ? new Uint8Array(item.buffer, item.byteOffset, item.byteLength) : item);
  return item;
}

// JSON text of a value. `undefined` gives `undefined`; whatever cannot leave throws a `ValueProblem`. `envelope` is where the
// author's own value begins, if it does not begin at the top.
function encode(value, what, envelope = '') {
  const at = (path) => what + (path.startsWith(envelope) ? path.slice(envelope.length) : path);
  const circular = (path) => new ValueProblem('type', `${at(path)} refers back to an object it is part of, which JSON cannot carry`,
    'pick the fields that are needed instead of the whole object');
  try {
    let text = stringify(value, replace);
    if (text === undefined) {
      if (value === undefined) return undefined;
      throw new ValueProblem('type', `${what} is a ${typeof value}, which JSON cannot carry`, 'return data: objects, arrays, strings, numbers, booleans or null');
    }
    if (text.length > largestValue) throw tooLarge(what, text.length);
    // Only halves of a surrogate pair are escaped like this; other programs refuse them.
    if (/\\ud[89a-f]/i.test(text)) {
      text = stringify(value, function (key, item) {
        const replaced = apply(replace, this, [key, item]);
        return typeof replaced === 'string' ? replaced.toWellFormed() : replaced;
      });
    }
    return text;
  } catch (error) {
    if (error instanceof ValueProblem) {
      if (error.kind === 'bigint') {
        const path = locate(value, (item) => typeof item === 'bigint');
        throw new ValueProblem('type', `${at(path)} is a BigInt, which JSON cannot carry`, 'convert it with `String(value)` or `Number(value)`');
      }
      if (error.kind === 'promise') {
        const path = locate(value, (item) => item instanceof Promise);
        throw new ValueProblem('type', `${at(path)} is a Promise that was not awaited`, 'write `await` before the call, or `await Promise.all([…])` around several');
      }
      if (error.kind === 'large' && error.message.startsWith('it ')) throw tooLarge(what, Number(/\d+/.exec(error.message)[0]));
      throw error;
    }
    if (error instanceof TypeError && /circular/i.test(error.message)) throw circular(locate(value));
    if (error instanceof RangeError && /call stack/.test(error.message)) {
      // Maps, sets and errors are converted for JSON, which then does not see that it goes round in a circle.
      const path = locate(value);
      if (path) throw circular(path);
      throw new ValueProblem('type', `${what} nests too deeply for JSON`, 'return a flatter value');
    }
    throw error;
  }
}

// A value as a log shows it: short, never failing, never running code of the value where that can be helped.
function inspect(value, depth, above) {
  switch (typeof value) {
    case 'string': return depth ? stringify(value) : value;
    case 'bigint': return `${value}n`;
    case 'symbol': return value.toString();
    case 'function': return `[function ${value.name || 'anonymous'}]`;
    case 'object': break;
    default: return String(value);
  }
  if (value === null) return 'null';
  if (value instanceof Error) return `${value.name}: ${value.message}`;
  if (value instanceof Promise) return '[Promise]';
  if (value instanceof RealDate) return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString();
  if (value instanceof RegExp) return String(value);
  if (above.includes(value)) return '[circular]';
  if (depth > 4) return isArray(value) ? '[…]' : '{…}';
  const inside = [...above, value];
  const list = (items, open, close, render) => {
    const shown = items.slice(0, 100).map(render);
    if (items.length > 100) shown.push(`… ${items.length - 100} more`);
    return shown.length ? `${open} ${shown.join(', ')} ${close}` : open + close;
  };
  const item = (part) => inspect(part, depth + 1, inside);
  if (isArray(value) || (isView(value) && value.length !== undefined)) {
    return list(isArray(value) ? value : Array.from(value.subarray(0, 101)), '[', ']', item);
  }
  if (value instanceof Map) return `Map ${list([...value], '{', '}', ([key, part]) => `${item(key)} => ${item(part)}`)}`;
  if (value instanceof Set) return `Set ${list([...value], '{', '}', item)}`;
  const name = value.constructor && value.constructor !== Object ? `${value.constructor.name} ` : '';
  return name + list(Object.keys(value), '{', '}', (key) => `${/^[\w$]+$/.test(key) ? key : stringify(key)}: ${item(value[key])}`);
}

const longestText = 8192;

function cut(text) {
  const rest = text.length - longestText;
  return (rest > 0 ? `${text.slice(0, longestText)}… (${rest} more characters)` : text).toWellFormed();
}

function format(parts) {
  return cut(parts.map((part) => {
    try {
      return inspect(part, 0, []);
    } catch {
      return '[a value that cannot be shown]';
    }
  }).join(' '));
}

// What was thrown, as JSON text with strings only.
function describe(thrown) {
  const failure = { name: '', message: '', stack: '', kind: 'thrown' };
  try {
    if (thrown instanceof ValueProblem) {
      failure.kind = thrown.kind === 'large' ? 'large' : 'value';
      failure.message = thrown.message;
      failure.hint = thrown.hint;
      failure.stack = cut(String(thrown.stack ?? ''));
    } else if (thrown instanceof Error || thrown instanceof DOMException) {
      failure.kind = marks.get(thrown) ?? 'error';
      failure.name = String(thrown.name);
      failure.message = cut(String(thrown.message));
      if (missing !== undefined && thrown instanceof TypeError && / of undefined$/.test(failure.message)) failure.hint = missingText();
      failure.stack = cut(String(thrown.stack ?? ''));
      if (failure.kind === 'call') failure.details = { code: thrown.code, ...thrown.details && { details: thrown.details }, capability: thrown.capability, ...thrown.tool && { tool: thrown.tool } };
      if (typeof thrown.hint === 'string') failure.hint = thrown.hint;
      if (thrown instanceof AggregateError && isArray(thrown.errors)) failure.message = `${failure.message || 'several errors'}: ${format([thrown.errors])}`;
      if (thrown.cause !== undefined) failure.cause = format([thrown.cause]).slice(0, 500);
    } else {
      failure.message = format([thrown]);
      const text = typeof thrown === 'string' && thrown.length > 4096 ? undefined : encode(thrown, 'value');
      if (text !== undefined && text.length <= 4096) failure.details = { thrown: parse(text) };
    }
  } catch {
    failure.message ||= 'a value that cannot be shown';
  }
  return stringify(failure);
}

// Errors that this prelude made, and which kind they are; a script cannot forge these.
const marks = new WeakMap();
const mark = (error, kind) => (marks.set(error, kind), error);
