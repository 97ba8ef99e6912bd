// The dashboard's modules that need no browser: diffs, schema forms, untrusted Markdown.

import assert from 'node:assert/strict';
import { Worker } from 'node:worker_threads';

import { HOSTILE, HOSTILE_ENTRY } from './hostile.mjs';

const load = (name) => import(new URL(`../../crates/capdeck-serve/dashboard/${name}`, import.meta.url));
const { changesOnly, compareLines, readUnified, sideBySide } = await load('line-diff.js');
const { control, properties, resolve, startingValue } = await load('schema.js');
const { Markdown, safeAddress } = await load('markdown.js');
const { asField, bytes, elapsed, readable, words } = await load('format.js');

export const MODULE_CHECKS = [
  ['a diff contains both texts', tellsBoth],
  ['a unified diff is parsed with its line numbers', readsUnified],
  ['schemas become fields, or JSON without a matching field', readsSchemas],
  ['cyclic references end', referencesEnd],
  ['Markdown creates no element or address that can run code', markdownIsSafe],
  ['any Markdown renders in bounded time', markdownEnds],
  ['amounts are formatted', amounts],
];

/** Deterministic pseudo-random numbers. */
function numbers(seed) {
  let state = seed;
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * below);
  };
}

function tellsBoth() {
  const next = numbers(7);
  const text = () => Array.from({ length: next(14) }, () => 'abc'[next(3)]).join('\n');
  for (let round = 0; round < 3000; round += 1) {
    const [before, after] = [text(), text()];
    const lines = compareLines(before, after);
    const side = (kind) => lines.filter((line) => line.kind !== kind).map((line) => line.text).join('\n');
    assert.equal(side('new'), before);
    assert.equal(side('old'), after);
    const rows = sideBySide(lines);
    assert.equal(rows.filter((row) => row.left && row.left.kind !== 'gap').length, before === '' ? 0 : before.split('\n').length);
  }
  const long = Array.from({ length: 400 }, (_, at) => `line ${at}`);
  const changed = [...long.slice(0, 200), 'new', ...long.slice(201)];
  const shown = changesOnly(compareLines(long.join('\n'), changed.join('\n')));
  assert.deepEqual(shown.map((line) => line.kind), ['same', 'same', 'same', 'old', 'new', 'same', 'same', 'same']);
  const huge = (mark) => Array.from({ length: 6000 }, (_, at) => `${mark}${at}`).join('\n');
  assert.equal(compareLines(huge('a'), huge('b')).length, 12_000, 'texts with no common line end, too');
}

function readsUnified() {
  const lines = readUnified('--- a\n+++ b\n@@ -3,2 +3,3 @@ head\n same\n-old\n+new\n+more\n@@ -40 +41 @@\n-x\n+y\n\\ No newline at end of file\n');
  assert.deepEqual(lines.map(({ kind, text, old, new: fresh }) => [kind, text, old, fresh]), [['same', 'same', 3, 3], ['old', 'old', 4, null], ['new', 'new', null, 4], ['new', 'more', null, 5], ['gap', '', null, null], ['old', 'x', 40, null], ['new', 'y', null, 41]]);
}

function readsSchemas() {
  const root = { $defs: { color: { enum: ['red', 'blue'] }, 'a/b': { type: 'boolean' } }, type: 'object', required: ['late'], properties: {
    text: { type: 'string' }, maybe: { anyOf: [{ type: 'integer' }, { type: 'null' }] }, color: { $ref: '#/$defs/color' }, odd: { $ref: '#/$defs/a~1b' }, list: { type: 'array', items: { type: 'string' } },
    things: { type: 'array', items: { type: 'object' } }, mixed: { type: ['string', 'number'] }, any: {}, always: true, group: { type: 'object', properties: { x: { type: 'number' } } }, late: { type: 'string', default: 'now' }, outside: { $ref: 'https://outside.example/schema' },
    said: { oneOf: [{ const: 'a' }, { const: 'b' }] },
  } };
  const found = Object.fromEntries(properties(resolve(root, root), root).map((member) => [member.name, control(member.schema)]));
  assert.deepEqual(found, { late: 'text', text: 'text', maybe: 'number', color: 'choice', odd: 'switch', list: 'lines', things: 'json', mixed: 'json', any: 'json', always: 'json', group: 'group', outside: 'json', said: 'choice' });
  assert.equal(properties(root, root)[0].name, 'late', 'what is required comes first');
  assert.deepEqual(startingValue(root, root), { late: 'now' });
  for (const odd of [null, undefined, 3, 'x', [], { properties: 7 }, { required: 'x', properties: { a: null } }]) assert.ok(Array.isArray(properties(resolve(odd, {}), {})));
}

function referencesEnd() {
  const root = { properties: { self: { $ref: '#/properties/self' }, up: { $ref: '#' } } };
  assert.deepEqual(control(resolve(root.properties.self, root)), 'json');
  assert.ok(properties(root, root).length === 2);
}

/** Every node below one. */
function* nodes(node) {
  if (Array.isArray(node)) {
    for (const child of node) yield* nodes(child);
  } else if (node !== null && typeof node === 'object') {
    yield node;
    yield* nodes(node.props?.children);
  }
}

function markdownIsSafe() {
  const allowed = new Set(['div', 'p', 'pre', 'code', 'h3', 'h4', 'h5', 'h6', 'ul', 'ol', 'li', 'a', 'span', 'strong', 'em', 'blockquote', 'hr', 'table', 'thead', 'tbody', 'tr', 'th', 'td']);
  for (const text of [HOSTILE_ENTRY, ...HOSTILE, '[a](JaVaScRiPt:alert(1))', '[a]( javascript:x)', '[a](vbscript:x)', '[a](file:///etc/passwd)', '[a](//outside.example)', '<javascript:alert(1)>']) {
    for (const node of nodes(Markdown({ text }))) {
      assert.ok(typeof node.type === 'string' && allowed.has(node.type), `${node.type} from ${text}`);
      for (const name of Object.keys(node.props ?? {})) assert.ok(['children', 'class', 'href', 'target', 'rel', 'tabindex', 'scope'].includes(name), `${name} from ${text}`);
      if (node.type === 'a') assert.match(node.props.href, /^(https?:\/\/|mailto:)/);
    }
  }
  assert.equal(safeAddress('java\nscript:alert(1)'), null);
  assert.equal(safeAddress('https://capdeck.example/a?b#c'), 'https://capdeck.example/a?b#c');
}

// A quadratic parser would exceed the two minutes after which the guard ends the suite.
async function markdownEnds() {
  const guard = new Worker("setTimeout(() => { console.error('Markdown takes more than two minutes'); process.kill(process.pid); }, 120_000)", { eval: true });
  const repeated = (part) => part.repeat(Math.ceil(300_000 / part.length));
  for (const text of ['[', '*', '**a', '`', '[](', '> ', '- ', '  - ', '| a ', '<https://', '_', '```\n', '\n# '].map(repeated)) {
    assert.ok(Markdown({ text }), JSON.stringify(text.slice(0, 10)));
  }
  await guard.terminate();
}

function amounts() {
  assert.deepEqual([bytes(0), bytes(1536), bytes(null), elapsed(12), elapsed(1500), elapsed(61_000)], ['0 B', '1.5 KiB', '–', '12 ms', '1.5 s', '1 min 1 s']);
  assert.deepEqual(words(' a, b\n\n c '), ['a', 'b', 'c']);
  assert.deepEqual([readable('{"a":1}'), readable('{a'), readable({ a: 1 })], ['{\n  "a": 1\n}', '{a', '{\n  "a": 1\n}']);
  const minute = new Date(2026, 0, 31, 12, 7);
  assert.equal(new Date(asField(minute.getTime())).getTime(), minute.getTime(), 'a datetime-local field has local time');
}
