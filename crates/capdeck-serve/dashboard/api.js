// @ts-check
// Requests to the host, and their errors.

import { signal } from './signal.js';

/** The CSRF token for state-changing requests with the session cookie. */
let csrf = '';

/** Incremented when a request fails because the session has ended. */
export const refusals = signal(0);

/** Incremented after a successful state-changing request. */
export const changes = signal(0);

/** @param {string | null | undefined} token */
export function setCsrf(token) {
  csrf = token ?? '';
}

export class Problem extends Error {
  /**
   * @param {number} status 0 when the host is unreachable
   * @param {{ title?: string, detail?: string, code?: string, hint?: string, data?: any, request_id?: string }} body
   */
  constructor(status, body) {
    super(body.detail || body.title || `the host responded with status ${status}`);
    this.name = 'Problem';
    this.status = status;
    this.code = body.code ?? '';
    this.hint = body.hint ?? '';
    this.data = body.data ?? null;
    this.requestId = body.request_id ?? '';
  }
}

/**
 * @typedef {object} RequestOptions
 * @property {Record<string, any>} [query] empty members are omitted
 * @property {any} [json] the body
 * @property {BodyInit} [raw] the unencoded body
 * @property {Record<string, string>} [headers]
 * @property {AbortSignal} [signal]
 */

/**
 * @param {string} method
 * @param {string} path
 * @param {RequestOptions} [options]
 * @returns {Promise<{ data: any, etag: string | null, response: Response }>}
 */
export async function request(method, path, options = {}) {
  const headers = new Headers(options.headers);
  headers.set('accept', 'application/json, application/problem+json');
  if (options.json !== undefined) headers.set('content-type', 'application/json');
  if (method !== 'GET' && csrf) headers.set('x-capdeck-csrf', csrf);
  const body = options.json !== undefined ? JSON.stringify(options.json) : options.raw;
  let response;
  try {
    response = await fetch(withQuery(path, options.query), { method, headers, body, signal: options.signal, credentials: 'same-origin' });
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new Problem(0, { title: 'the host is unreachable', hint: 'Check that `capdeck up` is running, then try again' });
  }
  if (!response.ok) throw await problemOf(response);
  if (method !== 'GET') changes.set(changes.value + 1);
  const isJson = (response.headers.get('content-type') ?? '').includes('json');
  return { data: isJson ? await response.json() : null, etag: response.headers.get('etag'), response };
}

/** @param {Response} response */
async function problemOf(response) {
  const text = await response.text();
  let body;
  try {
    body = JSON.parse(text);
  } catch {
    body = { detail: text.trim().slice(0, 300) };
  }
  if (response.status === 401 && !response.url.endsWith('/api/login')) refusals.set(refusals.value + 1);
  const wait = response.headers.get('retry-after');
  if (response.status === 429 && wait && !body.hint) body.hint = `Try again in ${wait} s`;
  return new Problem(response.status, body);
}

/**
 * @param {string} path
 * @param {Record<string, any>} [query]
 */
export function withQuery(path, query = {}) {
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== '');
  if (pairs.length === 0) return path;
  return `${path}?${new URLSearchParams(pairs.map(([name, value]) => [name, String(value)]))}`;
}

/**
 * Builds a path and percent-encodes each value.
 * @param {TemplateStringsArray} parts
 * @param {...string} values
 */
export function path(parts, ...values) {
  return parts.reduce((made, part, at) => made + part + (at < values.length ? encodeURIComponent(values[at]) : ''), '');
}

/**
 * The path of an entry below one of a capsule's routes.
 * @param {string} capsule
 * @param {'entries' | 'history' | 'diff' | 'restore'} route
 * @param {string} uri such as docs://a/b
 */
export function entryPath(capsule, route, uri) {
  const at = uri.indexOf('://');
  const rest = uri.slice(at + 3).split('/').map(encodeURIComponent).join('/');
  return `${path`/v1/capsules/${capsule}`}/${route}/${encodeURIComponent(uri.slice(0, at))}/${rest}`;
}

/** @param {string} address @param {Record<string, any>} [query] */
export const get = async (address, query) => (await request('GET', address, { query })).data;
/** @param {string} address @param {any} [json] */
export const post = async (address, json) => (await request('POST', address, { json })).data;
/** @param {string} address @param {any} json */
export const patch = async (address, json) => (await request('PATCH', address, { json })).data;
/** @param {string} address @param {any} json */
export const put = async (address, json) => (await request('PUT', address, { json })).data;
/** @param {string} address */
export const remove = async (address) => (await request('DELETE', address)).data;
