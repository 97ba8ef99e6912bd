// The least of an MCP client: it lists and calls, and holds no result against any schema.

import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

export class RawClient {
  #waiting = new Map();
  #lastId = 0;
  #child;

  /** Starts a program that speaks MCP on its standard input and output. */
  static async connect(command, args, options) {
    const client = new RawClient();
    client.#start(spawn(command, args, { ...options, stdio: ['pipe', 'pipe', 'inherit'] }));
    const clientInfo = { name: 'apis', version: '1.0.0' };
    await client.#request('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo });
    client.#send({ method: 'notifications/initialized' });
    return client;
  }

  get pid() {
    return this.#child.pid;
  }

  listTools(params) {
    return this.#request('tools/list', params);
  }

  callTool(params) {
    return this.#request('tools/call', params);
  }

  close() {
    const ended = new Promise((resolve) => this.#child.once('exit', resolve));
    this.#child.stdin.end();
    return ended;
  }

  #start(child) {
    this.#child = child;
    child.once('exit', (code) => {
      for (const { reject } of this.#waiting.values()) reject(new Error(`capdeck ended with ${code}`));
    });
    createInterface({ input: child.stdout }).on('line', (line) => {
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
