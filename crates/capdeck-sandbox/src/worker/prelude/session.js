// Puts the globals in place, remembers how everything looked, and puts it back between cells.

const place = (name, value) => defineProperty(global, name, { value, writable: true, configurable: true, enumerable: false });
for (const [name, value] of Object.entries({
  AbortController, AbortSignal, Blob, Buffer, Date, Event, EventTarget, File, FormData, Headers, Request, Response, TextDecoder, TextEncoder, URL,
  URLSearchParams, atob, btoa, clearImmediate, clearInterval, clearTimeout, console, crypto, fetch, performance, queueMicrotask, setImmediate,
  setInterval, setTimeout, structuredClone,
})) place(name, value);
// Most runs use no streams, so they are made when one is named.
let streams;
for (const name of ['ReadableStream', 'WritableStream', 'TransformStream']) {
  defineProperty(global, name, {
    get() { return (streams ??= host.streams()())[name]; },
    set(value) { place(name, value); },
    configurable: true,
    enumerable: false,
  });
}
// Memory to share and threads to wait for do not exist here; waiting would only block.
delete global.Atomics;
delete global.SharedArrayBuffer;
defineProperty(global, 'caplets', { value: caplets, writable: false, configurable: false, enumerable: false });
// The rewritten `return` of a cell ends up here.
defineProperty(global, '$return', { value: (value) => { returned = { value }; }, writable: false, configurable: false, enumerable: false });

let returned;
let snapshot;

// Every built-in object that a script can reach, with its properties.
function remember() {
  const found = new Map();
  const queue = [global, getPrototypeOf([][Symbol.iterator]()), getPrototypeOf(async () => {}), getPrototypeOf(function* () {}),
    getPrototypeOf(async function* () {}), getPrototypeOf(new Map()[Symbol.iterator]()), getPrototypeOf(''[Symbol.iterator]()), callPrototype];
  while (queue.length) {
    const object = queue.pop();
    if (object === null || (typeof object !== 'object' && typeof object !== 'function') || object === caplets || found.has(object)) continue;
    const keys = ownKeys(object);
    // Most built-in objects are plain functions. Nothing depends on their `name` and `length`, and they are the most to compare.
    if (typeof object === 'function' && keys.every((key) => key === 'length' || key === 'name')) continue;
    // Without a prototype, so that one a script has changed does not speak in when they are put back.
    const properties = keys.map((key) => setPrototypeOf(getOwnPropertyDescriptor(object, key), null));
    found.set(object, { object, keys, properties, prototype: getPrototypeOf(object), extensible: Object.isExtensible(object) });
    queue.push(getPrototypeOf(object));
    for (const property of properties) queue.push(property.value, property.get, property.set);
  }
  return [...found.values()];
}

// Captured, because the very methods used here are among what is put back.
const { is, isExtensible } = Object;
const { deleteProperty } = Reflect;
const defineQuietly = Reflect.defineProperty;
const setPrototypeQuietly = Reflect.setPrototypeOf;

// Reading a plain property is much cheaper than asking for its descriptor, and tells what matters.
function isUnchanged(object, key, then) {
  if ('value' in then) return is(object[key], then.value);
  const now = getOwnPropertyDescriptor(object, key);
  return now !== undefined && now.get === then.get && now.set === then.set;
}

// Undoes what a cell did to built-ins, except to names the session declared itself. False when that is not possible.
function restore(declaredText) {
  const declared = parse(declaredText);
  const own = create(null);
  for (let index = 0; index < declared.length; index += 1) own[declared[index]] = true;
  let whole = true;
  for (let at = 0; at < snapshot.length; at += 1) {
    const { object, keys, properties, prototype, extensible } = snapshot[at];
    if (extensible && !isExtensible(object)) whole = false;
    if (getPrototypeOf(object) !== prototype && !setPrototypeQuietly(object, prototype)) whole = false;
    for (let index = 0; index < keys.length; index += 1) {
      const key = keys[index];
      if (object === global && own[key]) continue;
      if (!isUnchanged(object, key, properties[index]) && !defineQuietly(object, key, properties[index])) whole = false;
    }
    const now = object === global ? keys : ownKeys(object);
    if (now.length !== keys.length) whole = removeAdded(object, keys, now) && whole;
  }
  return whole;
}

function removeAdded(object, keys, now) {
  let whole = true;
  for (let index = 0; index < now.length; index += 1) {
    let known = false;
    for (let other = 0; other < keys.length; other += 1) known ||= keys[other] === now[index];
    if (!known && !deleteProperty(object, now[index])) whole = false;
  }
  return whole;
}

function begin(text, largest) {
  if (text !== namesText) {
    namesText = text;
    names = undefined;
  }
  largestValue = largest;
  returned = undefined;
  omitted = 0;
  missing = undefined;
  for (const id of Object.keys(timers)) delete timers[id];
  for (const id of Object.keys(waiting)) delete waiting[id];
}

// The JSON text of what the cell gave back. Promises directly inside it are waited for, as their author surely meant.
function result(completion, wanted) {
  if (returned) return finish(returned.value, true);
  return wanted ? finish(completion?.value, false) : Promise.resolve([undefined, false, omitted]);
}

async function finish(value, explicit) {
  let settled = await value;
  let late = false;
  if (isArray(settled) && settled.some((item) => item instanceof Promise)) {
    late = true;
    settled = await Promise.all(settled);
  } else if (typeof settled === 'object' && settled !== null && getPrototypeOf(settled) === plainPrototype) {
    const entries = Object.entries(settled);
    if (entries.some(([, item]) => item instanceof Promise)) {
      late = true;
      settled = Object.fromEntries(await Promise.all(entries.map(async ([name, item]) => [name, await item])));
    }
  }
  omitted = 0;
  if (explicit) return [encode(settled, 'the returned value'), late, omitted];
  try {
    return [encode(settled, 'the value'), late, omitted];
  } catch (error) {
    // The script did not ask for the value of a last line such as `list.push(item)`.
    if (error instanceof ValueProblem && error.kind !== 'large') return [undefined, late, 0];
    throw error;
  }
}

const undeclared = (text) => stringify(parse(text).filter((name) => global[name] === undefined));

snapshot = remember();
const globalCount = ownKeys(global).length;
const hasNewGlobals = () => ownKeys(global).length !== globalCount;
return { begin, hasNewGlobals, settle, fire, describe, restore, result, undeclared, format: (value) => format([value]) };
