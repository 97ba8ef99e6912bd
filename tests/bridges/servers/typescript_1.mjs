// The test server on the TypeScript SDK 1.x, which speaks the handshake revisions only.
//
//   node typescript_1.mjs            on its pipes
//   node typescript_1.mjs --http     Streamable HTTP; prints {"url": …} once it listens

import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';

import { installed } from '../installed.mjs';
import { OFFER, Offer } from './offer.mjs';

const { Server } = installed('@modelcontextprotocol/sdk/server/index.js');
const { Protocol } = installed('@modelcontextprotocol/sdk/shared/protocol.js');
const { StdioServerTransport } = installed('@modelcontextprotocol/sdk/server/stdio.js');
const { StreamableHTTPServerTransport } = installed('@modelcontextprotocol/sdk/server/streamableHttp.js');
const { InMemoryTaskStore } = installed('@modelcontextprotocol/sdk/experimental/tasks/index.js');
const schemas = installed('@modelcontextprotocol/sdk/types.js');

const RESULTS = {
  'elicitation/create': schemas.ElicitResultSchema,
  'sampling/createMessage': schemas.CreateMessageResultSchema,
  'roots/list': schemas.ListRootsResultSchema,
};
const offer = new Offer();

function build() {
  const server = new Server(
    { name: 'bridge-typescript-1', version: '1.0.0' },
    {
      capabilities: {
        tools: { listChanged: true },
        prompts: { listChanged: true },
        resources: { subscribe: true, listChanged: true },
        completions: {},
        logging: {},
        tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } },
      },
      instructions: OFFER.instructions,
      taskStore: new InMemoryTaskStore(),
    },
  );
  const handle = async (request, extra) => {
    if (request.params?.task) return runTask(request.params, extra);
    return offer.answer(request.method, request.params, exchange(server, request, extra));
  };
  // The server's own registration of tools/call refuses content types that it does not know.
  const register = (schema) => Protocol.prototype.setRequestHandler.call(server, schema, handle);
  register(schemas.ListToolsRequestSchema);
  register(schemas.CallToolRequestSchema);
  register(schemas.ListPromptsRequestSchema);
  register(schemas.GetPromptRequestSchema);
  register(schemas.ListResourcesRequestSchema);
  register(schemas.ListResourceTemplatesRequestSchema);
  register(schemas.ReadResourceRequestSchema);
  register(schemas.CompleteRequestSchema);
  server.setRequestHandler(schemas.SubscribeRequestSchema, () => ({}));
  server.setRequestHandler(schemas.UnsubscribeRequestSchema, () => ({}));
  return server;
}

async function runTask(params, extra) {
  const task = await extra.taskStore.createTask({ ttl: params.task.ttl, pollInterval: 50 });
  await extra.taskStore.storeTaskResult(task.taskId, 'completed', OFFER.results[params.name]);
  return { task };
}

function exchange(server, request, extra) {
  const ask = async (name) => {
    const question = OFFER.questions[name];
    return extra.sendRequest(question, RESULTS[question.method]);
  };
  const token = request.params?._meta?.progressToken;
  return {
    signal: extra.signal,
    capabilities: server.getClientCapabilities(),
    meta: request.params?._meta,
    ask: async (names) => {
      const answers = await Promise.all(names.map(ask));
      return Object.fromEntries(names.map((name, at) => [name, answers[at]]));
    },
    log: (level, data) => server.sendLoggingMessage({ level, data, logger: 'bridge' }, extra.sessionId),
    progress: async (progress, total, message) => {
      const params = { progressToken: token, progress, total, message };
      if (token !== undefined) await extra.sendNotification({ method: 'notifications/progress', params });
    },
    changed: (kind) => server.notification({ method: `notifications/${kind}/list_changed` }),
    updated: (uri) => server.sendResourceUpdated({ uri }),
  };
}

function serveHttp() {
  const sessions = new Map();
  const listener = createServer(async (request, response) => {
    const session = request.headers['mcp-session-id'];
    if (session !== undefined) {
      const transport = sessions.get(session);
      return transport ? transport.handleRequest(request, response) : response.writeHead(404).end();
    }
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => sessions.set(id, transport),
      onsessionclosed: (id) => sessions.delete(id),
    });
    await build().connect(transport);
    return transport.handleRequest(request, response);
  });
  listener.listen(0, '127.0.0.1', () => {
    console.log(JSON.stringify({ url: `http://127.0.0.1:${listener.address().port}/mcp` }));
  });
}

if (process.argv.includes('--http')) serveHttp();
else await build().connect(new StdioServerTransport());
