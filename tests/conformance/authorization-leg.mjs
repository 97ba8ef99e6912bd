// Runs the authorization leg of the official conformance suite against `capdeck up`.
//
// The suite prints the address that a person opens; here a few lines do what the person and the browser would: read the
// consent page, agree, and go where it sends them. Every check of every scenario must pass, and there must be as many as
// are listed here: a leg that checks nothing passes in the suite's own eyes.
//
// Needs CAPDECK (the binary), CAPDECK_TEST_DEPS and Node 22 or newer, as ./test.sh sets them.

import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import os from 'node:os';
import path from 'node:path';

import { startServer, stopAll } from './processes.mjs';

const suite = path.join(
  process.env.CAPDECK_TEST_DEPS,
  'node/node_modules/@modelcontextprotocol/conformance/dist/index.js',
);
const timeout = 60_000;

/** Checks that must be there, and pass. */
const expected = ['authorization-server-metadata', 'authorization-server-metadata-cimd', 'authorization-code-grant'];

async function main() {
  const sandbox = await mkdtemp(path.join(os.tmpdir(), 'capdeck-authorization-'));
  try {
    const host = await startHost(sandbox);
    const base = new URL(host.url).origin;
    const port = await freePort();
    const client = await register(base, `http://127.0.0.1:${port}/callback`);
    const out = path.join(sandbox, 'out');
    const ended = await runSuite(base, client, port, out);
    const checks = await readChecks(out);
    const problems = judge(ended, checks);
    for (const check of checks) console.log(`${check.status.toLowerCase().padEnd(8)} ${check.id}`);
    for (const problem of problems) console.log(`problem: ${problem}`);
    if (problems.length > 0) console.log(ended.output);
    console.log(`${checks.length} checks, ${problems.length} problems`);
    return problems.length === 0 ? 0 : 1;
  } finally {
    await stopAll();
    await rm(sandbox, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** A host with the starter deck, at which the person of this machine decides. */
async function startHost(sandbox) {
  const env = { PATH: process.env.PATH, NO_COLOR: '1' };
  const folders = { HOME: 'home', CONFIG_DIR: 'config', STATE_DIR: 'state', CACHE_DIR: 'cache', DATA_DIR: 'data' };
  for (const [name, folder] of Object.entries(folders)) {
    const place = path.join(sandbox, folder);
    await mkdir(place, { recursive: true });
    env[name === 'HOME' ? name : `CAPDECK_${name}`] = place;
  }
  return startServer(process.env.CAPDECK, ['up', '--port', '0', '--json', '--quiet'], env);
}

async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function register(base, redirect) {
  const answer = await fetch(`${base}/oauth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ client_name: 'Conformance suite', redirect_uris: [redirect] }),
  });
  if (answer.status !== 201) throw new Error(`registration: ${answer.status} ${await answer.text()}`);
  return (await answer.json()).client_id;
}

/** Runs every scenario; the person agrees to whatever the suite sends them to. */
async function runSuite(base, client, port, out) {
  const args = [suite, 'authorization', '--url', base, '--client-id', client, '--resource', `${base}/mcp`];
  args.push('-p', String(port), '-o', out);
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const timer = setTimeout(() => child.kill(), timeout);
  let output = '';
  const decided = new Set();
  const deciding = [];
  const hear = (data) => {
    output += data;
    for (const [address] of output.matchAll(/http:\/\/127\.0\.0\.1:\d+\/oauth\/authorize\?\S+(?=\s)/g)) {
      if (decided.has(address)) continue;
      decided.add(address);
      deciding.push(decide(base, address));
    }
  };
  child.stdout.on('data', hear);
  child.stderr.on('data', hear);
  const code = await new Promise((resolve) => child.once('close', resolve));
  clearTimeout(timer);
  await Promise.all(deciding);
  return { code, output };
}

/** What a person and a browser do. */
async function decide(base, address) {
  const page = await (await fetch(address)).text();
  const request = /name="request" value="([^"]*)"/.exec(page)?.[1];
  if (!request) throw new Error(`no consent page: ${page}`);
  const scopes = [...page.matchAll(/name="scope" value="([^"]*)"/g)].map((match) => ['scope', match[1]]);
  const body = new URLSearchParams([['request', request], ['decision', 'approve'], ['deck', 'all'], ...scopes]);
  const answer = await fetch(`${base}/oauth/authorize`, {
    method: 'POST',
    headers: { origin: base },
    body,
    redirect: 'manual',
  });
  const location = answer.headers.get('location');
  if (answer.status !== 303 || !location) throw new Error(`no way back: ${answer.status} ${await answer.text()}`);
  await fetch(location);
}

async function readChecks(folder) {
  const files = await readdir(folder, { recursive: true });
  const found = files.filter((name) => path.basename(name) === 'checks.json').sort();
  const texts = await Promise.all(found.map((name) => readFile(path.join(folder, name), 'utf8')));
  return texts.flatMap((text) => JSON.parse(text));
}

function judge({ code }, checks) {
  const passed = new Set(checks.filter((check) => check.status === 'SUCCESS').map((check) => check.id));
  const missing = expected.filter((id) => !passed.has(id)).map((id) => `${id} did not pass`);
  const bad = checks.filter((check) => !['SUCCESS', 'INFO'].includes(check.status));
  const problems = bad.map((check) => `${check.id}: ${check.errorMessage ?? check.description}`);
  return [...(code === 0 ? [] : [`the suite ended with ${code}`]), ...missing, ...problems];
}

process.exit(await main());
