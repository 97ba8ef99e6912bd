// The first five minutes of a user who has three agents and a file of servers: a fresh home, nothing in the caches of npm
// and uv, five servers of Claude Desktop taken over, checked, offered to three agents, called by each in its own way, and
// all undone. What the commands print is compared with the first example of the README, with numbers left out; with
// CAPDECK_UPDATE_DOCS=1 it is written there.
// Ends with `N passed, N failed, 0 skipped`, after the time that each step took.
//
// Needs CAPDECK (the binary), CAPDECK_TEST_DEPS and UVX (the program), as ./test.sh sets them.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { AGENTS } from './agents.mjs';
import { Client, StdioClientTransport } from './installed.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const readmeFile = path.join(here, '..', '..', 'README.md');
const readme = fs.readFileSync(readmeFile, 'utf8');

// Passed to every process: what a machine needs to reach its package registries.
const NETWORK = /^(SSL_CERT_|NODE_EXTRA_CA_CERTS|[a-z]*_proxy$)/i;

const CACHES = ['.npm', '.cache/uv', '.local/share/uv', '.local/bin'];

const root = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'capdeck-first-hour-')));
const home = path.join(root, 'home');
const project = path.join(home, 'code', 'shop');
const bin = path.join(root, 'bin');

function makePlace() {
  for (const folder of [path.join(project, '.git'), bin]) fs.mkdirSync(folder, { recursive: true });
  fs.symlinkSync(path.resolve(process.env.CAPDECK), path.join(bin, 'capdeck'));
  for (const tool of ['uv', 'uvx']) fs.symlinkSync(path.join(path.dirname(process.env.UVX), tool), path.join(bin, tool));
  execFileSync('git', ['init', '--quiet', project]);
  // The registries that this machine is set up for.
  for (const file of ['.npmrc', '.config/uv/uv.toml']) {
    const settings = path.join(os.homedir(), file);
    if (!fs.existsSync(settings)) continue;
    fs.mkdirSync(path.dirname(path.join(home, file)), { recursive: true });
    fs.copyFileSync(settings, path.join(home, file));
  }
  write('.config/Claude/claude_desktop_config.json', JSON.stringify({
    mcpServers: {
      everything: { command: 'npx', args: ['-y', '@modelcontextprotocol/server-everything@2026.8.31'] },
      memory: { command: 'npx', args: ['-y', '@modelcontextprotocol/server-memory@2026.8.31'], env: { MEMORY_FILE_PATH: path.join(home, 'memory.jsonl') } },
      files: { command: 'npx', args: ['-y', '@modelcontextprotocol/server-filesystem@2026.8.31', project] },
      time: { command: 'uvx', args: ['mcp-server-time@2026.10.19'] },
      git: { command: 'uvx', args: ['mcp-server-git@2026.10.19', '--repository', project] },
    },
  }, null, 2));
  // Each agent has settings of its own, as it left them.
  for (const agent of agents) {
    const golden = path.join(here, 'golden', agent.id, `before${path.extname(agent.file)}`);
    write(agent.file.replace(/^home\//, '').replace(/^project\//, 'code/shop/'), fs.readFileSync(golden));
  }
}

function write(file, content) {
  fs.mkdirSync(path.dirname(path.join(home, file)), { recursive: true });
  fs.writeFileSync(path.join(home, file), content);
}

const agents = ['claude-code', 'cursor', 'codex'].map((id) => {
  const agent = AGENTS.find((known) => known.id === id);
  return id === 'cursor' ? { ...agent, file: 'home/.cursor/mcp.json', scope: undefined } : agent;
});
const fileOf = (agent) => path.join(home, agent.file.replace(/^home\//, '').replace(/^project\//, 'code/shop/'));

const env = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => NETWORK.test(name))),
  PATH: [bin, path.dirname(process.execPath), ...process.env.PATH.split(':')].join(':'),
  HOME: home, NO_COLOR: '1', LANG: 'C.UTF-8', COLUMNS: '120',
};

// What a person sees: both outputs, in order.
const capdeck = (...words) => execFileSync('sh', ['-c', 'exec capdeck "$@" 2>&1', 'sh', ...words], { env, cwd: project, encoding: 'utf8' });

// Every file below the home and its hash, without the caches of the package managers.
function contents() {
  const files = new Map();
  const walk = (folder) => {
    for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
      const file = path.join(folder, entry.name);
      if (CACHES.includes(path.relative(home, file))) continue;
      if (entry.isDirectory()) walk(file);
      else files.set(path.relative(home, file), entry.isFile() ? createHash('sha256').update(fs.readFileSync(file)).digest('hex') : 'special');
    }
  };
  walk(home);
  return Object.fromEntries([...files].sort());
}

// An agent starts what stands in its own file, and asks for the time in Tokyo in its own way.
async function asAgent(agent, use) {
  const server = agent.read(agent.server(agent.parse(fs.readFileSync(fileOf(agent), 'utf8'))), project);
  const transport = new StdioClientTransport({ command: server.program, args: server.args, env: { ...env, ...server.env }, cwd: project });
  const client = new Client({ name: agent.id, version: '1' });
  await client.connect(transport);
  try {
    const { tools } = await client.listTools();
    const call = async (name, args) => {
      const result = await client.callTool({ name, arguments: args });
      assert.ok(!result.isError, `${name}: ${JSON.stringify(result.content)}`);
      return result;
    };
    return await use(call, tools.map((tool) => tool.name));
  } finally {
    await client.close();
  }
}

const tokyo = { timezone: 'Asia/Tokyo' };
const isTokyo = (text) => assert.match(text, /Asia\/Tokyo/);

const WAYS = {
  // Searches, and calls what it found.
  'claude-code': async (call) => {
    const found = await call('search', { query: 'what time is it in tokyo' });
    // Its model reads text: a signature on the first line.
    const [name] = found.content[0].text.split('(');
    isTokyo(JSON.stringify((await call('call_tool', { name, data: tokyo })).content));
  },
  // Has every tool in its list.
  cursor: async (call, names) => {
    const name = names.find((listed) => listed.endsWith('get_current_time'));
    assert.ok(name, `listed: ${names}`);
    isTokyo(JSON.stringify((await call(name, tokyo)).content));
  },
  // Writes code.
  codex: async (call) => {
    const ran = await call('code_mode', { code: 'return await caplets.time.get_current_time({ timezone: "Asia/Tokyo" })' });
    assert.equal(ran.structuredContent.ok, true, JSON.stringify(ran.structuredContent));
    isTokyo(JSON.stringify(ran.structuredContent.value));
  },
};

const times = [];
let failed = 0;
async function step(name, run) {
  const started = performance.now();
  try {
    await run();
    times.push([name, performance.now() - started]);
    console.log(`passed  ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`FAILED  ${name}\n        ${String(error.stack).replaceAll('\n', '\n        ')}${error.stdout ?? ''}`);
  }
}

const [, block] = /```shell-session\n([^]*?)\n```/.exec(readme);

// The commands and outputs of the README's first example.
function example() {
  return block.split(/^\$ /m).slice(1).map((part) => {
    const [command, ...output] = part.split('\n');
    return { command, output: output.join('\n').trim() };
  });
}

// Numbers and the widths of columns are not compared.
const shape = (text) => text.replace(/\d[\d,.]*/g, 'N').replace(/[ ─]+/g, ' ').trim();

makePlace();
const before = contents();
const session = [];
try {
  for (const { command, output } of example()) {
    await step(`$ ${command}`, () => {
      const words = command.replaceAll('~', home).split(' ').slice(1);
      const printed = capdeck(...words).replaceAll(home, '~').replaceAll(/ +$/gm, '').trim();
      session.push(`$ ${command}\n${printed}`);
      console.log(printed.replace(/^/gm, '        '));
      if (!process.env.CAPDECK_UPDATE_DOCS) assert.equal(shape(printed), shape(output));
    });
  }
  await step('cursor gets the list of all tools', () => capdeck('connect', 'cursor', '--exposure', 'direct', '--force'));
  for (const agent of agents) {
    await step(`${agent.id} asks for the time in Tokyo`, () => asAgent(agent, WAYS[agent.id]));
  }
  await step('all is undone', () => {
    capdeck('disconnect', '--all');
    for (const agent of agents) {
      const file = path.relative(home, fileOf(agent));
      assert.equal(contents()[file], before[file], `${file} is as it was`);
    }
    capdeck('remove', 'git');
    assert.ok(!JSON.parse(capdeck('list', '--json')).items.some((item) => item.id === 'git'));
    capdeck('uninstall', '--yes');
    assert.deepEqual(contents(), before);
  });
  if (process.env.CAPDECK_UPDATE_DOCS) fs.writeFileSync(readmeFile, readme.replace(block, () => session.join('\n')));
} finally {
  fs.rmSync(root, { recursive: true, force: true });
}
for (const [name, time] of times) console.log(`${(time / 1000).toFixed(1).padStart(6)} s  ${name}`);
console.log(`${times.length} passed, ${failed} failed, 0 skipped`);
process.exit(failed === 0 ? 0 : 1);
