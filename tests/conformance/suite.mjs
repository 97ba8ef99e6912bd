// The official suite: what it requires, and running it against a server.

import { mkdir, readdir, readFile } from 'node:fs/promises';
import path from 'node:path';

import { run } from './processes.mjs';

const folder = path.join(
  process.env.CAPDECK_TEST_DEPS,
  'node/node_modules/@modelcontextprotocol/conformance',
);
const program = path.join(folder, 'dist', 'index.js');

/** The revisions with a frozen list of requirements, and how many scenarios of a server count there. */
export const scoredScenarios = { '2025-11-25': 30, '2026-07-28': 37 };

/** Scenarios of extensions that no list of requirements names. */
const extensions = [
  'sep-2640-skills-enumeration',
  'sep-2640-skills-manifest',
  'sep-2640-skills-directory',
];

export async function version() {
  return JSON.parse(await readFile(path.join(folder, 'package.json'), 'utf8')).version;
}

/** The scenarios that count, from the suite's own list. */
export async function scoredNames(revision) {
  const text = await readFile(path.join(folder, 'requirements', `${revision}.yaml`), 'utf8');
  const section = /^server:\n((?: {2}- .*\n)+)/m.exec(text)?.[1] ?? '';
  const names = section.trim().split('\n').map((line) => line.replace(/^\s*- /, '').trim());
  if (names.length !== scoredScenarios[revision]) {
    throw new Error(`the suite requires ${names.length} scenarios for ${revision}`);
  }
  return names;
}

/** Runs everything a revision requires, and the extensions where they exist. Gives checks by scenario. */
export async function runRevision(url, revision, out) {
  const required = await invoke(url, ['--requirements', revision], path.join(out, 'required'));
  if (revision < '2026-07-28') return required;
  return new Map([...required, ...(await runScenarios(url, revision, extensions, out))]);
}

/** Runs some scenarios by name. */
export async function runScenarios(url, revision, names, out) {
  const found = new Map();
  // One after the other: some of them change what others look at.
  for (const name of names) {
    // Extensions belong to no revision, so the suite needs an explicit option.
    const args = ['--scenario', name, '--spec-version', revision, '--force'];
    for (const [key, checks] of await invoke(url, args, path.join(out, name))) found.set(key, checks);
  }
  return found;
}

async function invoke(url, args, out) {
  await mkdir(out, { recursive: true });
  const { output } = await run(process.execPath, [program, 'server', '--url', url, ...args, '-o', out]);
  const scenarios = await readChecks(out);
  if (scenarios.size === 0) throw new Error(`the suite ran nothing (${args.join(' ')}):\n${output}`);
  return scenarios;
}

async function readChecks(out) {
  const scenarios = new Map();
  for (const entry of await readdir(out)) {
    const name = /^server-(.*)-\d{4}-\d\d-\d\dT/.exec(entry)?.[1];
    if (!name) continue;
    const checks = JSON.parse(await readFile(path.join(out, entry, 'checks.json'), 'utf8'));
    scenarios.set(
      name,
      checks.map(({ id, status, errorMessage, description }) => ({
        id,
        status,
        reason: errorMessage ?? description,
      })),
    );
  }
  return scenarios;
}
