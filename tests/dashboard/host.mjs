// Starts a host: temporary folders, a small deck, `capdeck up` on a free port.

import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import readline from 'node:readline';
import { fileURLToPath } from 'node:url';

import { HOSTILE } from './hostile.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
export const ADMIN_KEY = 'a-key-for-tests-of-the-dashboard';

const FILES = `---
name: Files
description: Lists, reads and removes files of the working folder.
exposure: direct
tags: [local]
cliTools:
  actions:
    greet:
      description: Greets a person, politely.
      command: echo
      args: [hello, $input.name]
      annotations: { readOnlyHint: true }
      inputSchema:
        type: object
        properties:
          name: { type: string, description: Whom to greet }
          tone: { type: string, enum: [warm, formal], description: How to say it }
          times: { type: integer, minimum: 1, maximum: 5 }
        required: [name]
    remove:
      description: Removes a file.
      command: echo
      args: [removed, $input.path]
      annotations: { destructiveHint: true }
      inputSchema:
        type: object
        properties: { path: { type: string, description: Which file } }
        required: [path]
---

# Files
`;

const REPORTS = `---
name: Reports
description: Weekly figures, made from the warehouse by a command.
cliTools:
  actions:
    weekly:
      description: The figures of a week.
      command: echo
      args: [orders=128, refunds=3]
      annotations: { readOnlyHint: true }
---

# Reports
`;

/** Writes the deck. The third capability is a server with only hostile texts. */
function writeDeck(folder, more) {
  fs.mkdirSync(folder, { recursive: true });
  fs.writeFileSync(path.join(folder, 'files.md'), FILES);
  fs.writeFileSync(path.join(folder, 'reports.md'), REPORTS);
  fs.writeFileSync(path.join(folder, 'broken.md'), '---\nname: Broken\n---\n');
  const hostile = { name: HOSTILE[0], description: HOSTILE.join(' '), command: process.execPath, args: [path.join(here, 'hostile-server.mjs')] };
  // The test is faster than a person; rate limits have their own tests.
  const serve = { limits: { auth: { perMinute: 100_000, burst: 10_000 }, api: { perMinute: 100_000, burst: 10_000 } }, ...more };
  fs.writeFileSync(path.join(folder, 'config.json'), JSON.stringify({ mcpServers: { hostile }, serve }, null, 2));
}

/** @param {{ auth?: 'local' | 'required', serve?: object, env?: Record<string, string> }} [options] `serve` of the configuration, and more environment variables */
export async function startHost({ auth = 'required', serve = {}, env: more = {} } = {}) {
  const root = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'capdeck-dashboard-')));
  fs.mkdirSync(path.join(root, 'project'));
  writeDeck(path.join(root, 'config'), serve);
  const env = {
    PATH: '/usr/bin:/bin', HOME: root, NO_COLOR: '1', CAPDECK_CONFIG_DIR: path.join(root, 'config'), CAPDECK_STATE_DIR: path.join(root, 'state'),
    CAPDECK_CACHE_DIR: path.join(root, 'cache'), CAPDECK_DATA_DIR: path.join(root, 'data'), CAPDECK_LOG: process.env.CAPDECK_LOG ?? 'error',
    ...(auth === 'required' ? { CAPDECK_ADMIN_KEY: ADMIN_KEY } : {}), ...more,
  };
  const child = spawn(path.resolve(process.env.CAPDECK), ['up', '--port', '0', '--json'], { env, cwd: path.join(root, 'project'), stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  let url = null;
  for await (const line of readline.createInterface({ input: child.stdout })) {
    url = JSON.parse(line).url;
    break;
  }
  if (!url) throw new Error('the host did not start');
  const stop = async () => {
    child.kill('SIGTERM');
    await ended;
    fs.rmSync(root, { recursive: true, force: true });
  };
  return { url, key: ADMIN_KEY, stop, ask: (method, address, options) => ask(url, auth === 'required' ? ADMIN_KEY : null, method, address, options) };
}

/** Sends a request without the browser. */
export async function ask(url, key, method, address, { json, headers = {} } = {}) {
  const sent = { ...headers, ...(key ? { authorization: `Bearer ${key}` } : {}), ...(json === undefined ? {} : { 'content-type': 'application/json' }) };
  const response = await fetch(new URL(address, url), { method, headers: sent, body: json === undefined ? undefined : JSON.stringify(json) });
  const text = await response.text();
  const isJson = (response.headers.get('content-type') ?? '').includes('json');
  return { status: response.status, headers: response.headers, data: isJson && text ? JSON.parse(text) : text };
}
