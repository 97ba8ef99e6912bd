// A server of both eras on the official TypeScript SDK, with everything that the conformance suite looks for. The SDK's
// own one is not published.
//
//   node everything-server.mjs            Streamable HTTP on a free port; prints one JSON line, {"url": …}
//   node everything-server.mjs --stdio    the same server on its pipes

import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import path from 'node:path';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';

import { callTool, listTools } from './conformance-tools.mjs';
import { getPrompt, listPrompts } from './conformance-prompts.mjs';
import { listResources, listTemplates, readResource } from './conformance-resources.mjs';
import { EventLog } from './event-log.mjs';
import { callAskingTool, listAskingTools, promptQuestion } from './input-required-tools.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const installed = process.env.CAPDECK_TEST_DEPS ?? path.join(here, '..', '..', '.test-deps');
const require = createRequire(path.join(installed, 'node', 'package.json'));
const sdk = require('@modelcontextprotocol/server');
const { serveStdio } = require('@modelcontextprotocol/server/stdio');

class Refusal extends sdk.ProtocolError {}

const capabilities = {
  tools: { listChanged: true },
  resources: { subscribe: true, listChanged: true },
  prompts: { listChanged: true },
  completions: {},
  logging: {},
};

const loggingTool = {
  name: 'test_logging_tool',
  description: 'Logs to those who asked for it',
  inputSchema: { type: 'object', properties: {} },
};

function buildServer() {
  const server = new sdk.Server(
    { name: 'everything-fixture', version: '1.0.0' },
    { capabilities, instructions: 'Call the tool that a scenario names.' },
  );
  server.setRequestHandler('tools/list', () => ({ tools: [...listTools(), ...listAskingTools(), loggingTool] }));
  server.setRequestHandler('tools/call', async ({ params }, { mcpReq, http }) => {
    if ([loggingTool.name, 'test_streaming_elicitation'].includes(params.name)) {
      await mcpReq.log('info', 'This is for those who asked for it');
    }
    if (params.name === loggingTool.name) return { content: [{ type: 'text', text: 'Logged' }] };
    const asked = callAskingTool(params.name, {
      answers: mcpReq.inputResponses,
      state: mcpReq.requestState?.(),
      capabilities: mcpReq.envelope?.[sdk.CLIENT_CAPABILITIES_META_KEY],
      refuse: (message) => new Refusal(-32602, message),
    });
    const extra = {
      _meta: mcpReq._meta ?? params._meta,
      sendNotification: (message) => mcpReq.notify(message),
      sendRequest: (request) => mcpReq.send(request),
      closeSSEStream: http?.closeSSE,
    };
    return asked ?? callTool(params, extra, { McpError: Refusal });
  });
  server.setRequestHandler('resources/list', () => ({ resources: listResources() }));
  server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates: listTemplates() }));
  server.setRequestHandler('resources/read', ({ params }) => {
    const contents = readResource(params.uri);
    if (contents) return { contents: [contents] };
    throw new sdk.ResourceNotFoundError(params.uri);
  });
  server.setRequestHandler('resources/subscribe', () => ({}));
  server.setRequestHandler('resources/unsubscribe', () => ({}));
  server.setRequestHandler('prompts/list', () => ({ prompts: listPrompts() }));
  server.setRequestHandler('prompts/get', ({ params }, { mcpReq }) => {
    if (params.name === 'test_input_required_result_prompt') {
      const answer = mcpReq.inputResponses?.user_context;
      if (!answer) return { resultType: 'input_required', inputRequests: promptQuestion };
      const text = `Use this context: ${answer.content?.context}`;
      return { messages: [{ role: 'user', content: { type: 'text', text } }] };
    }
    const messages = getPrompt(params.name, params.arguments ?? {});
    if (messages) return { messages };
    throw new Refusal(-32602, `Unknown prompt: ${params.name}`);
  });
  server.setRequestHandler('completion/complete', ({ params }) => {
    const values = ['paris', 'park', 'party', 'query'].filter((word) => word.startsWith(params.argument.value));
    return { completion: { values, total: values.length, hasMore: false } };
  });
  return server;
}

/** Requests of the handshake era, each with the session that it names. */
function legacySessions() {
  const sessions = new Map();
  return async (request) => {
    const known = request.headers.get('mcp-session-id');
    if (known !== null) {
      const transport = sessions.get(known);
      return transport ? transport.handleRequest(request) : Response.json({ error: 'no such session' }, { status: 404 });
    }
    const transport = new sdk.WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      eventStore: new EventLog(),
      retryInterval: 500,
      onsessioninitialized: (id) => sessions.set(id, transport),
      onsessionclosed: (id) => sessions.delete(id),
    });
    await buildServer().connect(transport);
    return transport.handleRequest(request);
  };
}

function serveHttp() {
  const legacy = legacySessions();
  const modern = sdk.createMcpHandler(buildServer, { legacy: 'reject' });
  const listener = createServer(async (incoming, outgoing) => {
    const request = toRequest(incoming, outgoing);
    const answer = await handle(request).catch((error) => new Response(String(error), { status: 500 }));
    outgoing.writeHead(answer.status, Object.fromEntries(answer.headers));
    if (answer.body) Readable.fromWeb(answer.body).pipe(outgoing);
    else outgoing.end();
  });
  const handle = async (request) => {
    // A web page on another origin must not reach a server on this machine through DNS.
    const names = sdk.localhostAllowedHostnames();
    const refused = sdk.hostHeaderValidationResponse(request, names) ?? sdk.originValidationResponse(request, names);
    if (refused) return refused;
    return (await sdk.isLegacyRequest(request.clone())) ? legacy(request) : modern.fetch(request);
  };
  listener.listen(0, '127.0.0.1', () => {
    console.log(JSON.stringify({ url: `http://127.0.0.1:${listener.address().port}/mcp` }));
  });
}

function toRequest(incoming, outgoing) {
  const cancel = new AbortController();
  outgoing.once('close', () => cancel.abort());
  const hasBody = !['GET', 'HEAD'].includes(incoming.method);
  const headers = new Headers();
  for (let index = 0; index < incoming.rawHeaders.length; index += 2) {
    headers.append(incoming.rawHeaders[index], incoming.rawHeaders[index + 1]);
  }
  return new Request(`http://${incoming.headers.host}${incoming.url}`, {
    method: incoming.method,
    headers,
    body: hasBody ? Readable.toWeb(incoming) : undefined,
    duplex: 'half',
    signal: cancel.signal,
  });
}

if (process.argv.includes('--stdio')) serveStdio(buildServer);
else serveHttp();
