// Signing in with a real OpenID provider: discovery, registration, PKCE, renewal, more rights, identities, codes,
// revocation. Everything goes through the binary.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';

import { Deck } from './deck.mjs';
import { Browser } from './oauth-browser.mjs';
import { Service } from './oauth-provider.mjs';

// Everything the binary printed.
const printed = [];

function start(words) {
  const child = spawn(process.env.CAPDECK, [...words, '--json'], { env, cwd: folder('home') });
  child.stdin.end();
  const output = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr']) {
    child[stream].setEncoding('utf8').on('data', (text) => {
      output[stream] += text;
      printed.push(text);
    });
  }
  const ended = new Promise((resolve) => child.on('close', (code) => resolve({ code, ...output })));
  const firstLine = new Promise((resolve) => createInterface({ input: child.stdout }).once('line', resolve));
  return { ended, firstLine };
}

async function run(...words) {
  const { code, stdout, stderr } = await start(words).ended;
  try {
    return { code, stderr, value: JSON.parse(stdout) };
  } catch {
    throw new Error(`${words.join(' ')}: exit ${code}\n${stdout}\n${stderr}`);
  }
}

const call = (id, tool) => run('call', id, tool, '--yes');
const body = (result) => result.value.structuredContent?.body ?? result.value.structuredContent;

async function login(id, account, ...flags) {
  const { firstLine, ended } = start(['auth', 'login', id, ...flags]);
  const first = JSON.parse(await firstLine);
  const browser = new Browser(account);
  await browser.walk(first.authorizationUrl ?? first.verificationUrlComplete ?? first.verificationUrl);
  const { code, stdout, stderr } = await ended;
  assert.equal(code, 0, `${stdout}\n${stderr}`);
  return { first, outcome: JSON.parse(stdout.trim().split('\n').pop()) };
}

function needsLogin(result, id, more = '') {
  assert.equal(result.code, 3, JSON.stringify(result.value));
  assert.equal(result.value.error.code, 'AUTH_REQUIRED');
  assert.equal(result.value.error.hint, `run: capdeck auth login ${id}${more}`);
}

function files(place) {
  return readdirSync(place, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name));
}

const service = await new Service().start();
const action = (method) => ({ description: `${method} items.`, method, path: '/items' });
const api = (auth) => ({
  name: 'Items',
  description: 'Items of a service.',
  baseUrl: service.api,
  auth,
  actions: { list: action('GET'), add: action('POST') },
});
const config = {
  httpApis: {
    plain: api({ type: 'oauth2' }),
    person: api({ type: 'oidc', scopes: ['openid', 'api:read'] }),
    device: api({ type: 'oidc', scopes: ['openid', 'api:read'] }),
  },
};
const deck = new Deck(config);
const folder = (name) => deck.folder(name);
const env = { ...deck.env(), CAPDECK_LOG: 'trace' };

const checks = {
  async 'a call without a sign-in names the command'() {
    needsLogin(await call('plain', 'list'), 'plain');
  },
  async 'discovery, registration, PKCE and consent'() {
    const { first, outcome } = await login('plain', 'ann', '--no-open');
    const asked = new URL(first.authorizationUrl).searchParams;
    assert.equal(asked.get('code_challenge_method'), 'S256');
    assert.equal(asked.get('resource'), service.api);
    assert.deepEqual(asked.get('scope').split(' '), ['api:read', 'offline_access']);
    assert.deepEqual([outcome.state, outcome.issuer, outcome.renewable], ['signedIn', service.issuer, true]);
    assert.deepEqual(service.registered.map((client) => client.application_type), ['native']);
    const result = await call('plain', 'list');
    assert.equal(result.code, 0, JSON.stringify(result));
    assert.equal(body(result).account, 'ann');
    const status = await run('auth', 'status', 'plain');
    assert.equal(status.value.state, 'signedIn');
  },
  async 'six processes with one old token renew it once, although refresh tokens rotate'() {
    service.lifetime = 20;
    await run('auth', 'refresh', 'plain');
    service.lifetime = 3600;
    const before = service.grants.refresh_token;
    const results = await Promise.all(Array.from({ length: 6 }, () => call('plain', 'list')));
    assert.deepEqual(results.map((result) => result.code), [0, 0, 0, 0, 0, 0]);
    assert.equal(service.grants.refresh_token, before + 1);
    const again = await run('auth', 'refresh', 'plain');
    assert.equal(again.code, 0);
    assert.equal(service.grants.refresh_token, before + 2);
  },
  async 'more rights on top of those there are'() {
    needsLogin(await call('plain', 'add'), 'plain', ' --scope api:write');
    const { outcome } = await login('plain', 'ann', '--no-open', '--scope', 'api:write');
    assert.ok(outcome.scopes.includes('api:write') && outcome.scopes.includes('api:read'), outcome.scopes);
    assert.equal((await call('plain', 'add')).code, 0);
    assert.equal((await call('plain', 'list')).code, 0);
    assert.equal(service.registered.length, 1, 'the registration is used again');
  },
  async 'an identity with a signature that holds'() {
    const { first, outcome } = await login('person', 'bob', '--no-open');
    assert.ok(new URL(first.authorizationUrl).searchParams.get('nonce'));
    assert.deepEqual([outcome.state, outcome.subject], ['signedIn', 'bob']);
    assert.equal(body(await call('person', 'list')).account, 'bob');
    assert.equal((await run('auth', 'refresh', 'person')).value.subject, 'bob');
  },
  async 'a code entered on another device'() {
    const { first, outcome } = await login('device', 'cid', '--device');
    assert.match(first.userCode, /^[A-Z]{4}-[A-Z]{4}$/);
    assert.deepEqual([outcome.state, outcome.subject], ['signedIn', 'cid']);
    assert.equal(body(await call('device', 'list')).account, 'cid');
  },
  async 'a sign-out is one at the service, too'() {
    const before = [...service.secrets];
    const alive = async () => (await Promise.all(before.map((value) => service.isAlive(value)))).filter(Boolean).length;
    const count = await alive();
    const { value } = await run('auth', 'logout', 'device');
    assert.deepEqual([value.wasSignedIn, value.revoked], [true, true]);
    assert.ok((await alive()) < count);
    needsLogin(await call('device', 'list'), 'device');
  },
  async 'a sign-in that was taken back at the service names the command'() {
    await service.revokeAll();
    // A token is renewed before its age is blamed, and the service renews nothing any more.
    const refused = await call('plain', 'list');
    needsLogin(refused, 'plain');
    needsLogin(await run('auth', 'refresh', 'person'), 'person');
    await login('plain', 'ann', '--no-open');
    assert.equal((await call('plain', 'list')).code, 0);
  },
  async 'no token in output or files'() {
    assert.ok(service.secrets.size > 10);
    const stored = ['state', 'cache', 'config'].flatMap((name) => files(folder(name)));
    assert.ok(stored.some((file) => file.includes('auth')), stored);
    const places = [['output', printed.join('')], ...stored.map((file) => [file, readFileSync(file, 'utf8')])];
    for (const [place, text] of places) {
      for (const secret of service.secrets) {
        const at = text.indexOf(secret);
        assert.equal(at, -1, `a token shows up in ${place}: …${text.slice(Math.max(0, at - 200), at)}`);
      }
    }
    assert.ok(printed.join('').includes('[redacted]'), 'the API tells callers their own token');
  },
};

let failed = 0;
for (const [name, check] of Object.entries(checks)) {
  try {
    await check();
    console.log(`ok      oauth: ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`FAILED  oauth: ${name}\n${error.stack}`);
  }
}
service.stop();
deck.remove();
process.exitCode = failed ? 1 : 0;
