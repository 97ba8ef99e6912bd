// Capdeck as the client under test: the official suite starts this once per scenario and appends its server's address.
//
// A deck with that server as its only capability is served by the real binary. A plain client then uses everything the
// server offers through it, and answers what it is asked. When Capdeck says that a sign-in is needed, the command it
// names is run as a person would run it, except that the page is fetched instead of opened.
//
// Needs CAPDECK (the binary). The suite sets MCP_CONFORMANCE_SCENARIO, _PROTOCOL_VERSION and _CONTEXT.

import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout } from 'node:timers/promises';

const serverUrl = process.argv.at(-1);
const scenario = process.env.MCP_CONFORMANCE_SCENARIO ?? '';
const revision = process.env.MCP_CONFORMANCE_PROTOCOL_VERSION ?? '2025-11-25';
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}');
const shutdownTimeout = 20_000;
// Capdeck itself ends a chain of sign-ins; this only keeps a broken one from running for ever.
const mostSignIns = 5;

/** What the deck says about signing in: nothing, unless the scenario hands out an identity. */
function authBlock() {
  if (context.client_id) {
    return { auth: { type: 'oauth2', clientId: context.client_id, clientSecret: context.client_secret } };
  }
  if (scenario === 'auth/basic-cimd') {
    const clientMetadataUrl = 'https://conformance-test.local/client-metadata.json';
    return { auth: { type: 'oauth2', clientMetadataUrl } };
  }
  return {};
}

/** Writes the deck and gives the environment that leads to it. */
async function makeDeck(sandbox) {
  const folder = (name) => path.join(sandbox, name);
  for (const name of ['config', 'state', 'cache', 'data', 'home']) await mkdir(folder(name));
  const server = {
    name: 'Server of the suite',
    description: 'What the official suite offers',
    url: serverUrl,
    protocolEra: revision === '2026-07-28' ? 'modern' : 'legacy',
    ...authBlock(),
  };
  await writeFile(path.join(folder('config'), 'config.json'), JSON.stringify({ mcpServers: { suite: server } }));
  return {
    PATH: process.env.PATH,
    HOME: folder('home'),
    CAPDECK_CONFIG_DIR: folder('config'),
    CAPDECK_STATE_DIR: folder('state'),
    CAPDECK_CACHE_DIR: folder('cache'),
    CAPDECK_DATA_DIR: folder('data'),
    CAPDECK_LOG: process.env.CAPDECK_LOG ?? '',
    NO_COLOR: '1',
  };
}

/** Starts the binary; gives the process and its lines of stdout, one at a time. */
function start(args, env) {
  const child = spawn(process.env.CAPDECK, args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', resolve);
  });
  return { child, ended, lines: createInterface({ input: child.stdout })[Symbol.asyncIterator]() };
}

/** Runs the sign-in that an error's hint names, headless. */
async function signIn(hint, env) {
  const words = /capdeck (auth login [^()]*)/.exec(hint)[1].trim().split(/\s+/);
  console.log(`following the hint: capdeck ${words.join(' ')}`);
  const { ended, lines } = start([...words, '--no-open', '--json', '--timeout', '15'], env);
  const output = [];
  for (let line = await lines.next(); !line.done; line = await lines.next()) {
    output.push(line.value);
    const url = output.length === 1 && line.value.startsWith('{"authorizationUrl"') && JSON.parse(line.value).authorizationUrl;
    // The suite's page sends its visitor back at once, to where Capdeck listens.
    if (url) fetch(url).catch((error) => console.log(`the page cannot be opened: ${error}`));
  }
  const code = await ended;
  if (code !== 0) throw new Error(`the sign-in ended with ${code}: ${output.join('\n')}`);
}

/** A plain client of Capdeck over Streamable HTTP. */
class Client {
  #url;
  #env;
  #session;
  #nextId = 1;
  #signIns = 0;

  constructor(url, env) {
    this.#url = url;
    this.#env = env;
  }

  async initialize() {
    const capabilities = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };
    const clientInfo = { name: 'conformance-driver', version: '1.0.0' };
    const hello = await this.request('initialize', { protocolVersion: '2025-11-25', capabilities, clientInfo });
    await this.#post({ method: 'notifications/initialized' });
    this.#listen().catch(() => {});
    return hello;
  }

  /** Sends a request, and again after each sign-in that the answer asks for. */
  async request(method, params) {
    for (;;) {
      const { result, error } = await this.#ask({ id: this.#nextId++, method, params });
      const advice = error?.message ?? (result?.isError ? result.structuredContent?.error?.hint : undefined);
      if (advice?.includes('capdeck auth login') && this.#signIns < mostSignIns) {
        this.#signIns += 1;
        await signIn(advice, this.#env);
        continue;
      }
      if (error) throw new Error(`${method}: ${error.message}`);
      if (result.isError) console.log(`${method}: ${JSON.stringify(result)}`);
      return result;
    }
  }

  /** Posts a request and reads on until its answer, also when the stream is to be taken up again. */
  async #ask(message) {
    let response = await this.#post(message);
    if (!response.headers.get('content-type')?.startsWith('text/event-stream')) {
      return JSON.parse(await response.text());
    }
    for (let position = { retry: 1000 }; ; ) {
      const answer = await this.#read(response.body, message.id, position);
      if (answer) return answer;
      if (!position.id) throw new Error(`${message.method}: the stream ended before the answer`);
      await setTimeout(position.retry);
      response = await this.#get({ 'last-event-id': position.id });
    }
  }

  /** Hears what the server says on its own. */
  async #listen() {
    const response = await this.#get({});
    if (response.ok) await this.#read(response.body, undefined, {});
  }

  /** Reads a stream to the answer with this id or to its end, and answers what the server asks meanwhile. */
  async #read(body, id, position) {
    for await (const event of events(body)) {
      position.id = event.id ?? position.id;
      position.retry = event.retry ?? position.retry;
      if (!event.data) continue;
      const incoming = JSON.parse(event.data);
      if (incoming.method === undefined && incoming.id === id) return incoming;
      if (incoming.method !== undefined && incoming.id !== undefined) {
        await this.#post({ id: incoming.id, result: answer(incoming) });
      }
    }
    return undefined;
  }

  async #post(message) {
    const body = JSON.stringify({ jsonrpc: '2.0', ...message });
    const accept = 'application/json, text/event-stream';
    const response = await this.#fetch('POST', { 'content-type': 'application/json', accept }, body);
    this.#session ??= response.headers.get('mcp-session-id') ?? undefined;
    return response;
  }

  #get(headers) {
    return this.#fetch('GET', { accept: 'text/event-stream', ...headers });
  }

  #fetch(method, headers, body) {
    const session = this.#session ? { 'mcp-session-id': this.#session } : {};
    const all = { 'mcp-protocol-version': '2025-11-25', ...session, ...headers };
    return fetch(this.#url, { method, headers: all, body });
  }
}

/** Server-sent events as `{id, retry, data}`. */
async function* events(body) {
  let pending = '';
  for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
    pending += chunk;
    const parts = pending.split('\n\n');
    pending = parts.pop();
    for (const part of parts) {
      const fields = part.split('\n').map((line) => /^(\w+): ?(.*)$/.exec(line)).filter(Boolean);
      const values = (name) => fields.filter((field) => field[1] === name).map((field) => field[2]);
      const [id, retry] = [values('id').at(-1), values('retry').at(-1)];
      yield { id, retry: retry && Number(retry), data: values('data').join('\n') };
    }
  }
}

/** What the person behind this client says: yes, with every default taken. */
function answer({ method, params }) {
  if (method === 'elicitation/create') {
    const properties = Object.entries(params.requestedSchema?.properties ?? {});
    const filled = properties.map(([name, schema]) => [name, schema.default ?? sample(schema)]);
    return { action: 'accept', content: Object.fromEntries(filled) };
  }
  if (method === 'sampling/createMessage') {
    return { role: 'assistant', model: 'none', content: { type: 'text', text: 'ok' } };
  }
  return method === 'roots/list' ? { roots: [] } : {};
}

/** A value of a schema's type. */
function sample(schema) {
  if (schema.enum) return schema.enum[0];
  const type = [schema.type].flat()[0];
  const values = { string: 'a', number: 1, integer: 1, boolean: true, array: [], object: {}, null: null };
  return type in values ? values[type] : 'a';
}

function sampleArguments(tool) {
  const { properties = {}, required = [] } = tool.inputSchema;
  return Object.fromEntries(required.map((name) => [name, sample(properties[name] ?? {})]));
}

/** The calls a scenario wants, or one of each tool. */
function plannedCalls(tools) {
  if (context.toolCalls) return context.toolCalls;
  // That server lists a tool and answers no calls.
  if (scenario === 'json-schema-ref-no-deref') return [];
  const rich = tools.find((tool) => tool.name === 'json_schema_2020_12_tool');
  return tools.map((tool) => ({
    name: tool.name,
    arguments: tool.name === 'json_schema_echo' ? { schema: rich.inputSchema } : sampleArguments(tool),
  }));
}

/** Uses everything the server offers. */
async function useAll(client) {
  const { capabilities } = await client.initialize();
  const { tools } = await client.request('tools/list', {});
  const calls = plannedCalls(tools);
  if (scenario.startsWith('sep-2322')) {
    await Promise.all(calls.map((call) => client.request('tools/call', call)));
  } else {
    for (const call of calls) await client.request('tools/call', call);
  }
  if (scenario === 'auth/authorization-server-migration') await client.request('tools/call', calls[0]);
  if (capabilities.prompts) {
    const { prompts } = await client.request('prompts/list', {});
    for (const { name } of prompts) await client.request('prompts/get', { name });
  }
  if (capabilities.resources) {
    const { resources } = await client.request('resources/list', {});
    for (const { uri } of resources) await client.request('resources/read', { uri });
  }
}

async function main() {
  const sandbox = await mkdtemp(path.join(os.tmpdir(), 'capdeck-client-'));
  const env = await makeDeck(sandbox);
  const host = start(['up', '--port', '0', '--json', '--quiet'], env);
  const giveUp = new AbortController();
  setTimeout(shutdownTimeout, undefined, giveUp).then(() => host.child.kill(), () => {});
  try {
    const first = await host.lines.next();
    if (first.done) throw new Error('capdeck ended before it printed its address');
    const { url } = JSON.parse(first.value);
    await useAll(new Client(`${url}/servers/suite/mcp`, env));
    return 0;
  } catch (error) {
    console.error(error.message);
    return 1;
  } finally {
    giveUp.abort();
    host.child.kill();
    await host.ended;
    await rm(sandbox, { recursive: true, force: true, maxRetries: 3 });
  }
}

process.exit(await main());
