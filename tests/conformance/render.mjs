// Makes docs/reference/conformance.md from the result of a run.
//
//   CAPDECK_CONFORMANCE_JSON=result.json ./test.sh conformance
//   node tests/conformance/render.mjs result.json

import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

import { exceptions } from './exceptions.mjs';
import { passes } from './judge.mjs';
import { cells, deck, everything } from './matrix.mjs';

/** The page this makes. */
export const page = fileURLToPath(new URL('../../docs/reference/conformance.md', import.meta.url));

const fixtures = {
  rust: 'own',
  typescript: 'TypeScript SDK',
  'typescript-everything': 'TypeScript SDK, everything',
  'python-everything': 'Python SDK, everything',
};
const ways = { http: 'Capdeck, over HTTP', stdio: 'Capdeck, over stdio' };

/** The page as text. */
export function render({ suite, runs }) {
  return [
    '# Conformance',
    '',
    '<!-- Made by tests/conformance/render.mjs from a run of ./test.sh conformance. Do not edit. -->',
    '',
    `What the official conformance suite (\`@modelcontextprotocol/conformance\` ${suite}) says about Capdeck as a server.`,
    '',
    'The suite calls tools, prompts and resources by fixed names, so a *fixture* offers them. It is run against the fixture',
    'alone, which is made of Capdeck\'s own server half, and then through Capdeck at `/servers/fixture/mcp`, with the fixture',
    'forced to speak only one era. `2025-11-25` is the last legacy revision, `2026-07-28` the modern one; every client era meets',
    'every server era. Through `capdeck attach` there are two hosts on the way, and a bridge between them. *Scored* scenarios are those that a revision requires; the others are extensions and later additions.',
    'A scenario passes when something was checked and nothing failed.',
    '',
    'The *everything* servers are made with the SDKs and speak both eras as they come: that of the Python SDK is its own, that',
    'of the TypeScript SDK is written here, because its own is not published. Capdeck speaks to each in the era of the client.',
    '',
    '## Runs',
    '',
    ...runTable(runs),
    '',
    '## Scenarios that do not count',
    '',
    'Passed checks in each run. Tasks cross eras: a legacy server\'s are the extension to modern clients.',
    '',
    ...unscored(runs),
    '## The deck\'s own endpoint',
    '',
    'At `/mcp` the deck offers tools under names of its own, so only scenarios that need no fixture mean something there:',
    '',
    ...deckTable(runs),
    '',
    'Left out:',
    '',
    ...deck.leftOut.map(([names, reason]) => `- ${names}: ${reason}.`),
    '',
    '## Exceptions',
    '',
    ...exceptionList(),
    '',
  ].join('\n');
}

function runTable(runs) {
  const rows = [...cells, ...everything.flat()].flatMap((cell) =>
    cell.revisions.map((revision) => {
      const run = find(runs, cell.label, revision);
      const direct = cell.transport ? ways[cell.transport] : 'alone';
      const way = cell.attach ? 'Capdeck, through `capdeck attach`' : direct;
      return [way, fixtures[cell.fixture], cell.era, revision, `${run.scored.passed}/${run.scored.total}`, run.checks];
    }),
  );
  return table(['fixture reached', 'fixture', 'its era', 'client', 'scored', 'checks passed'], rows);
}

function unscored(runs) {
  const revisions = [...new Set(runs.map((run) => run.revision))];
  return revisions.flatMap((revision) => {
    const labels = cells.map((cell) => cell.label);
    const columns = runs.filter((run) => run.revision === revision && labels.includes(run.label));
    const names = Object.keys(columns[0].scenarios).filter((name) => !columns[0].scenarios[name].scored);
    const rows = names.map((name) => [`\`${name}\``, ...columns.map((run) => outcome(run.scenarios[name]))]);
    return [...table([`client ${revision}`, ...columns.map((run) => run.label)], rows), ''];
  });
}

function deckTable(runs) {
  const rows = runs
    .filter((run) => run.label === deck.label)
    .flatMap((run) =>
      Object.entries(run.scenarios).map(([name, scenario]) => [run.revision, `\`${name}\``, outcome(scenario)]),
    );
  return table(['client', 'scenario', 'checks passed'], rows);
}

function exceptionList() {
  if (exceptions.length === 0) return ['None.'];
  return exceptions.map(
    ({ runs, revision, scenario, checks, reason }) =>
      `- ${revision}, ${runs.join(', ')}: \`${scenario}\` (${checks.map((check) => `\`${check}\``).join(', ')}): ${reason}.`,
  );
}

function outcome(scenario) {
  if (scenario.passed === 0 && scenario.failing.length === 0) return 'nothing to check';
  if (passes(scenario)) return String(scenario.passed);
  const isExcused = scenario.failing.every((check) => check.excuse);
  return `${scenario.passed}, ${isExcused ? 'the rest is excused' : 'fails'}`;
}

function find(runs, label, revision) {
  const found = runs.find((run) => run.label === label && run.revision === revision);
  if (!found) throw new Error(`there is no run ${label}, ${revision}: run the whole matrix`);
  return found;
}

function table(heads, rows) {
  const line = (cells) => `| ${cells.join(' | ')} |`;
  return [line(heads), line(heads.map(() => '---')), ...rows.map(line)];
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await writeFile(page, render(JSON.parse(await readFile(process.argv[2], 'utf8'))));
}
