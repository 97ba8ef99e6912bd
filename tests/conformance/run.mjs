// Runs the official conformance suite against the fixture server alone, then through Capdeck.
//
// Capdeck stands in front of the fixture once over HTTP and once over stdio. Every scenario that counts
// must pass, and no scenario may have fewer passed checks than the fixture alone has: a check that no
// longer runs would be a loss that a percentage hides.
//
// Needs CAPDECK (the binary), CAPDECK_TEST_DEPS and Node 22 or newer, as ./test.sh sets them.

import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const here = path.dirname(fileURLToPath(import.meta.url));
const fixture = path.join(here, '..', 'node', 'conformance-server.mjs');
const suiteFolder = path.join(
  process.env.CAPDECK_TEST_DEPS,
  'node/node_modules/@modelcontextprotocol/conformance',
);
const revision = '2025-11-25';
const scoredScenarios = 30;
// Fewer than the fixture has ever had means that the suite did not really run.
const fewestChecks = 84;
// One tool of the fixture closes its own stream in the middle of a call, to see whether clients come back.
// On pipes the fixture has no stream to close, so that one check has no subject there.
const withoutStreams = new Map([['server-sse-polling', 1]]);
const patience = 60_000;

const children = new Set();

/** Starts a program and gives the first line of its stdout that is JSON with a `url`. */
async function startAndFindUrl(command, args, env) {
  const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
  children.add(child);
  const lines = createInterface({ input: child.stdout });
  return new Promise((resolve, reject) => {
    const giveUp = (why) => reject(new Error(`${command} ${args.join(' ')}: ${why}`));
    const timer = setTimeout(() => giveUp('said no address in time'), patience);
    timer.unref();
    child.once('error', (error) => giveUp(error.message));
    child.once('exit', (code) => giveUp(`ended with ${code} before it said its address`));
    lines.on('line', (line) => {
      const url = /http:\/\/127\.0\.0\.1:\d+(\/mcp)?/.exec(line)?.[0];
      if (url) resolve(url);
    });
  });
}

/** Runs the suite; gives passed and failed checks by scenario, and its last lines. */
async function runSuite(url, folder) {
  const program = path.join(suiteFolder, 'dist', 'index.js');
  const args = [program, 'server', '--url', url, '--requirements', revision, '-o', folder];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  children.add(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (output += data));
  const code = await new Promise((resolve) => child.once('close', resolve));
  children.delete(child);
  return { code, output, scenarios: await readChecks(folder) };
}

async function readChecks(folder) {
  const scenarios = new Map();
  for (const run of await readdir(folder)) {
    const name = /^server-(.*)-\d{4}-\d\d-\d\dT/.exec(run)?.[1];
    if (!name) continue;
    const checks = JSON.parse(await readFile(path.join(folder, run, 'checks.json'), 'utf8'));
    const count = (...states) => checks.filter((check) => states.includes(check.status)).length;
    const failures = checks.filter((check) => ['FAILURE', 'WARNING'].includes(check.status));
    const reasons = failures.map((check) => `${check.id}: ${check.errorMessage ?? check.description}`);
    scenarios.set(name, { passed: count('SUCCESS'), failed: count('FAILURE'), reasons });
  }
  return scenarios;
}

/** The scenarios that count, from the suite's own list. */
async function scoredNames() {
  const text = await readFile(path.join(suiteFolder, 'requirements', `${revision}.yaml`), 'utf8');
  const section = /^server:\n((?: {2}- .*\n)+)/m.exec(text)?.[1] ?? '';
  return section.trim().split('\n').map((line) => line.replace(/^\s*- /, '').trim());
}

async function withCapdeck(sandbox, label, entry) {
  const folder = (name) => path.join(sandbox, label, name);
  for (const name of ['config', 'state', 'cache', 'data', 'home']) {
    await mkdir(folder(name), { recursive: true });
  }
  const server = { name: 'Conformance fixture', description: 'What the official suite calls', ...entry };
  const config = { mcpServers: { fixture: server } };
  await writeFile(path.join(folder('config'), 'config.json'), JSON.stringify(config));
  const env = {
    PATH: process.env.PATH,
    HOME: folder('home'),
    CAPDECK_CONFIG_DIR: folder('config'),
    CAPDECK_STATE_DIR: folder('state'),
    CAPDECK_CACHE_DIR: folder('cache'),
    CAPDECK_DATA_DIR: folder('data'),
    NO_COLOR: '1',
  };
  const url = await startAndFindUrl(process.env.CAPDECK, ['up', '--port', '0', '--json', '--quiet'], env);
  return `${new URL(url).origin}/servers/fixture/mcp`;
}

function judge(label, run, alone, scored, mayMiss) {
  const problems = [];
  const passing = scored.filter((name) => {
    const scenario = run.scenarios.get(name);
    return scenario && scenario.failed === 0 && scenario.passed > 0;
  });
  if (passing.length !== scoredScenarios) {
    problems.push(`${passing.length} of ${scoredScenarios} scored scenarios pass`);
  }
  for (const [name, expected] of alone.scenarios) {
    const got = run.scenarios.get(name) ?? { passed: 0, failed: 0, reasons: ['did not run'] };
    const fewest = expected.passed - (mayMiss?.get(name) ?? 0);
    if (got.failed > 0 || got.passed < fewest) {
      const why = got.reasons.map((reason) => `\n      ${reason}`).join('');
      problems.push(`${name}: ${got.passed} of ${expected.passed} checks pass${why}`);
    }
  }
  if (problems.length > 0) console.log(`${label}:\n  ${problems.join('\n  ')}`);
  return problems.length === 0;
}

function table(names, runs) {
  const width = Math.max(...names.map((name) => name.length));
  const heads = runs.map(([label]) => label);
  console.log(`${'scenario'.padEnd(width)}  ${heads.join('  ')}`);
  for (const name of names) {
    const cells = runs.map(([label, run]) => {
      const scenario = run.scenarios.get(name);
      const mark = scenario ? `${scenario.passed}${scenario.failed ? ` (${scenario.failed} failed)` : ''}` : '-';
      return mark.padStart(label.length);
    });
    console.log(`${name.padEnd(width)}  ${cells.join('  ')}`);
  }
  const totals = runs.map(([label, run]) => String(total(run)).padStart(label.length));
  console.log(`${'all checks'.padEnd(width)}  ${totals.join('  ')}`);
}

function total(run) {
  return [...run.scenarios.values()].reduce((sum, scenario) => sum + scenario.passed, 0);
}

async function main() {
  const sandbox = await mkdtemp(path.join(os.tmpdir(), 'capdeck-conformance-'));
  try {
    const output = async (name) => {
      const folder = path.join(sandbox, `out-${name}`);
      await mkdir(folder);
      return folder;
    };
    const scored = await scoredNames();
    const direct = await startAndFindUrl(process.execPath, [fixture], process.env);
    const alone = await runSuite(direct, await output('alone'));
    const overHttp = await runSuite(
      await withCapdeck(sandbox, 'http', { transport: 'http', url: direct }),
      await output('http'),
    );
    const env = { CAPDECK_TEST_DEPS: process.env.CAPDECK_TEST_DEPS };
    const overStdio = await runSuite(
      await withCapdeck(sandbox, 'stdio', { command: process.execPath, args: [fixture, '--stdio'], env }),
      await output('stdio'),
    );
    const runs = [
      ['fixture alone', alone],
      ['Capdeck, HTTP fixture', overHttp],
      ['Capdeck, stdio fixture', overStdio, withoutStreams],
    ];
    table([...alone.scenarios.keys()].sort(), runs);
    const fixtureIsWhole = scored.length === scoredScenarios && total(alone) >= fewestChecks;
    if (!fixtureIsWhole) console.log(`the fixture alone has ${total(alone)} checks:\n${alone.output}`);
    const verdicts = runs.map(([label, run, mayMiss]) => judge(label, run, alone, scored, mayMiss));
    const passed = verdicts.filter(Boolean).length;
    console.log(`${passed} passed, ${verdicts.length - passed} failed, 0 skipped`);
    return fixtureIsWhole && passed === verdicts.length ? 0 : 1;
  } finally {
    for (const child of children) child.kill();
    await rm(sandbox, { recursive: true, force: true, maxRetries: 3 });
  }
}

process.exit(await main());
