// Runs the client leg of the official conformance suite with Capdeck as the client, for both revisions.
//
// Every scored scenario must pass with at least as many passed checks as listed here: a scenario that checks nothing
// passes in the suite's own eyes. Scenarios that are not scored are run and shown with their result.
//
// Needs CAPDECK (the binary), CAPDECK_TEST_DEPS and Node 22 or newer, as ./test.sh sets them.

import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const here = path.dirname(fileURLToPath(import.meta.url));
const driver = path.join(here, 'client.mjs');
const suiteFolder = path.join(
  process.env.CAPDECK_TEST_DEPS,
  'node/node_modules/@modelcontextprotocol/conformance',
);
const scoredCounts = { '2025-11-25': 18, '2026-07-28': 32 };
const fewest = JSON.parse(await readFile(path.join(here, 'client-checks.json'), 'utf8'));
// A scenario is a host, a driver and a server. More of them at once would disturb those that measure time.
const atOnce = 2;
const timeout = 90_000;

/** The scenarios that count, and those that do not, from the suite's own list. */
async function scenarios(revision) {
  const text = await readFile(path.join(suiteFolder, 'requirements', `${revision}.yaml`), 'utf8');
  const section = /^client:\n((?: {2}- .*\n)+)/m.exec(text)?.[1] ?? '';
  const scored = section.trim().split('\n').map((line) => line.replace(/^\s*- /, '').trim());
  const others = [...text.matchAll(/^ {2}- scenario: (\S+)\n {4}leg: client$/gm)].map((match) => match[1]);
  return { scored, others };
}

/** Runs one scenario by itself; gives its passed checks, its failures, and its output. */
async function runScenario(name, revision, sandbox) {
  const folder = path.join(sandbox, revision, name.replaceAll('/', '-'));
  await mkdir(folder, { recursive: true });
  const program = path.join(suiteFolder, 'dist', 'index.js');
  const command = `${process.execPath} ${driver}`;
  const args = [program, 'client', '--command', command, '--scenario', name, '--spec-version', revision];
  args.push('--force', '--timeout', String(timeout), '-o', folder);
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (output += data));
  const code = await new Promise((resolve) => child.once('close', resolve));
  const checks = await readChecks(folder);
  // Some checks repeat with every request, and how many there are is no one's promise: each counts once.
  const good = checks.filter((check) => check.status === 'SUCCESS');
  const succeeded = new Set(good.map((check) => `${check.id} ${check.name}`));
  const bad = checks.filter((check) => ['FAILURE', 'WARNING'].includes(check.status));
  const reasons = bad.map((check) => `${check.id}: ${check.errorMessage ?? check.description}`);
  return { code, passed: succeeded.size, reasons, output };
}

async function readChecks(folder) {
  const files = await readdir(folder, { recursive: true });
  const file = files.find((name) => path.basename(name) === 'checks.json');
  return file ? JSON.parse(await readFile(path.join(folder, file), 'utf8')) : [];
}

/** True when the suite is content, and something was checked. */
function passes(result, expected) {
  return result.code === 0 && result.reasons.length === 0 && result.passed >= expected;
}

async function runRevision(revision, sandbox) {
  const { scored, others } = await scenarios(revision);
  const rows = [...scored, ...others].map((name) => ({ name, isScored: scored.includes(name) }));
  const waiting = [...rows];
  const work = async () => {
    for (let row = waiting.shift(); row; row = waiting.shift()) {
      const result = await runScenario(row.name, revision, sandbox);
      const expected = (row.isScored && fewest[revision]?.[row.name]) || 1;
      Object.assign(row, result, { expected, good: passes(result, expected) });
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  show(revision, rows);
  const good = rows.filter((row) => row.isScored && row.good).length;
  return { good, all: scored.length, complete: scored.length === scoredCounts[revision] };
}

function show(revision, rows) {
  const width = Math.max(...rows.map((row) => row.name.length));
  console.log(`\nclient, ${revision}\n${'scenario'.padEnd(width)}  scored  checks  result`);
  for (const { name, isScored, passed, good, expected, code, reasons, output } of rows) {
    const cells = [name.padEnd(width), (isScored ? 'yes' : 'no').padEnd(6), String(passed).padStart(6)];
    console.log(`${cells.join('  ')}  ${good ? 'passed' : 'FAILED'}`);
    if (good || !isScored) continue;
    for (const reason of reasons) console.log(`    ${reason}`);
    if (passed < expected) console.log(`    ${passed} checks passed, ${expected} are known`);
    if (reasons.length === 0) console.log(`    ended with ${code}:\n${output.slice(-2000)}`);
  }
}

async function main() {
  const sandbox = await mkdtemp(path.join(os.tmpdir(), 'capdeck-client-leg-'));
  try {
    let isWhole = true;
    for (const revision of Object.keys(scoredCounts)) {
      const { good, all, complete } = await runRevision(revision, sandbox);
      console.log(`${good} of ${all} scored scenarios pass`);
      isWhole &&= complete && good === all;
    }
    return isWhole ? 0 : 1;
  } finally {
    await rm(sandbox, { recursive: true, force: true, maxRetries: 3 });
  }
}

process.exit(await main());
