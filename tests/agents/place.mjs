// A home, a project and a deck for one run of one agent, with nothing in them from this machine.

import { execFile, execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import readline from 'node:readline';
import { promisify } from 'node:util';

const binary = path.resolve(process.env.CAPDECK);
const fakeServer = path.join(path.dirname(binary), 'fake-mcp-server');
const run = promisify(execFile);

const tool = (name, description, properties, more) => ({
  name, description,
  inputSchema: { type: 'object', properties, required: Object.keys(properties), additionalProperties: false },
  ...more,
});

const TEXT = { type: 'string' };

const NOTES = {
  name: 'notes',
  behaviours: false,
  everything: false,
  extraTools: [
    tool('find_notes', 'Finds notes by their words.', { words: TEXT }, { annotations: { readOnlyHint: true } }),
    tool('add_note', 'Writes a note.', { title: TEXT, pages: { type: 'integer' } }, { annotations: { readOnlyHint: false, destructiveHint: false } }),
    tool('delete_note', 'Deletes a note.', { title: TEXT }, { annotations: { destructiveHint: true } }),
    tool('change_tools', 'Installs a tool for notes under a name.', { name: TEXT }, { annotations: { readOnlyHint: false, destructiveHint: false } }),
  ],
};

export const LINES = 3000;
export const line = (number) => `entry ${String(number).padStart(4, '0')}: nothing happened`;
const JOURNAL = Array.from({ length: LINES }, (_, index) => line(index + 1)).join('\n');

const server = (plan) => ({ command: fakeServer, args: ['--plan', JSON.stringify(plan)] });

const DECKS = {
  notes: (root) => ({
    mcpServers: { notes: server(NOTES) },
    cliTools: {
      journal: {
        name: 'Journal', description: 'The journal of the ship.',
        actions: { read: { description: 'Reads the whole journal.', command: 'cat', args: [path.join(root, 'journal.txt')], annotations: { readOnlyHint: true } } },
      },
    },
  }),
  store: () => ({ mcpServers: { store: server({ name: 'store', behaviours: false, everything: false, tools: 1200 }) } }),
};

export function makePlace(deck) {
  const root = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'capdeck-agents-')));
  for (const folder of ['home/.config/capdeck', 'project', 'bin', 'tmp']) fs.mkdirSync(path.join(root, folder), { recursive: true });
  fs.symlinkSync(binary, path.join(root, 'bin', 'capdeck'));
  // Codex makes no helpers below the folder for temporary files, and says so.
  const project = path.join(root, 'project');
  execFileSync('git', ['init', '--quiet', project], { stdio: 'ignore', env: { PATH: process.env.PATH, HOME: root } });
  fs.writeFileSync(path.join(root, 'journal.txt'), `${JOURNAL}\n`);
  fs.writeFileSync(path.join(root, 'home/.config/capdeck/config.json'), JSON.stringify(DECKS[deck](root)));
  const env = {
    PATH: [path.join(root, 'bin'), path.dirname(process.execPath), '/usr/local/bin', '/usr/bin', '/bin'].join(':'),
    HOME: path.join(root, 'home'), TMPDIR: path.join(root, 'tmp'), LANG: 'C.UTF-8', NO_COLOR: '1', SHELL: '/bin/sh', TERM: 'dumb', CI: '1',
    // Nothing but loopback is reached, and an attempt fails at once.
    HTTPS_PROXY: 'http://127.0.0.1:9', HTTP_PROXY: 'http://127.0.0.1:9', NO_PROXY: '127.0.0.1,localhost',
    https_proxy: 'http://127.0.0.1:9', http_proxy: 'http://127.0.0.1:9', no_proxy: '127.0.0.1,localhost',
  };
  const place = {
    root, project, env, home: env.HOME,
    capdeck: async (...words) => JSON.parse((await run('capdeck', [...words, '--json'], { env, cwd: project })).stdout),
    write: (file, text) => {
      fs.mkdirSync(path.dirname(path.join(root, file)), { recursive: true });
      fs.writeFileSync(path.join(root, file), text);
    },
    remove: () => fs.rmSync(root, { recursive: true, force: true }),
  };
  return place;
}

// `capdeck up` on a port of its own.
export async function startHost({ env, project }) {
  const child = spawn('capdeck', ['up', '--port', '0', '--json'], { env, cwd: project, stdio: ['ignore', 'pipe', 'inherit'] });
  for await (const text of readline.createInterface({ input: child.stdout })) {
    return { url: JSON.parse(text).url, close: () => child.kill() };
  }
  throw new Error('the host did not start');
}
