// The servers under test: the fixtures alone, and Capdeck in front of them.

import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { startServer } from './processes.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const typescript = path.join(here, '..', 'node', 'conformance-server.mjs');
const everything = {
  typescript: path.join(here, '..', 'node', 'everything-server.mjs'),
  python: path.join(here, '..', 'python', 'everything-server.py'),
};
const stdioOnly = (transport) => (transport === 'http' ? [] : ['--stdio']);

/** Fixtures: how each is started over HTTP and over stdio. */
const fixtures = {
  rust: {
    command: process.env.CAPDECK_CONFORMANCE_SERVER,
    args: (transport, era) => [...(transport === 'http' ? ['--http', '0'] : ['--stdio']), '--era', era],
    env: {},
  },
  typescript: {
    command: process.execPath,
    args: (transport) => [typescript, ...stdioOnly(transport)],
    env: { CAPDECK_TEST_DEPS: process.env.CAPDECK_TEST_DEPS },
  },
  'typescript-everything': {
    command: process.execPath,
    args: (transport) => [everything.typescript, ...stdioOnly(transport)],
    env: { CAPDECK_TEST_DEPS: process.env.CAPDECK_TEST_DEPS },
  },
  'python-everything': {
    command: path.join(process.env.CAPDECK_TEST_DEPS, 'venv', 'bin', 'python'),
    args: (transport) => [everything.python, ...stdioOnly(transport)],
    env: { CAPDECK_TEST_DEPS: process.env.CAPDECK_TEST_DEPS },
  },
};

/** A fixture on its own port. */
export function startFixture(name, era) {
  const { command, args, env } = fixtures[name];
  return startServer(command, args('http', era), { PATH: process.env.PATH, ...env });
}

/** Capdeck with the fixture behind it. `sandbox` is a new folder for everything it writes. */
export async function startBehindCapdeck({ attach, ...behind }, sandbox) {
  if (!attach) return startInFront(behind, sandbox);
  const host = await startInFront(behind, path.join(sandbox, 'host'));
  const args = ['attach', new URL(host.url).origin, '--only', 'fixture'];
  const folders = await makeFolders(path.join(sandbox, 'bridge'));
  const entry = { command: process.env.CAPDECK, args, env: folders, protocolEra: attach };
  return startCapdeck(entry, path.join(sandbox, 'front'), host.stop);
}

async function startInFront({ fixture, era, transport }, sandbox) {
  if (transport === 'http') {
    const server = await startFixture(fixture, era);
    return startCapdeck({ transport: 'http', url: server.url }, sandbox, server.stop);
  }
  const { command, args, env } = fixtures[fixture];
  return startCapdeck({ command, args: args('stdio', era), env }, sandbox);
}

/** Folders of its own for a Capdeck, as the environment that leads to them. */
async function makeFolders(sandbox) {
  const folder = (name) => path.join(sandbox, name);
  for (const name of ['config', 'state', 'cache', 'data', 'home']) {
    await mkdir(folder(name), { recursive: true });
  }
  return {
    HOME: folder('home'),
    CAPDECK_CONFIG_DIR: folder('config'),
    CAPDECK_STATE_DIR: folder('state'),
    CAPDECK_CACHE_DIR: folder('cache'),
    CAPDECK_DATA_DIR: folder('data'),
  };
}

async function startCapdeck(entry, sandbox, stopBehind = async () => {}) {
  const folders = await makeFolders(sandbox);
  const server = { name: 'Conformance fixture', description: 'What the official suite calls', ...entry };
  const config = { mcpServers: { fixture: server } };
  await writeFile(path.join(folders.CAPDECK_CONFIG_DIR, 'config.json'), JSON.stringify(config));
  const env = { PATH: process.env.PATH, ...folders, NO_COLOR: '1' };
  const args = ['up', '--port', '0', '--json', '--quiet'];
  const host = await startServer(process.env.CAPDECK, args, env);
  const { origin } = new URL(host.url);
  const stop = async () => {
    await host.stop();
    await stopBehind();
  };
  return { url: `${origin}/servers/fixture/mcp`, deckUrl: `${origin}/mcp`, stop };
}
