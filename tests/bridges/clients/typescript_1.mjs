// A connection of the TypeScript SDK 1.x, which speaks the handshake revisions only.

import { installed } from '../installed.mjs';
import { answering, CAPABILITIES } from './answers.mjs';
import { Wiretap } from './wiretap.mjs';

const { Client } = installed('@modelcontextprotocol/sdk/client/index.js');
const { StdioClientTransport } = installed('@modelcontextprotocol/sdk/client/stdio.js');
const { StreamableHTTPClientTransport } = installed('@modelcontextprotocol/sdk/client/streamableHttp.js');
const schemas = installed('@modelcontextprotocol/sdk/types.js');

const QUESTIONS = {
  'elicitation/create': schemas.ElicitRequestSchema,
  'sampling/createMessage': schemas.CreateMessageRequestSchema,
  'roots/list': schemas.ListRootsRequestSchema,
};

export class Connection {
  constructor(client, transport, tap, emit) {
    Object.assign(this, { client, transport, tap, emit });
  }

  static async open(target, _era, emit, isBare) {
    const capabilities = isBare ? {} : CAPABILITIES;
    const client = new Client({ name: 'bridge-client', version: '1.0.0' }, { capabilities });
    for (const [method, reply] of Object.entries(answering(emit, isBare))) {
      client.setRequestHandler(QUESTIONS[method], reply);
    }
    const hear = (schema, tell) => client.setNotificationHandler(schema, ({ params }) => tell(params));
    hear(schemas.LoggingMessageNotificationSchema, ({ level, data, logger }) => emit('log', { level, data, logger }));
    hear(schemas.ToolListChangedNotificationSchema, () => emit('changed', { kind: 'tools' }));
    hear(schemas.PromptListChangedNotificationSchema, () => emit('changed', { kind: 'prompts' }));
    hear(schemas.ResourceListChangedNotificationSchema, () => emit('changed', { kind: 'resources' }));
    hear(schemas.ResourceUpdatedNotificationSchema, ({ uri }) => emit('updated', { uri }));
    const transport = open(target);
    const tap = new Wiretap(transport);
    await client.connect(transport);
    tap.attach();
    return new Connection(client, transport, tap, emit);
  }

  about() {
    return {
      protocolVersion: this.transport.protocolVersion ?? schemas.LATEST_PROTOCOL_VERSION,
      capabilities: this.client.getServerCapabilities(),
      serverInfo: this.client.getServerVersion(),
      instructions: this.client.getInstructions(),
    };
  }

  async call(name, given, signal) {
    const onprogress = ({ progress, total, message }) => this.emit('progress', { step: [progress, total, message] });
    return this.client.callTool({ name, arguments: given }, undefined, { signal, onprogress });
  }

  request(method, params) {
    const raw = this.tap.next(method);
    this.client.request({ method, params }, schemas.ResultSchema).catch(() => {});
    return raw;
  }

  prompt(name, given) {
    return this.client.getPrompt({ name, arguments: given });
  }

  read(uri) {
    return this.client.readResource({ uri });
  }

  async listen(uri) {
    await this.client.subscribeResource({ uri });
  }

  async level(level) {
    await this.client.setLoggingLevel(level);
  }

  /** The states a task went through, and its result. */
  async task(name) {
    const tasks = this.client.experimental.tasks;
    const states = [];
    let taskId, result;
    const call = { name, arguments: {} };
    for await (const message of tasks.callToolStream(call, schemas.CallToolResultSchema, { task: { ttl: 60000 } })) {
      if (message.type === 'error') throw message.error;
      if (message.type === 'result') result = message.result;
      else states.push(message.task.status);
      taskId ??= message.task?.taskId;
    }
    const listed = (await tasks.listTasks()).tasks.some((task) => task.taskId === taskId);
    return { states, listed, result };
  }

  async close() {
    await this.transport.terminateSession?.();
    await this.client.close();
  }
}

function open(target) {
  return target.url ? new StreamableHTTPClientTransport(new URL(target.url)) : new StdioClientTransport(target);
}
