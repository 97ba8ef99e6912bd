// Time and chance come from the host, which can make both repeatable.

function Date(...parts) {
  if (!new.target) return new RealDate(host.now()).toString();
  return Reflect.construct(RealDate, parts.length ? parts : [host.now()], new.target);
}
defineProperty(Date, 'length', { value: 7 });
defineProperty(Date, 'prototype', { value: RealDate.prototype, writable: false });
for (const [name, value] of [['now', function now() { return host.now(); }], ['parse', RealDate.parse], ['UTC', RealDate.UTC]]) {
  defineProperty(Date, name, { value, writable: true, configurable: true });
}
defineProperty(RealDate.prototype, 'constructor', { value: Date, writable: true, configurable: true });

defineProperty(Math, 'random', { value: function random() { return host.random(); }, writable: true, configurable: true });

const timers = create(null);
let timerCount = 0;

function startTimer(callback, delay, repeat, parts) {
  if (typeof callback !== 'function') throw new TypeError('the first argument of a timer must be a function');
  const id = ++timerCount;
  timers[id] = { callback, parts, repeat };
  if (!host.startTimer(id, Math.max(0, Number(delay) || 0))) {
    delete timers[id];
    throw mark(new RangeError('too many timers are waiting'), 'limit');
  }
  return id;
}

function stopTimer(id) {
  if (timers[id]) {
    delete timers[id];
    host.stopTimer(Number(id));
  }
}

function fire(id) {
  const timer = timers[id];
  if (!timer) return;
  if (timer.repeat === undefined) delete timers[id];
  else host.startTimer(id, timer.repeat);
  apply(timer.callback, undefined, timer.parts);
}

const setTimeout = (callback, delay, ...parts) => startTimer(callback, delay, undefined, parts);
const setInterval = (callback, delay, ...parts) => startTimer(callback, delay, Math.max(1, Number(delay) || 0), parts);
const clearTimeout = (id) => stopTimer(id);
const clearInterval = (id) => stopTimer(id);
const setImmediate = (callback, ...parts) => startTimer(callback, 0, undefined, parts);
const clearImmediate = (id) => stopTimer(id);

function queueMicrotask(callback) {
  if (typeof callback !== 'function') throw new TypeError('queueMicrotask needs a function');
  Promise.resolve().then(() => callback());
}

const performance = freeze({ now: () => host.monotonic(), get timeOrigin() { return host.now() - host.monotonic(); } });

const crypto = freeze({
  getRandomValues(array) {
    if (!isView(array) || array instanceof Float32Array || array instanceof Float64Array) throw new TypeError('getRandomValues needs an array of integers');
    if (array.byteLength > 65536) throw new DOMException(`getRandomValues gives at most 65536 bytes, not ${array.byteLength}`, 'QuotaExceededError');
    new Uint8Array(array.buffer, array.byteOffset, array.byteLength).set(fromBinary(host.randomBytes(array.byteLength)));
    return array;
  },
  randomUUID() {
    const bytes = fromBinary(host.randomBytes(16));
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
  },
});
