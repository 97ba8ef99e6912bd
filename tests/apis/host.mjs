// Capdeck with one config, spoken to over its standard input and output.

import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';

export class Host {
  #root = mkdtempSync(path.join(tmpdir(), 'capdeck-apis-'));
  #waiting = new Map();
  #lastId = 0;
  #child;

  constructor(config) {
    for (const folder of ['config', 'state', 'cache', 'data', 'home']) mkdirSync(path.join(this.#root, folder));
    // Asking a person first is tested elsewhere.
    const whole = { policy: [{ allow: {} }], ...config };
    writeFileSync(path.join(this.#root, 'config', 'config.json'), JSON.stringify(whole));
  }

  /** Every tool of a capability under its own name, all pages. */
  async listTools(capability) {
    this.#start(capability);
    await this.#request('initialize', {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'apis', version: '1' },
    });
    this.#send({ method: 'notifications/initialized' });
    const tools = [];
    let cursor;
    do {
      const page = await this.#request('tools/list', cursor ? { cursor } : {});
      tools.push(...page.tools);
      cursor = page.nextCursor;
    } while (cursor);
    return tools;
  }

  callTool(name, args) {
    return this.#request('tools/call', { name, arguments: args });
  }

  /** What could not be imported, as `capdeck inspect` has it. */
  problems(capability) {
    const told = this.#run(['inspect', capability, '--json']);
    return (told.leftOut ?? []).map(({ place, reason }) => `${place}: ${reason}`);
  }

  /** Resident memory of the serving process, where the system tells it. */
  residentMb() {
    try {
      const status = readFileSync(`/proc/${this.#child.pid}/status`, 'utf8');
      return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)[1]) / 1024);
    } catch {
      return undefined;
    }
  }

  async stop() {
    if (this.#child) {
      const ended = new Promise((resolve) => this.#child.once('exit', resolve));
      this.#child.stdin.end();
      await ended;
    }
    rmSync(this.#root, { recursive: true, force: true });
  }

  get #env() {
    const folder = (name) => path.join(this.#root, name);
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

  #run(args) {
    const options = { env: this.#env, cwd: this.#root, encoding: 'utf8', maxBuffer: 1 << 30 };
    return JSON.parse(execFileSync(process.env.CAPDECK, args, options));
  }

  #start(capability) {
    const stdio = ['pipe', 'pipe', 'inherit'];
    this.#child = spawn(process.env.CAPDECK, ['serve', '--only', capability], { env: this.#env, cwd: this.#root, stdio });
    this.#child.once('exit', (code) => {
      for (const { reject } of this.#waiting.values()) reject(new Error(`capdeck ended with ${code}`));
    });
    createInterface({ input: this.#child.stdout }).on('line', (line) => {
      const { id, result, error } = JSON.parse(line);
      const waiting = this.#waiting.get(id);
      if (!waiting) return;
      this.#waiting.delete(id);
      if (error) waiting.reject(new Error(JSON.stringify(error)));
      else waiting.resolve(result);
    });
  }

  #request(method, params) {
    const id = ++this.#lastId;
    const answer = new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
    this.#send({ id, method, params });
    return answer;
  }

  #send(message) {
    this.#child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }
}
