// Ten agents are connected, and what stands in their files is read and used as they would: the file by a parser we did
// not write, the server by the official client. Each starts from its file in golden/, and has that file back at the end.
// Ends with `N passed, N failed, 0 skipped` and exits with 1 when one failed.
//
// Needs CAPDECK (the binary) and CAPDECK_TEST_DEPS, as ./test.sh sets them.

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import readline from 'node:readline';
import { fileURLToPath } from 'node:url';

import { AGENTS } from './agents.mjs';
import { Client, StdioClientTransport, StreamableHTTPClientTransport } from './installed.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const binary = path.resolve(process.env.CAPDECK);

// A home, a project and a deck of their own. Capdeck is on the PATH by its own name.
function makePlace() {
  const root = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'capdeck-connect-')));
  for (const folder of ['home', 'project/.git', 'bin', 'config']) fs.mkdirSync(path.join(root, folder), { recursive: true });
  fs.symlinkSync(binary, path.join(root, 'bin', 'capdeck'));
  fs.writeFileSync(path.join(root, 'config', 'echo.md'), [
    '---', 'name: Echo', 'description: Repeats its input.', 'exposure: direct', 'cliTools:', '  actions:',
    '    say:', '      description: Says it.', '      command: echo', '      args: [hello]', '---', '', '# Echo', '',
  ].join('\n'));
  const env = {
    PATH: `${path.join(root, 'bin')}:/usr/bin:/bin`, HOME: path.join(root, 'home'), NO_COLOR: '1',
    CAPDECK_CONFIG_DIR: path.join(root, 'config'), CAPDECK_STATE_DIR: path.join(root, 'state'),
    CAPDECK_CACHE_DIR: path.join(root, 'cache'), CAPDECK_DATA_DIR: path.join(root, 'data'),
  };
  const capdeck = (...words) =>
    JSON.parse(execFileSync('capdeck', [...words, '--json'], { env, cwd: path.join(root, 'project'), encoding: 'utf8' }));
  return { root, env, capdeck };
}

// `capdeck up` on a port of its own.
async function startHost({ env, root }) {
  const child = spawn('capdeck', ['up', '--port', '0', '--json'], { env, cwd: path.join(root, 'project'), stdio: ['ignore', 'pipe', 'inherit'] });
  for await (const line of readline.createInterface({ input: child.stdout })) return { child, url: JSON.parse(line).url };
  throw new Error('the host did not start');
}

// What the agent's own start of the server leads to.
async function listTools(server, place) {
  const folder = path.join(place.root, 'project');
  const transport = server.url
    ? new StreamableHTTPClientTransport(new URL(server.url))
    : new StdioClientTransport({ command: server.program, args: server.args, env: { ...place.env, ...server.env }, cwd: folder });
  const client = new Client({ name: 'agent', version: '1' });
  await client.connect(transport);
  try {
    return (await client.listTools()).tools.map((tool) => tool.name);
  } finally {
    await client.close();
  }
}

async function checkAgent(agent, place, url) {
  const golden = path.join(here, 'golden', agent.id, `before${path.extname(agent.file)}`);
  const file = path.join(place.root, agent.file);
  const before = fs.readFileSync(golden);
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, before);
  const scope = agent.scope ? ['--scope', agent.scope] : [];
  for (const [words, transport] of [[[], 'program'], [['--url', url], 'url']]) {
    const [item] = place.capdeck('connect', agent.id, ...scope, ...words).items;
    assert.equal(item.file, file);
    const [again] = place.capdeck('connect', agent.id, ...scope, ...words).items;
    assert.equal(again.change, 'none');
    const config = agent.parse(fs.readFileSync(file, 'utf8'));
    const server = agent.read(agent.server(config), path.join(place.root, 'project'));
    if (transport === 'url') assert.ok(server.url || server.args[0] === 'attach', 'it leads to the running host');
    const tools = await listTools(server, place);
    assert.ok(tools.some((name) => name.includes('say')), `${transport}: the tools are ${tools}`);
  }
  const listed = place.capdeck('connect', '--list').items.filter((item) => item.status === 'connected');
  assert.deepEqual(listed.map((item) => item.file), [file]);
  place.capdeck('disconnect', agent.id);
  assert.deepEqual(fs.readFileSync(file), before, 'the file is as it was');
}

let failed = 0;
for (const agent of AGENTS) {
  const place = makePlace();
  process.env.PATH = place.env.PATH;
  const { child, url } = await startHost(place);
  try {
    await checkAgent(agent, place, url);
    console.log(`passed  ${agent.id}`);
  } catch (error) {
    failed += 1;
    console.log(`FAILED  ${agent.id}\n        ${String(error.stack).replaceAll('\n', '\n        ')}`);
  } finally {
    child.kill();
    fs.rmSync(place.root, { recursive: true, force: true });
  }
}
console.log(`${AGENTS.length - failed} passed, ${failed} failed, 0 skipped`);
process.exit(failed === 0 ? 0 : 1);
