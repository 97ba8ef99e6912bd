// The server that the official conformance suite expects, on the official TypeScript SDK.
//
// It stands behind Capdeck as a downstream and alone as the measure of what Capdeck must not lose.
//
//   node conformance-server.mjs            Streamable HTTP on $PORT (0 or unset picks one);
//                                          prints one JSON line, {"url": …}, once it listens
//   node conformance-server.mjs --stdio    the same server on its pipes
//
// Packages come from the folder the test runner installs into, not from this one, so that nothing
// is ever installed beside the sources.

import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { callTool, listTools } from './conformance-tools.mjs';
import { getPrompt, listPrompts } from './conformance-prompts.mjs';
import { listResources, listTemplates, readResource } from './conformance-resources.mjs';
import { EventLog } from './event-log.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const installed = process.env.CAPDECK_TEST_DEPS ?? path.join(here, '..', '..', '.test-deps');
const require = createRequire(path.join(installed, 'node', 'package.json'));

const { Server } = require('@modelcontextprotocol/sdk/server/index.js');
const { StdioServerTransport } = require('@modelcontextprotocol/sdk/server/stdio.js');
const { StreamableHTTPServerTransport } = require('@modelcontextprotocol/sdk/server/streamableHttp.js');
const schemas = require('@modelcontextprotocol/sdk/types.js');

function buildServer() {
  const server = new Server(
    { name: 'conformance-fixture', version: '1.0.0' },
    {
      capabilities: {
        tools: { listChanged: true },
        resources: { subscribe: true, listChanged: true },
        prompts: { listChanged: true },
        completions: {},
        logging: {},
      },
      instructions: 'Call the tool that a scenario names.',
    },
  );
  const answer = (schema, handler) => server.setRequestHandler(schema, handler);

  answer(schemas.ListToolsRequestSchema, () => ({ tools: listTools() }));
  answer(schemas.CallToolRequestSchema, (request, extra) => callTool(request.params, extra, schemas));

  answer(schemas.ListResourcesRequestSchema, () => ({ resources: listResources() }));
  answer(schemas.ListResourceTemplatesRequestSchema, () => ({ resourceTemplates: listTemplates() }));
  answer(schemas.ReadResourceRequestSchema, (request) => {
    const contents = readResource(request.params.uri);
    if (contents) return { contents: [contents] };
    throw new schemas.McpError(-32002, 'Resource not found', { uri: request.params.uri });
  });
  answer(schemas.SubscribeRequestSchema, () => ({}));
  answer(schemas.UnsubscribeRequestSchema, () => ({}));

  answer(schemas.ListPromptsRequestSchema, () => ({ prompts: listPrompts() }));
  answer(schemas.GetPromptRequestSchema, (request) => {
    const messages = getPrompt(request.params.name, request.params.arguments ?? {});
    if (messages) return { messages };
    throw new schemas.McpError(-32602, `Unknown prompt: ${request.params.name}`);
  });
  answer(schemas.CompleteRequestSchema, (request) => {
    const candidates = ['paris', 'park', 'party', 'query'];
    const values = candidates.filter((word) => word.startsWith(request.params.argument.value));
    return { completion: { values, total: values.length, hasMore: false } };
  });
  return server;
}

async function serveStdio() {
  await buildServer().connect(new StdioServerTransport());
}

async function serveHttp() {
  const sessions = new Map();
  const listener = createServer(async (request, response) => {
    const refuse = (status, message) => {
      const error = { jsonrpc: '2.0', id: null, error: { code: -32000, message } };
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(error));
    };
    const port = listener.address().port;
    if (!isLocal(request.headers, port)) return refuse(403, 'Host or Origin is not this machine');
    if (new URL(request.url, 'http://localhost').pathname !== '/mcp') return refuse(404, 'No such path');

    const session = request.headers['mcp-session-id'];
    if (session !== undefined) {
      const transport = sessions.get(session);
      return transport ? transport.handleRequest(request, response) : refuse(404, 'No such session');
    }
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      eventStore: new EventLog(),
      retryInterval: 500,
      onsessioninitialized: (id) => sessions.set(id, transport),
      onsessionclosed: (id) => sessions.delete(id),
    });
    await buildServer().connect(transport);
    return transport.handleRequest(request, response);
  });
  listener.listen(Number(process.env.PORT ?? 0), '127.0.0.1', () => {
    const url = `http://127.0.0.1:${listener.address().port}/mcp`;
    console.log(JSON.stringify({ url }));
  });
}

/** A web page on another origin must not reach a server on this machine through DNS. */
function isLocal(headers, port) {
  const hosts = [`127.0.0.1:${port}`, `localhost:${port}`];
  const origins = hosts.map((host) => `http://${host}`);
  const originIsFine = headers.origin === undefined || origins.includes(headers.origin);
  return hosts.includes(headers.host) && originIsFine;
}

await (process.argv.includes('--stdio') ? serveStdio() : serveHttp());
