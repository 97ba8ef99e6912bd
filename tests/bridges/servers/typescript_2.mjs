// The test server on the TypeScript SDK 2.x, held to the revision without a handshake.
//
//   node typescript_2.mjs            on its pipes
//   node typescript_2.mjs --http     Streamable HTTP; prints {"url": …} once it listens

import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { Readable } from 'node:stream';

import { installed } from '../installed.mjs';
import { METHODS, OFFER, Offer } from './offer.mjs';

const { createMcpHandler, Server } = installed('@modelcontextprotocol/server');
const { serveStdio } = installed('@modelcontextprotocol/server/stdio');

const TASKS = 'io.modelcontextprotocol/tasks';
const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';
const offer = new Offer();
const tasks = new Map();
// How a change is announced: over HTTP through the handler, on pipes by the one server there is.
let announce;

// Results that the SDK would refuse: a content type that no revision knows, and one of an extension.
const UNCHECKED = ['strange', 'work'];
// Takes anything: the extension's parameters are read where they are used.
const anything = { '~standard': { version: 1, vendor: 'bridges', validate: (value) => ({ value }) } };

class BridgeServer extends Server {
  _wrapHandler(method, handler) {
    const checked = super._wrapHandler(method, handler);
    return (request, context) =>
      UNCHECKED.includes(request.params?.name) ? handler(request, context) : checked(request, context);
  }
}

function build() {
  const server = new BridgeServer(
    { name: 'bridge-typescript-2', version: '1.0.0' },
    {
      capabilities: {
        tools: { listChanged: true },
        prompts: { listChanged: true },
        resources: { subscribe: true, listChanged: true },
        completions: {},
        logging: {},
        extensions: { [TASKS]: {} },
      },
      instructions: OFFER.instructions,
    },
  );
  for (const method of METHODS) server.setRequestHandler(method, handle);
  const schemas = { params: anything, result: anything };
  server.setRequestHandler('tasks/get', schemas, (params) => lookAt(params.taskId));
  return server;
}

async function handle(request, context) {
  const { params } = request;
  const capabilities = context.mcpReq.envelope?.[CAPABILITIES];
  if (request.method === 'tools/call' && params.name === 'work' && capabilities?.extensions?.[TASKS]) {
    return createTask(OFFER.results.work);
  }
  try {
    return await offer.answer(request.method, params, exchange(context));
  } catch (thrown) {
    if (thrown instanceof InputRequired) return thrown.result;
    throw thrown;
  }
}

class InputRequired extends Error {
  constructor(result) {
    super('input required');
    this.result = result;
  }
}

/** Asks by answering: what was answered in earlier rounds travels in `requestState`. */
function exchange(context) {
  const request = context.mcpReq;
  const state = request.requestState();
  const answers = { ...(state ? JSON.parse(Buffer.from(state, 'base64')) : {}), ...request.inputResponses };
  const token = request._meta?.progressToken;
  return {
    signal: request.signal,
    capabilities: request.envelope?.[CAPABILITIES],
    meta: request._meta,
    ask: async (names) => {
      const open = names.filter((name) => !(name in answers));
      if (open.length === 0) return Object.fromEntries(names.map((name) => [name, answers[name]]));
      throw new InputRequired({
        resultType: 'input_required',
        inputRequests: Object.fromEntries(open.map((name) => [name, question(name)])),
        requestState: Buffer.from(JSON.stringify(answers)).toString('base64'),
      });
    },
    log: (level, data) => request.log(level, data, 'bridge'),
    progress: async (progress, total, message) => {
      const params = { progressToken: token, progress, total, message };
      if (token !== undefined) await request.notify({ method: 'notifications/progress', params });
    },
    changed: (kind) => announce.changed(kind),
    updated: (uri) => announce.updated(uri),
  };
}

/** The question in the words of this revision, which has no ids for elicitations. */
function question(name) {
  const { method, params = {} } = OFFER.questions[name];
  const { elicitationId, ...rest } = params;
  return { method, params: rest };
}

const TIME = '2026-11-01T00:00:00Z';

function createTask(result) {
  const times = { createdAt: TIME, lastUpdatedAt: TIME, ttlMs: 60000, pollIntervalMs: 50 };
  const task = { taskId: randomUUID() + randomUUID(), status: 'working', ...times };
  tasks.set(task.taskId, { task, result, looks: 0 });
  return { resultType: 'task', ...task };
}

/** A task is finished at its second look. */
function lookAt(taskId) {
  const kept = tasks.get(taskId);
  kept.looks += 1;
  if (kept.looks > 1) kept.task = { ...kept.task, status: 'completed', result: kept.result };
  return kept.task;
}

function servePipes() {
  serveStdio(
    () => {
      const server = build();
      announce = {
        changed: (kind) => server.notification({ method: `notifications/${kind}/list_changed` }),
        updated: (uri) => server.notification({ method: 'notifications/resources/updated', params: { uri } }),
      };
      return server;
    },
    { legacy: 'reject' },
  );
}

function serveHttp() {
  const handler = createMcpHandler(build, { legacy: 'reject' });
  const changes = { tools: 'toolsChanged', prompts: 'promptsChanged', resources: 'resourcesChanged' };
  announce = {
    changed: (kind) => handler.notify[changes[kind]](),
    updated: (uri) => handler.notify.resourceUpdated(uri),
  };
  const listener = createServer((request, response) => answer(handler, request, response));
  listener.listen(0, '127.0.0.1', () => {
    console.log(JSON.stringify({ url: `http://127.0.0.1:${listener.address().port}/mcp` }));
  });
}

/** Carries one request of Node's server to the SDK's handler and its answer back. */
async function answer(handler, request, response) {
  const gone = new AbortController();
  response.on('close', () => gone.abort());
  const hasBody = request.method === 'POST';
  const asked = new Request(`http://${request.headers.host}${request.url}`, {
    method: request.method,
    headers: request.headers,
    body: hasBody ? Readable.toWeb(request) : undefined,
    duplex: 'half',
    signal: gone.signal,
  });
  const answered = await handler.fetch(asked);
  response.writeHead(answered.status, Object.fromEntries(answered.headers));
  response.flushHeaders();
  if (!answered.body) return response.end();
  const body = Readable.fromWeb(answered.body);
  response.on('close', () => body.destroy());
  body.on('error', () => response.destroy());
  return body.pipe(response);
}

if (process.argv.includes('--http')) serveHttp();
else servePipes();
