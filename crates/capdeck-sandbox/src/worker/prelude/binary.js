// Bytes and text. Natives take and give "binary strings", one character per byte.

const { Float32Array, Float64Array } = global;

function bytesOf(source) {
  if (source instanceof ArrayBuffer) return new Uint8Array(source);
  if (isView(source)) return new Uint8Array(source.buffer, source.byteOffset, source.byteLength);
  throw new TypeError('bytes must be an ArrayBuffer or a view of one');
}

function toBinary(bytes) {
  let text = '';
  for (let start = 0; start < bytes.length; start += 8192) {
    text += apply(String.fromCharCode, undefined, bytes.subarray(start, start + 8192));
  }
  return text;
}

const fromBinary = (text) => Uint8Array.from(text, (letter) => letter.charCodeAt(0));

class TextEncoder {
  get encoding() { return 'utf-8'; }
  encode(text = '') { return host.utf8Encode(String(text).toWellFormed()); }
  encodeInto(text, target) {
    let read = 0;
    let written = 0;
    for (const letter of String(text).toWellFormed()) {
      const bytes = host.utf8Encode(letter);
      if (written + bytes.length > target.length) break;
      target.set(bytes, written);
      written += bytes.length;
      read += letter.length;
    }
    return { read, written };
  }
}

const encodings = { __proto__: null, 'utf-8': 'utf-8', utf8: 'utf-8', 'unicode-1-1-utf-8': 'utf-8', latin1: 'windows-1252', 'iso-8859-1': 'windows-1252', ascii: 'windows-1252', 'us-ascii': 'windows-1252', 'windows-1252': 'windows-1252', 'utf-16le': 'utf-16le', 'utf-16': 'utf-16le' };

class TextDecoder {
  #encoding;
  #fatal;
  #ignoreBOM;
  #rest = new Uint8Array(0);
  constructor(label = 'utf-8', { fatal = false, ignoreBOM = false } = {}) {
    this.#encoding = encodings[String(label).trim().toLowerCase()];
    if (!this.#encoding) throw new RangeError(`the encoding \`${label}\` is not supported, only utf-8, utf-16le and windows-1252`);
    this.#fatal = Boolean(fatal);
    this.#ignoreBOM = Boolean(ignoreBOM);
  }
  get encoding() { return this.#encoding; }
  get fatal() { return this.#fatal; }
  get ignoreBOM() { return this.#ignoreBOM; }
  decode(source = new Uint8Array(0), { stream = false } = {}) {
    let bytes = bytesOf(source);
    if (this.#rest.length) {
      const joined = new Uint8Array(this.#rest.length + bytes.length);
      joined.set(this.#rest);
      joined.set(bytes, this.#rest.length);
      bytes = joined;
    }
    const whole = stream ? host.completeLength(toBinary(bytes.subarray(-4)), this.#encoding) + Math.max(0, bytes.length - 4) : bytes.length;
    this.#rest = bytes.slice(whole);
    const text = host.decode(toBinary(bytes.subarray(0, whole)), this.#encoding, this.#fatal);
    if (text === undefined) throw new TypeError(`the bytes are not valid ${this.#encoding}`);
    return !this.#ignoreBOM && text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
  }
}

function btoa(text) {
  const encoded = host.base64Encode(String(text));
  if (encoded === undefined) throw new DOMException('btoa takes characters up to U+00FF only: encode the text first', 'InvalidCharacterError');
  return encoded;
}

function atob(text) {
  const decoded = host.base64Decode(String(text).replace(/[\t\n\f\r ]/g, ''));
  if (decoded === undefined) throw new DOMException('the text is not valid base64', 'InvalidCharacterError');
  return decoded;
}

const fromHex = (text) => Uint8Array.from(text.match(/[\da-f]{2}/gi) ?? [], (pair) => Number.parseInt(pair, 16));

class Buffer extends Uint8Array {
  static from(source, encoding = 'utf8') {
    if (typeof source !== 'string') {
      const bytes = source instanceof ArrayBuffer ? new Uint8Array(source) : Uint8Array.from(source);
      return new Buffer(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    }
    const bytes = Buffer.#encode(source, String(encoding).toLowerCase());
    return new Buffer(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }
  static #encode(text, encoding) {
    switch (encoding) {
      case 'utf8': case 'utf-8': return host.utf8Encode(text.toWellFormed());
      case 'hex': return fromHex(text);
      case 'latin1': case 'binary': case 'ascii': return Uint8Array.from(text, (letter) => letter.charCodeAt(0) & 255);
      case 'base64': case 'base64url': {
        const plain = text.replace(/-/g, '+').replace(/_/g, '/').replace(/[^A-Za-z\d+/]/g, '');
        return fromBinary(host.base64Decode(plain.length % 4 === 1 ? plain.slice(0, -1) : plain) ?? '');
      }
      default: throw new TypeError(`the encoding \`${encoding}\` is not supported`);
    }
  }
  static alloc(size, fill = 0) { return new Buffer(size).fill(fill); }
  static isBuffer(value) { return value instanceof Buffer; }
  static byteLength(value, encoding) { return typeof value === 'string' ? Buffer.from(value, encoding).length : value.byteLength; }
  static concat(list) {
    const whole = new Buffer(list.reduce((sum, part) => sum + part.length, 0));
    let at = 0;
    for (const part of list) {
      whole.set(part, at);
      at += part.length;
    }
    return whole;
  }
  toString(encoding = 'utf8') {
    const binary = toBinary(this);
    switch (String(encoding).toLowerCase()) {
      case 'utf8': case 'utf-8': return host.decode(binary, 'utf-8', false);
      case 'hex': return Array.from(this, (byte) => byte.toString(16).padStart(2, '0')).join('');
      case 'latin1': case 'binary': case 'ascii': return binary;
      case 'base64': return host.base64Encode(binary);
      case 'base64url': return host.base64Encode(binary).replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '');
      default: throw new TypeError(`the encoding \`${encoding}\` is not supported`);
    }
  }
  equals(other) { return this.length === other.length && this.every((byte, index) => byte === other[index]); }
  toJSON() { return { type: 'Buffer', data: Array.from(this) }; }
}

class Blob {
  #bytes;
  #type;
  constructor(parts = [], { type = '' } = {}) {
    this.#bytes = Buffer.concat([...parts].map((part) => part instanceof Blob ? part.#bytes
      : typeof part === 'object' && part !== null && (part instanceof ArrayBuffer || isView(part)) ? bytesOf(part)
      : host.utf8Encode(String(part).toWellFormed())));
    this.#type = String(type).toLowerCase();
  }
  get size() { return this.#bytes.length; }
  get type() { return this.#type; }
  async text() { return host.decode(toBinary(this.#bytes), 'utf-8', false); }
  async bytes() { return new Uint8Array(this.#bytes); }
  stream() { return global.ReadableStream.from(this.size ? [new Uint8Array(this.#bytes)] : []); }
  async arrayBuffer() { return new Uint8Array(this.#bytes).buffer; }
  slice(start, end, type = '') { return new Blob([this.#bytes.slice(start, end)], { type }); }
  get [Symbol.toStringTag]() { return 'Blob'; }
}

class File extends Blob {
  #name;
  #modified;
  constructor(parts, name, { lastModified = host.now(), ...given } = {}) {
    super(parts, given);
    this.#name = String(name);
    this.#modified = lastModified;
  }
  get name() { return this.#name; }
  get lastModified() { return this.#modified; }
  get [Symbol.toStringTag]() { return 'File'; }
}
