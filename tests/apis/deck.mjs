// Capdeck with one config file, in folders of its own, and a client in front of it.

import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';

import { installed } from './installed.mjs';
import { RawClient } from './raw-client.mjs';

const timeouts = { timeout: 300_000, maxTotalTimeout: 300_000 };

export class Deck {
  constructor(config) {
    this.root = mkdtempSync(path.join(os.tmpdir(), 'capdeck-apis-'));
    for (const name of ['config', 'state', 'cache', 'data', 'home']) mkdirSync(this.folder(name));
    // Every tool is called; asking a person first is tested elsewhere.
    const text = JSON.stringify({ policy: [{ allow: {} }], ...config }, null, 2);
    writeFileSync(path.join(this.folder('config'), 'config.json'), text);
  }

  folder(name) {
    return path.join(this.root, name);
  }

  env() {
    return {
      PATH: process.env.PATH,
      HOME: this.folder('home'),
      CAPDECK_CONFIG_DIR: this.folder('config'),
      CAPDECK_STATE_DIR: this.folder('state'),
      CAPDECK_CACHE_DIR: this.folder('cache'),
      CAPDECK_DATA_DIR: this.folder('data'),
      NO_COLOR: '1',
    };
  }

  /** What could not be imported, as `capdeck inspect` has it. */
  problems(capability) {
    const options = { env: this.env(), cwd: this.root, encoding: 'utf8', maxBuffer: 1 << 30 };
    const details = JSON.parse(execFileSync(process.env.CAPDECK, ['inspect', capability, '--json'], options));
    return (details.leftOut ?? []).map(({ place, reason }) => `${place}: ${reason}`);
  }

  /** One capability as it is, through the official client, which checks results against output schemas. */
  async open(only) {
    const { Client } = installed('@modelcontextprotocol/sdk/client/index.js');
    const { StdioClientTransport } = installed('@modelcontextprotocol/sdk/client/stdio.js');
    const args = ['serve', '--only', only];
    const transport = new StdioClientTransport({ command: process.env.CAPDECK, args, env: this.env(), stderr: 'ignore' });
    const client = new Client({ name: 'apis', version: '1.0.0' });
    await client.connect(transport, timeouts);
    return new Session(client, transport.pid);
  }

  /** The same through a client that takes any result, for servers that answer with something else than they promise. */
  async openRaw(only) {
    const client = await RawClient.connect(process.env.CAPDECK, ['serve', '--only', only], { env: this.env(), cwd: this.root });
    return new Session(client, client.pid);
  }

  remove() {
    rmSync(this.root, { recursive: true, force: true });
  }
}

class Session {
  constructor(client, pid) {
    this.client = client;
    this.pid = pid;
  }

  async tools() {
    const tools = [];
    let cursor;
    do {
      const page = await this.client.listTools(cursor ? { cursor } : {}, timeouts);
      tools.push(...page.tools);
      cursor = page.nextCursor;
    } while (cursor);
    return tools;
  }

  call(name, args) {
    return this.client.callTool({ name, arguments: args }, undefined, timeouts);
  }

  /** The most memory the process has had, in MB; undefined where the system does not tell. */
  peakMegabytes() {
    return this.#megabytes('VmHWM');
  }

  /** The memory it has now. */
  residentMegabytes() {
    return this.#megabytes('VmRSS');
  }

  #megabytes(what) {
    try {
      const status = readFileSync(`/proc/${this.pid}/status`, 'utf8');
      return Math.round(Number(new RegExp(`^${what}:\\s+(\\d+) kB`, 'm').exec(status)[1]) / 1024);
    } catch {
      return undefined;
    }
  }

  close() {
    return this.client.close();
  }
}
