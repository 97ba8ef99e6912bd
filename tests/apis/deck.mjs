// Capdeck with one config file, in folders of its own, and the official client in front of it.

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';

import { installed } from './installed.mjs';

const { Client } = installed('@modelcontextprotocol/sdk/client/index.js');
const { StdioClientTransport } = installed('@modelcontextprotocol/sdk/client/stdio.js');

const patience = { timeout: 300_000, maxTotalTimeout: 300_000 };

export class Deck {
  constructor(config) {
    this.root = mkdtempSync(path.join(os.tmpdir(), 'capdeck-apis-'));
    for (const folder of ['config', 'state', 'cache', 'data', 'home']) mkdirSync(path.join(this.root, folder));
    // Every tool is called; asking a person first is tested elsewhere.
    const text = JSON.stringify({ policy: [{ allow: {} }], ...config }, null, 2);
    writeFileSync(path.join(this.root, 'config', 'config.json'), text);
  }

  env() {
    const folder = (name) => path.join(this.root, name);
    return {
      PATH: process.env.PATH,
      HOME: folder('home'),
      CAPDECK_CONFIG_DIR: folder('config'),
      CAPDECK_STATE_DIR: folder('state'),
      CAPDECK_CACHE_DIR: folder('cache'),
      CAPDECK_DATA_DIR: folder('data'),
      NO_COLOR: '1',
    };
  }

  // One capability as it is, through a client that checks results against output schemas.
  async open(only) {
    const args = ['serve', '--only', only];
    const transport = new StdioClientTransport({ command: process.env.CAPDECK, args, env: this.env(), stderr: 'ignore' });
    const client = new Client({ name: 'apis', version: '1.0.0' });
    await client.connect(transport, patience);
    return new Session(client, transport.pid);
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
      const page = await this.client.listTools(cursor ? { cursor } : {}, patience);
      tools.push(...page.tools);
      cursor = page.nextCursor;
    } while (cursor);
    return tools;
  }

  call(name, args) {
    return this.client.callTool({ name, arguments: args }, undefined, patience);
  }

  // The most memory the process has had, in MB; undefined where the system does not tell.
  peakMegabytes() {
    try {
      const [, kilobytes] = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${this.pid}/status`, 'utf8'));
      return Math.round(Number(kilobytes) / 1024);
    } catch {
      return undefined;
    }
  }

  close() {
    return this.client.close();
  }
}
