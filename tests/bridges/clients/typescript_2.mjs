// A connection of the TypeScript SDK 2.x in either era.

import { installed } from '../installed.mjs';
import { answering, CAPABILITIES } from './answers.mjs';
import { Wiretap } from './wiretap.mjs';

const { Client, StreamableHTTPClientTransport } = installed('@modelcontextprotocol/client');
const { StdioClientTransport } = installed('@modelcontextprotocol/client/stdio');

const MODES = { legacy: 'legacy', modern: { pin: '2026-07-28' } };
const LOG_LEVEL = 'io.modelcontextprotocol/logLevel';
const TASKS = 'io.modelcontextprotocol/tasks';
// Takes anything: what is asked for here is read as it came in.
const anything = { '~standard': { version: 1, vendor: 'bridges', validate: (value) => ({ value }) } };

export class Connection {
  constructor(client, transport, tap, emit, era) {
    Object.assign(this, { client, transport, tap, emit, era, meta: undefined });
  }

  static async open(target, era, emit, isBare) {
    const extensions = era === 'modern' ? { extensions: { [TASKS]: {} } } : {};
    const client = new Client(
      { name: 'bridge-client', version: '2.0.0' },
      { capabilities: { ...(isBare ? {} : CAPABILITIES), ...extensions }, versionNegotiation: { mode: MODES[era] } },
    );
    for (const [method, reply] of Object.entries(answering(emit, isBare))) client.setRequestHandler(method, reply);
    const hear = (name, tell) =>
      client.setNotificationHandler(`notifications/${name}`, ({ params }) => tell(params));
    hear('message', ({ level, data, logger }) => emit('log', { level, data, logger }));
    for (const kind of ['tools', 'prompts', 'resources']) hear(`${kind}/list_changed`, () => emit('changed', { kind }));
    hear('resources/updated', ({ uri }) => emit('updated', { uri }));
    const transport = open(target);
    const tap = new Wiretap(transport);
    await client.connect(transport);
    tap.attach();
    return new Connection(client, transport, tap, emit, era);
  }

  about() {
    return {
      protocolVersion: this.client.getNegotiatedProtocolVersion(),
      capabilities: this.client.getServerCapabilities(),
      serverInfo: this.client.getServerVersion(),
      instructions: this.client.getInstructions(),
    };
  }

  async call(name, given, signal) {
    const onprogress = ({ progress, total, message }) => this.emit('progress', { step: [progress, total, message] });
    const params = { name, arguments: given, ...(this.meta && { _meta: this.meta }) };
    return this.client.callTool(params, { signal, onprogress });
  }

  request(method, params) {
    const raw = this.tap.next(method);
    this.client.request({ method, params }, anything).catch(() => {});
    return raw;
  }

  prompt(name, given) {
    return this.client.getPrompt({ name, arguments: given });
  }

  read(uri) {
    return this.client.readResource({ uri });
  }

  async listen(uri) {
    if (this.era === 'legacy') await this.client.subscribeResource({ uri });
    else {
      const lists = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true };
      this.stream = await this.client.listen({ ...lists, resourceSubscriptions: [uri] });
    }
  }

  async level(level) {
    if (this.era === 'legacy') await this.client.setLoggingLevel(level);
    else this.meta = { [LOG_LEVEL]: level };
  }

  /** The states a task went through, and its result; the SDK leaves the extension to its users. */
  async task(name) {
    const created = await this.request('tools/call', { name, arguments: {} });
    if (created.resultType !== 'task') return { states: [], result: created };
    const states = [created.status];
    // A server may be done before it has said that it began, so the first look comes in any case.
    do {
      const task = await this.request('tasks/get', { taskId: created.taskId });
      states.push(task.status);
      if (task.status === 'completed') return { states, result: task.result };
    } while (states.at(-1) === 'working');
    throw new Error(`the task ended as ${states.at(-1)}`);
  }

  async close() {
    await this.stream?.close();
    await this.transport.terminateSession?.();
    await this.client.close();
  }
}

function open(target) {
  return target.url ? new StreamableHTTPClientTransport(new URL(target.url)) : new StdioClientTransport(target);
}
