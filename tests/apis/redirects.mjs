// Descriptions and calls that are redirected between real https origins: where they may go, and what goes along.
//
// Needs CAPDECK (the binary), as ./test.sh sets it. The certificate in tls/ was made for this test and is trusted nowhere else.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer as plainServer } from 'node:http';
import { createServer } from 'node:https';
import path from 'node:path';
import { promisify } from 'node:util';

import { Deck } from './deck.mjs';

const tls = (name) => path.join(import.meta.dirname, 'tls', name);
const identity = { key: readFileSync(tls('key.pem')), cert: readFileSync(tls('certificate.pem')) };
const token = 'canary-token-of-this-test';
const document = JSON.stringify({
  openapi: '3.1.0',
  paths: { '/stay': { get: { operationId: 'stay' } }, '/leave': { get: { operationId: 'leave' } } },
});

// A server that answers with a function and remembers what it was asked.
async function start(create, scheme, answer) {
  const seen = [];
  const server = create((request, response) => {
    seen.push({ url: request.url, head: JSON.stringify(request.headers) });
    const { status = 200, location, body = '{}' } = answer(request) ?? {};
    response.writeHead(status, { 'content-type': 'application/json', ...(location && { location }) }).end(body);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { seen, url: `${scheme}://127.0.0.1:${server.address().port}`, stop: () => server.close() };
}

const secure = (answer) => start((handler) => createServer(identity, handler), 'https', answer);

const plain = await start(plainServer, 'http', () => ({ body: document }));
const other = await secure(() => ({ body: document }));
const api = await secure(({ url }) => {
  if (url === '/moved.json') return { status: 302, location: '/step.json' };
  if (url === '/step.json') return { status: 307, location: `${other.url}/openapi.json` };
  if (url === '/plain.json') return { status: 302, location: `${plain.url}/openapi.json` };
  if (url === '/inside.json') return { status: 302, location: 'https://169.254.169.254/openapi.json' };
  return url === '/leave' ? { status: 302, location: `${other.url}/collect` } : {};
});

const endpoint = (file, more) => ({
  name: 'API',
  description: 'An API whose description has moved.',
  specUrl: `${api.url}/${file}`,
  baseUrl: api.url,
  network: 'private',
  retries: 0,
  auth: { type: 'bearer', token: '$env:API_TOKEN' },
  ...more,
});
const deck = new Deck({
  openapiEndpoints: {
    moved: endpoint('moved.json'),
    plain: endpoint('plain.json'),
    inside: endpoint('inside.json'),
    public: endpoint('moved.json', { network: 'public' }),
  },
});

async function run(...words) {
  const env = { ...deck.env(), SSL_CERT_FILE: tls('certificate.pem'), API_TOKEN: token };
  const options = { env, cwd: deck.root };
  const done = await promisify(execFile)(process.env.CAPDECK, [...words, '--json'], options).catch((error) => error);
  return { code: done.code ?? 0, value: JSON.parse(done.stdout), text: `${done.stdout}${done.stderr}` };
}

const checks = {
  async 'a description is followed to another origin, and the credentials stay'() {
    const listed = await run('tools', 'moved');
    assert.deepEqual(listed.value.items?.map((tool) => tool.name), ['leave', 'stay'], listed.text);
    assert.deepEqual(api.seen.map(({ url }) => url), ['/moved.json', '/step.json']);
    assert.ok(api.seen.every(({ head }) => head.includes(`Bearer ${token}`)), JSON.stringify(api.seen));
    assert.deepEqual(other.seen.map(({ url }) => url), ['/openapi.json']);
    assert.ok(!other.seen[0].head.includes(token), other.seen[0].head);
  },
  async 'calls go to the API with credentials'() {
    const stayed = await run('call', 'moved', 'stay');
    assert.equal(stayed.code, 0, stayed.text);
    const { url, head } = api.seen.at(-1);
    assert.deepEqual([url, head.includes(`Bearer ${token}`)], ['/stay', true]);
  },
  async 'a call does not leave the API'() {
    const before = other.seen.filter(({ url }) => url === '/collect').length;
    const left = await run('call', 'moved', 'leave');
    assert.equal(left.code, 1, left.text);
    assert.equal(left.value.error.message, `the server redirected to another origin: \`${other.url}\``);
    assert.equal(other.seen.filter(({ url }) => url === '/collect').length, before);
  },
  async 'a description is not followed out of TLS or inside'() {
    assert.match((await run('tools', 'plain')).text, /redirected to an address without TLS/);
    assert.match((await run('tools', 'inside')).text, /is a metadata service/);
    assert.match((await run('tools', 'public')).text, /is this machine/);
    assert.equal(plain.seen.length, 0);
  },
};

let failed = 0;
for (const [name, check] of Object.entries(checks)) {
  try {
    await check();
    console.log(`ok      redirects: ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`FAILED  redirects: ${name}\n${error.stack}`);
  }
}
for (const server of [plain, other, api]) server.stop();
deck.remove();
process.exit(failed ? 1 : 0);
