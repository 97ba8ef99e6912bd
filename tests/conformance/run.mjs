// Runs the server leg of the official conformance suite as a matrix and judges every run.
//
//   run.mjs             all of it
//   run.mjs LABEL…      only these rows of the matrix (see matrix.mjs), those that begin with a word, or `deck`
//   run.mjs --record    writes down how many checks the fixture alone and the deck pass now
//
// minimums.json holds those numbers, and by hand what of the scenarios that do not count is known to pass in a run
// where not all of it does.
//
// Needs CAPDECK and CAPDECK_CONFORMANCE_SERVER (the binaries), CAPDECK_TEST_DEPS and Node 22 or newer, as
// ./test.sh sets them. With CAPDECK_CONFORMANCE_JSON the result is also written to that file, from which
// render.mjs makes docs/reference/conformance.md.

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { excused } from './exceptions.mjs';
import { judge } from './judge.mjs';
import { cells, deck, everything } from './matrix.mjs';
import { stopAll } from './processes.mjs';
import { page, render } from './render.mjs';
import { asData, printProblems, printTable } from './report.mjs';
import { startBehindCapdeck, startFixture } from './servers.mjs';
import { runRevision, runScenarios, scoredNames, version } from './suite.mjs';

const minimums = fileURLToPath(new URL('./minimums.json', import.meta.url));

async function main(words) {
  const record = words.includes('--record');
  const labels = words.filter((word) => word !== '--record');
  const wanted = ({ label }) => labels.length === 0 || labels.includes(label) || labels.includes(label.split(' ')[0]);
  const recorded = JSON.parse(await readFile(minimums, 'utf8'));
  const sandbox = await mkdtemp(path.join(os.tmpdir(), 'capdeck-conformance-'));
  const runs = [];
  try {
    for (const cell of cells.filter(wanted)) runs.push(...(await runCell(cell, sandbox, recorded, record)));
    // Each SDK's server alone first, since that is the measure of what follows.
    const chains = everything.map((rows) => runEverything(rows.filter(wanted), sandbox));
    runs.push(...(await Promise.all(chains)).flat());
    if (wanted(deck)) runs.push(...(await runDeck(sandbox, recorded, record)));
  } finally {
    await stopAll();
    await rm(sandbox, { recursive: true, force: true, maxRetries: 3 });
  }
  if (runs.length === 0) throw new Error(`no run is called ${labels.join(' or ')}`);
  if (record) await writeFile(minimums, `${JSON.stringify(recorded, null, 2)}\n`);
  printTable(runs);
  printProblems(runs);
  const data = asData(await version(), runs);
  const target = process.env.CAPDECK_CONFORMANCE_JSON;
  if (target) await writeFile(target, JSON.stringify(data, null, 2));
  const failed = runs.filter((run) => run.problems.length > 0).length;
  const isCurrent = labels.length > 0 || failed > 0 || (await pageIsCurrent(data));
  console.log(`${runs.length - failed} passed, ${failed} failed, 0 skipped`);
  return failed === 0 && isCurrent ? 0 : 1;
}

/** The server of one SDK, alone and behind Capdeck: what counts and passes alone has to pass everywhere. */
async function runEverything(rows, sandbox) {
  const alone = {};
  const runs = [];
  for (const cell of rows) {
    const { server, folder } = await startCell(cell, sandbox);
    for (const revision of cell.revisions) {
      const scored = await scoredNames(revision);
      const all = await runRevision(server.url, revision, path.join(folder, `out-${revision}`));
      const found = new Map([...all].filter(([name]) => scored.includes(name)));
      if (!cell.transport) alone[revision] = counted(cell.label, revision, found);
      runs.push(judge({ label: cell.label, revision, found, scored, fewest: alone[revision] ?? {} }));
    }
    await server.stop();
  }
  return runs;
}

async function startCell(cell, sandbox) {
  const folder = path.join(sandbox, cell.label.replace(' ', '-'));
  const starting = cell.transport ? startBehindCapdeck(cell, folder) : startFixture(cell.fixture, cell.era);
  return { folder, server: await starting };
}

/** One row of the matrix: the same servers, once per revision. */
async function runCell(cell, sandbox, recorded, record) {
  const { server, folder } = await startCell(cell, sandbox);
  const runs = [];
  for (const revision of cell.revisions) {
    const found = await runRevision(server.url, revision, path.join(folder, `out-${revision}`));
    if (record && cell === cells[0]) recorded.fixture[revision] = counted(cell.label, revision, found);
    const scored = await scoredNames(revision);
    const fewest = recorded.fixture[revision] ?? {};
    const known = recorded.unscored[cell.label]?.[revision];
    runs.push(judge({ label: cell.label, revision, found, scored, fewest, known }));
  }
  await server.stop();
  return runs;
}

/** The deck's own endpoint, with the scenarios that need no names of a fixture. */
async function runDeck(sandbox, recorded, record) {
  const folder = path.join(sandbox, deck.label);
  const server = await startBehindCapdeck(deck.behind, folder);
  const runs = [];
  for (const [revision, names] of Object.entries(deck.scenarios)) {
    const out = path.join(folder, `out-${revision}`);
    const found = await runScenarios(server.deckUrl, revision, names, out);
    if (record) recorded.deck[revision] = counted(deck.label, revision, found);
    const scored = (await scoredNames(revision)).filter((name) => names.includes(name));
    const fewest = recorded.deck[revision] ?? {};
    runs.push(judge({ label: deck.label, revision, found, scored, fewest }));
  }
  await server.stop();
  return runs;
}

/** How many checks each scenario has here, with those that are excused. */
function counted(label, revision, found) {
  const count = (name, checks) =>
    checks.filter((check) => check.status === 'SUCCESS').length + excused(label, revision, name).size;
  return Object.fromEntries([...found].map(([name, checks]) => [name, count(name, checks)]));
}

async function pageIsCurrent(data) {
  const current = await readFile(page, 'utf8').catch(() => '');
  if (current === render(data)) return true;
  console.log('docs/reference/conformance.md is not what this run shows: make it again with render.mjs');
  return false;
}

process.exit(await main(process.argv.slice(2)));
