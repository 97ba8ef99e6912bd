// Streams of the web platform, for scripts that split or join data. Evaluated when a script first names one of them, so
// that runs without streams neither wait nor pay for them. Nothing here outlives a run: the chunks are in memory.
(function () {
'use strict';
const pending = () => {
  const deferred = {};
  deferred.promise = new Promise((resolve, reject) => Object.assign(deferred, { resolve, reject }));
  deferred.promise.catch(() => {});
  return deferred;
};
const lock = (stream, state, what) => {
  if (state.reader) throw new TypeError(`the ${what} is locked: release its reader or writer first`);
  return state;
};
const size = (strategy) => strategy?.size ?? (() => 1);
const mark = (strategy, usual) => {
  const given = Number(strategy?.highWaterMark ?? usual);
  if (Number.isNaN(given) || given < 0) throw new RangeError('highWaterMark must be a number of at least 0');
  return given;
};
const states = new WeakMap();
const of = (stream, kind) => {
  const state = states.get(stream);
  if (!state || state.kind !== kind) throw new TypeError(`this is not a ${kind}`);
  return state;
};

class ReadableStream {
  constructor(source = {}, strategy = {}) {
    if (source?.type !== undefined) throw new TypeError('byte streams are not available in code mode: leave out `type`');
    const state = { kind: 'ReadableStream', queue: [], total: 0, status: 'open', waiting: [], closed: pending(), source, size: size(strategy), most: mark(strategy, 1) };
    states.set(this, state);
    const room = () => state.status === 'open' ? state.most - state.total : state.status === 'errored' ? null : 0;
    const open = () => { if (state.status !== 'open' || state.ending) throw new TypeError('the stream is closed'); };
    state.controller = Object.freeze({
      get desiredSize() { return room(); },
      enqueue(chunk) {
        open();
        if (state.waiting.length) state.waiting.shift().resolve({ value: chunk, done: false });
        else {
          const weight = state.size(chunk);
          state.queue.push([chunk, weight]);
          state.total += weight;
        }
        state.ask();
      },
      close() { open(); state.ending = true; if (!state.queue.length) state.end(); },
      error(reason) { state.fail(reason); },
    });
    state.end = () => {
      if (state.status !== 'open') return;
      state.status = 'closed';
      for (const { resolve } of state.waiting.splice(0)) resolve({ value: undefined, done: true });
      state.closed.resolve();
    };
    state.fail = (reason) => {
      if (state.status !== 'open') return;
      Object.assign(state, { status: 'errored', reason, queue: [], total: 0 });
      for (const { reject } of state.waiting.splice(0)) reject(reason);
      state.closed.reject(reason);
    };
    state.ask = () => {
      if (!state.started || state.status !== 'open' || state.ending || !source?.pull) return;
      if (!state.waiting.length && room() <= 0) return;
      if (state.asking) { state.again = true; return; }
      state.asking = true;
      new Promise((resolve) => resolve(source.pull(state.controller))).then(() => {
        state.asking = false;
        if (state.again) { state.again = false; state.ask(); }
      }, state.fail);
    };
    state.read = () => {
      if (state.queue.length) {
        const [chunk, weight] = state.queue.shift();
        state.total -= weight;
        if (state.ending && !state.queue.length) state.end();
        else state.ask();
        return Promise.resolve({ value: chunk, done: false });
      }
      if (state.status === 'closed') return Promise.resolve({ value: undefined, done: true });
      if (state.status === 'errored') return Promise.reject(state.reason);
      const deferred = pending();
      state.waiting.push(deferred);
      state.ask();
      return deferred.promise;
    };
    state.cancel = async (reason) => {
      if (state.status === 'errored') throw state.reason;
      if (state.status === 'closed') return;
      Object.assign(state, { queue: [], total: 0 });
      state.end();
      await source?.cancel?.(reason);
    };
    const started = source?.start?.(state.controller);
    Promise.resolve(started).then(() => { state.started = true; state.ask(); }, state.fail);
  }
  static from(items) {
    const iterator = items?.[Symbol.asyncIterator]?.() ?? items?.[Symbol.iterator]?.();
    if (!iterator) throw new TypeError('ReadableStream.from needs something that can be gone through');
    return new ReadableStream({
      async pull(controller) {
        const { value, done } = await iterator.next();
        if (done) controller.close();
        else controller.enqueue(await value);
      },
      async cancel(reason) { await iterator.return?.(reason); },
    }, { highWaterMark: 0 });
  }
  get locked() { return Boolean(of(this, 'ReadableStream').reader); }
  async cancel(reason) { return lock(this, of(this, 'ReadableStream'), 'stream').cancel(reason); }
  getReader({ mode } = {}) {
    if (mode !== undefined) throw new TypeError('readers of bytes are not available in code mode: leave out `mode`');
    const state = lock(this, of(this, 'ReadableStream'), 'stream');
    let released;
    const live = () => { if (released) throw new TypeError('the reader was released'); return state; };
    state.reader = Object.freeze({
      get closed() { return released ?? state.closed.promise; },
      async read() { return live().read(); },
      async cancel(reason) { return live().cancel(reason); },
      releaseLock() {
        if (released) return;
        const error = new TypeError('the reader was released');
        for (const { reject } of state.waiting.splice(0)) reject(error);
        released = Promise.reject(error);
        released.catch(() => {});
        state.reader = undefined;
      },
    });
    return state.reader;
  }
  async *values({ preventCancel = false } = {}) {
    const reader = this.getReader();
    let ended = false;
    try {
      for (;;) {
        const { value, done } = await reader.read().catch((error) => { ended = true; throw error; });
        if (done) { ended = true; return; }
        yield value;
      }
    } finally {
      if (!ended && !preventCancel) await reader.cancel();
      reader.releaseLock();
    }
  }
  [Symbol.asyncIterator](given) { return this.values(given); }
  tee() {
    const reader = this.getReader();
    const controllers = [];
    const cancelled = [false, false];
    let turn;
    const branch = (index) => new ReadableStream({
      start(controller) { controllers[index] = controller; },
      pull: () => turn ??= reader.read().then(({ value, done }) => {
        turn = undefined;
        controllers.forEach((controller, at) => {
          if (cancelled[at]) return;
          if (done) controller.close();
          else controller.enqueue(value);
        });
      }, (error) => controllers.forEach((controller) => controller.error(error))),
      async cancel(reason) { cancelled[index] = true; if (cancelled[0] && cancelled[1]) await reader.cancel(reason); },
    });
    return [branch(0), branch(1)];
  }
  async pipeTo(target, { preventClose = false, preventAbort = false, preventCancel = false, signal } = {}) {
    const writer = target.getWriter();
    const reader = this.getReader();
    const stopped = pending();
    if (signal?.aborted) stopped.reject(signal.reason);
    else signal?.addEventListener('abort', () => stopped.reject(signal.reason));
    // A sink that failed ends the pipe even when no chunk comes any more.
    const sunk = writer.closed.then(() => { throw new TypeError('the stream that is written to is closed'); });
    sunk.catch(() => {});
    const stops = (work) => Promise.race([work, stopped.promise, sunk]);
    try {
      for (;;) {
        await stops(writer.ready);
        const { value, done } = await stops(reader.read().catch(async (error) => {
          if (!preventAbort) await writer.abort(error);
          throw error;
        }));
        if (done) break;
        writer.write(value).catch(() => {});
      }
      if (!preventClose) await writer.close();
    } catch (error) {
      if (signal?.aborted && !preventAbort) await writer.abort(error).catch(() => {});
      if (!preventCancel) await reader.cancel(error).catch(() => {});
      throw error;
    } finally {
      reader.releaseLock();
      writer.releaseLock();
    }
  }
  pipeThrough({ readable: output, writable: input }, given) {
    this.pipeTo(input, given).catch(() => {});
    return output;
  }
  get [Symbol.toStringTag]() { return 'ReadableStream'; }
}

class WritableStream {
  constructor(sink = {}, strategy = {}) {
    if (sink?.type !== undefined) throw new TypeError('a stream to write to has no `type`');
    const state = { kind: 'WritableStream', status: 'open', total: 0, closed: pending(), size: size(strategy), most: mark(strategy, 1), aborter: new AbortController() };
    states.set(this, state);
    state.controller = Object.freeze({ signal: state.aborter.signal, error(reason) { state.fail(reason); } });
    state.room = () => state.status === 'open' ? state.most - state.total : state.status === 'errored' ? null : 0;
    state.settle = () => { if (state.room() > 0) state.ready?.resolve(); };
    state.fail = (reason) => {
      if (state.status === 'closed' || state.status === 'errored') return;
      Object.assign(state, { status: 'errored', reason });
      state.ready?.reject(reason);
      state.ready = pending();
      state.ready.reject(reason);
      state.closed.reject(reason);
    };
    // Writes happen one after another; each waits for all before it.
    state.tail = Promise.resolve().then(() => sink?.start?.(state.controller));
    state.tail.catch(state.fail);
    const then = (work) => {
      const done = state.tail.then(() => {
        if (state.status === 'errored') throw state.reason;
        return work();
      });
      state.tail = done.catch(() => {});
      done.catch(state.fail);
      return done;
    };
    const usable = () => {
      if (state.status === 'errored') throw state.reason;
      if (state.status !== 'open') throw new TypeError('the stream is closed');
    };
    state.write = async (chunk) => {
      usable();
      const weight = state.size(chunk);
      state.total += weight;
      if (state.room() <= 0) state.ready = pending();
      await then(() => sink?.write?.(chunk, state.controller)).finally(() => { state.total -= weight; state.settle(); });
    };
    state.close = async () => {
      usable();
      state.status = 'closing';
      state.ready?.resolve();
      await then(async () => {
        await sink?.close?.();
        state.status = 'closed';
        state.closed.resolve();
      });
    };
    state.abort = async (reason) => {
      if (state.status === 'closed' || state.status === 'errored') return;
      state.aborter.abort(reason);
      state.fail(reason);
      await state.tail;
      await sink?.abort?.(reason);
    };
  }
  get locked() { return Boolean(of(this, 'WritableStream').reader); }
  async close() { return lock(this, of(this, 'WritableStream'), 'stream').close(); }
  async abort(reason) { return lock(this, of(this, 'WritableStream'), 'stream').abort(reason); }
  getWriter() {
    const state = lock(this, of(this, 'WritableStream'), 'stream');
    let released;
    const live = () => { if (released) throw new TypeError('the writer was released'); return state; };
    state.reader = Object.freeze({
      get closed() { return released ?? state.closed.promise; },
      get ready() { return released ?? state.ready?.promise ?? Promise.resolve(); },
      get desiredSize() { return live().room(); },
      async write(chunk) { return live().write(chunk); },
      async close() { return live().close(); },
      async abort(reason) { return live().abort(reason); },
      releaseLock() {
        if (released) return;
        released = Promise.reject(new TypeError('the writer was released'));
        released.catch(() => {});
        state.reader = undefined;
      },
    });
    return state.reader;
  }
  get [Symbol.toStringTag]() { return 'WritableStream'; }
}

class TransformStream {
  #readable;
  #writable;
  constructor(transformer = {}, writableStrategy = {}, readableStrategy = {}) {
    let output;
    let wanted = pending();
    this.#readable = new ReadableStream({
      start(controller) { output = controller; },
      pull() { wanted.resolve(); wanted = pending(); },
      cancel: async (reason) => { fail(reason); await transformer?.cancel?.(reason); },
    }, { highWaterMark: 0, ...readableStrategy });
    const read = states.get(this.#readable);
    const fail = (reason) => { output.error(reason); states.get(this.#writable).fail(reason); wanted.resolve(); };
    const controller = Object.freeze({
      get desiredSize() { return output.desiredSize; },
      enqueue(chunk) { output.enqueue(chunk); },
      error: fail,
      terminate: () => { output.close(); states.get(this.#writable).fail(new TypeError('the transformation was terminated')); },
    });
    this.#writable = new WritableStream({
      start: () => transformer?.start?.(controller),
      async write(chunk) {
        // A chunk is transformed when the other side has room for it, or waits for one.
        while (read.status === 'open' && output.desiredSize <= 0 && !read.waiting.length) await wanted.promise;
        try {
          if (transformer?.transform) await transformer.transform(chunk, controller);
          else controller.enqueue(chunk);
        } catch (error) {
          fail(error);
          throw error;
        }
      },
      async close() {
        try {
          await transformer?.flush?.(controller);
        } catch (error) {
          fail(error);
          throw error;
        }
        if (output.desiredSize !== null) output.close();
      },
      abort: (reason) => output.error(reason),
    }, writableStrategy);
  }
  get readable() { return this.#readable; }
  get writable() { return this.#writable; }
  get [Symbol.toStringTag]() { return 'TransformStream'; }
}

for (const kind of [ReadableStream, WritableStream, TransformStream]) {
  // A script that changes them changes its own only if it cannot change these.
  Object.freeze(kind.prototype);
  Object.freeze(kind);
}
return { ReadableStream, WritableStream, TransformStream };
})
