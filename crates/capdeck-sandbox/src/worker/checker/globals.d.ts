// What a cell finds besides the language. Capabilities that the cell names are declared in `Capabilities`, all others are open.

declare namespace $caplets {
  interface Page { limit?: number; cursor?: string }
  interface List { items: any[]; nextCursor?: string; [more: string]: any }
  interface CallOptions { fields?: string[] }
  interface Failure { code: string; message: string; details?: any; hint?: string }
  // `data` can be read without asking for `ok` first, as short cells do.
  type Result<T> = { ok: true; data: T; error?: undefined; meta?: any } | { ok: false; error: Failure; data?: any; meta?: any };
  type AnyTool = (args?: any, options?: CallOptions) => Promise<any>;
  type Arguments<F> = F extends (...given: infer A) => any ? A : [];
  type Data<F> = F extends (...given: any) => Promise<infer D> ? D : any;
  interface Methods<Tools> {
    readonly id: string;
    inspect(): Promise<any>;
    check(): Promise<Result<any>>;
    tools(page?: Page): Promise<List>;
    searchTools(query: string, page?: Page): Promise<List>;
    describeTool(name: string): Promise<Result<any>>;
    callTool<Name extends string>(
      name: Name,
      ...given: Name extends keyof Tools ? Arguments<Tools[Name]> : [args?: any, options?: CallOptions]
    ): Promise<Result<Name extends keyof Tools ? Data<Tools[Name]> : any>>;
    resources(page?: Page): Promise<List>;
    searchResources(query: string, page?: Page): Promise<List>;
    resourceTemplates(page?: Page): Promise<List>;
    readResource(uri: string): Promise<Result<any>>;
    prompts(page?: Page): Promise<List>;
    searchPrompts(query: string, page?: Page): Promise<List>;
    getPrompt(name: string, args?: Record<string, any>): Promise<Result<any>>;
    complete(input: any): Promise<Result<any>>;
  }
  type Handle<Tools = {}> = Methods<Tools> & Tools & { [tool: string]: AnyTool };
  interface Own {
    search(query: string, page?: Page): Promise<List>;
    types(id: string, tool?: string): Promise<string>;
    readonly artifacts: { read(ref: string, range?: { offset?: number; length?: number }): Promise<any> };
    readonly debug: { readLogs(input: any): Promise<any>; readRecovery(input: any): Promise<any> };
  }
}
interface Capabilities {}
declare const caplets: $caplets.Own & Capabilities & { readonly [id: string]: $caplets.Handle };

interface Error { code?: any; details?: any; hint?: any }

declare const console: Record<
  "log" | "info" | "warn" | "error" | "debug" | "trace" | "dir" | "table" | "assert" | "count" | "group" | "groupEnd" | "time" | "timeEnd",
  (...parts: any[]) => void
>;

declare function setTimeout(callback: (...parts: any[]) => any, delay?: number, ...parts: any[]): number;
declare function setInterval(callback: (...parts: any[]) => any, delay?: number, ...parts: any[]): number;
declare function setImmediate(callback: (...parts: any[]) => any, ...parts: any[]): number;
declare function clearTimeout(id?: number): void;
declare function clearInterval(id?: number): void;
declare function clearImmediate(id?: number): void;
declare function queueMicrotask(callback: () => void): void;
declare function structuredClone<T>(value: T): T;
declare function atob(text: string): string;
declare function btoa(text: string): string;
declare function fetch(...given: any[]): Promise<never>;

declare const performance: { now(): number; readonly timeOrigin: number };
declare const crypto: { getRandomValues<T extends ArrayBufferView>(array: T): T; randomUUID(): string };

declare class DOMException extends Error {
  constructor(message?: string, name?: string);
}

declare class URLSearchParams {
  constructor(source?: string | string[][] | Record<string, string> | URLSearchParams);
  readonly size: number;
  append(name: string, value: any): void;
  delete(name: string, value?: string): void;
  get(name: string): string | null;
  getAll(name: string): string[];
  has(name: string, value?: string): boolean;
  set(name: string, value: any): void;
  sort(): void;
  forEach(callback: (value: string, name: string, params: URLSearchParams) => void, self?: any): void;
  entries(): IterableIterator<[string, string]>;
  keys(): IterableIterator<string>;
  values(): IterableIterator<string>;
  [Symbol.iterator](): IterableIterator<[string, string]>;
  toString(): string;
}

declare class URL {
  constructor(address: string | URL, base?: string | URL);
  static canParse(address: string | URL, base?: string | URL): boolean;
  static parse(address: string | URL, base?: string | URL): URL | null;
  href: string;
  readonly origin: string;
  protocol: string;
  username: string;
  password: string;
  host: string;
  hostname: string;
  port: string;
  pathname: string;
  search: string;
  hash: string;
  readonly searchParams: URLSearchParams;
  toString(): string;
  toJSON(): string;
}

declare class TextEncoder {
  readonly encoding: string;
  encode(text?: string): Uint8Array;
  encodeInto(text: string, target: Uint8Array): { read: number; written: number };
}
declare class TextDecoder {
  constructor(label?: string, options?: { fatal?: boolean; ignoreBOM?: boolean });
  readonly encoding: string;
  readonly fatal: boolean;
  readonly ignoreBOM: boolean;
  decode(source?: ArrayBuffer | ArrayBufferView, options?: { stream?: boolean }): string;
}
declare class Buffer extends Uint8Array {
  static from(source: any, encoding?: any): any;
  static alloc(size: number, fill?: number): Buffer;
  static isBuffer(value: any): value is Buffer;
  static byteLength(value: any, encoding?: string): number;
  static concat(list: Uint8Array[]): Buffer;
  toString(encoding?: string): string;
  equals(other: Uint8Array): boolean;
  toJSON(): { type: "Buffer"; data: number[] };
}
declare class Blob {
  constructor(parts?: any[], options?: { type?: string });
  readonly size: number;
  readonly type: string;
  text(): Promise<string>;
  arrayBuffer(): Promise<ArrayBuffer>;
  bytes(): Promise<Uint8Array>;
  slice(start?: number, end?: number, type?: string): Blob;
  stream(): ReadableStream<Uint8Array>;
}
interface QueuingStrategy { highWaterMark?: number; size?(chunk: any): number }
declare class ReadableStream<T = any> {
  constructor(source?: { start?(controller: any): any; pull?(controller: any): any; cancel?(reason?: any): any }, strategy?: QueuingStrategy);
  static from<T>(items: Iterable<T> | AsyncIterable<T>): ReadableStream<T>;
  readonly locked: boolean;
  cancel(reason?: any): Promise<void>;
  getReader(): { readonly closed: Promise<void>; read(): Promise<{ value: T; done: boolean }>; cancel(reason?: any): Promise<void>; releaseLock(): void };
  tee(): [ReadableStream<T>, ReadableStream<T>];
  pipeTo(target: WritableStream, options?: { preventClose?: boolean; preventAbort?: boolean; preventCancel?: boolean; signal?: AbortSignal }): Promise<void>;
  pipeThrough<U>(pair: { readable: ReadableStream<U>; writable: WritableStream }, options?: object): ReadableStream<U>;
  values(options?: { preventCancel?: boolean }): AsyncIterableIterator<T>;
  [Symbol.asyncIterator](): AsyncIterableIterator<T>;
}
declare class WritableStream<T = any> {
  constructor(sink?: { start?(controller: any): any; write?(chunk: T, controller: any): any; close?(): any; abort?(reason?: any): any }, strategy?: QueuingStrategy);
  readonly locked: boolean;
  close(): Promise<void>;
  abort(reason?: any): Promise<void>;
  getWriter(): { readonly closed: Promise<void>; readonly ready: Promise<void>; readonly desiredSize: number | null; write(chunk: T): Promise<void>; close(): Promise<void>; abort(reason?: any): Promise<void>; releaseLock(): void };
}
declare class TransformStream<I = any, O = any> {
  constructor(transformer?: { start?(controller: any): any; transform?(chunk: I, controller: any): any; flush?(controller: any): any; cancel?(reason?: any): any }, writableStrategy?: QueuingStrategy, readableStrategy?: QueuingStrategy);
  readonly readable: ReadableStream<O>;
  readonly writable: WritableStream<I>;
}
declare class File extends Blob {
  constructor(parts: any[], name: string, options?: { type?: string; lastModified?: number });
  readonly name: string;
  readonly lastModified: number;
}
declare class FormData {
  append(name: string, value: any, file?: string): void;
  set(name: string, value: any, file?: string): void;
  delete(name: string): void;
  get(name: string): any;
  getAll(name: string): any[];
  has(name: string): boolean;
  forEach(callback: (value: any, name: string, data: FormData) => void, self?: any): void;
  entries(): IterableIterator<[string, any]>;
  keys(): IterableIterator<string>;
  values(): IterableIterator<any>;
  [Symbol.iterator](): IterableIterator<[string, any]>;
}
declare class Headers {
  constructor(source?: Headers | string[][] | Record<string, string>);
  append(name: string, value: string): void;
  set(name: string, value: string): void;
  get(name: string): string | null;
  getSetCookie(): string[];
  has(name: string): boolean;
  delete(name: string): void;
  forEach(callback: (value: string, name: string, headers: Headers) => void, self?: any): void;
  entries(): IterableIterator<[string, string]>;
  keys(): IterableIterator<string>;
  values(): IterableIterator<string>;
  [Symbol.iterator](): IterableIterator<[string, string]>;
}
interface Body {
  readonly bodyUsed: boolean;
  text(): Promise<string>;
  json(): Promise<any>;
  arrayBuffer(): Promise<ArrayBuffer>;
  bytes(): Promise<Uint8Array>;
  blob(): Promise<Blob>;
  readonly body: ReadableStream<Uint8Array>;
}
interface Request extends Body {}
declare class Request {
  constructor(address: string | URL, options?: { method?: string; headers?: any; body?: any });
  readonly url: string;
  readonly method: string;
  readonly headers: Headers;
}
interface Response extends Body {}
declare class Response {
  constructor(body?: any, options?: { status?: number; statusText?: string; headers?: any });
  static json(data: any, options?: { status?: number; statusText?: string; headers?: any }): Response;
  readonly ok: boolean;
  readonly status: number;
  readonly statusText: string;
  readonly headers: Headers;
}
declare class Event {
  constructor(type: string, options?: any);
  readonly type: string;
  [more: string]: any;
}
declare class EventTarget {
  addEventListener(type: string, listener: any, options?: { once?: boolean }): void;
  removeEventListener(type: string, listener: any): void;
  dispatchEvent(event: Event): boolean;
}
declare class AbortSignal extends EventTarget {
  static abort(reason?: any): AbortSignal;
  static timeout(delay: number): AbortSignal;
  static any(signals: AbortSignal[]): AbortSignal;
  readonly aborted: boolean;
  readonly reason: any;
  onabort: ((event: Event) => any) | null;
  throwIfAborted(): void;
}
declare class AbortController {
  readonly signal: AbortSignal;
  abort(reason?: any): void;
}
