// Real agents, each driven through a whole conversation by a scripted model: `capdeck connect` writes the agent's file, the
// agent starts Capdeck or reaches a running one, the model calls, and `capdeck disconnect` leaves the file as it was.
//
//     node tests/agents/run.mjs [WORD…]       only runs whose label has every word
//     CAPDECK_UPDATE_DOCS=1 …                 writes docs/reference/agents.md
//
// Ends with `N passed, N failed, N skipped` and exits with 1 when one failed. Needs CAPDECK (the binary) and
// CAPDECK_TEST_DEPS, as ./test.sh sets them.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

import { AGENTS } from './agents.mjs';
import { startModel } from './model.mjs';
import { page, PAGE } from './page.mjs';
import { makePlace, startHost } from './place.mjs';
import { directScriptOf, isOurs, scriptOf } from './walk.mjs';

// An agent that waits for what never comes is stopped; no run comes near it.
const TIME_LIMIT_MS = 240_000;

const WAYS = [
  { way: 'stdio', deck: 'notes', words: [], script: scriptOf },
  { way: 'http', deck: 'notes', words: [], script: scriptOf, isHttp: true },
  { way: 'direct', deck: 'store', words: ['--exposure', 'direct'], script: directScriptOf },
];

function runAgent(agent, place, model) {
  const [program, ...args] = agent.command(model.url, place);
  const env = { ...place.env, ...agent.env(model.url, place) };
  const child = spawn(program, args, { env, cwd: place.project, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => { said += data; });
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => process.kill(-child.pid, 'SIGKILL'), TIME_LIMIT_MS);
    child.on('error', reject);
    child.on('close', (code) => {
      clearTimeout(timer);
      resolve({ code, said });
    });
  });
}

async function drive(agent, way) {
  const place = makePlace(way.deck);
  const outcome = { agent, way, steps: {}, tools: [] };
  const context = { agent, place };
  const isConversation = (turn) => turn.tools.some((tool) => isOurs(tool, agent));
  const model = await startModel({ isConversation, script: way.script(context, outcome) });
  const host = way.isHttp ? await startHost(place) : undefined;
  try {
    const before = typeof agent.before === 'function' ? agent.before(model.url) : agent.before;
    const file = path.join(place.root, agent.config);
    place.write(agent.config, before);
    const transport = host ? ['--url', host.url] : way.words;
    await place.capdeck('connect', ...agent.client, ...transport);
    const { code, said } = await runAgent(agent, place, model);
    outcome.said = said;
    const last = model.log.slice(-3).map((one) => `${one.url ?? one.error?.stack} ${one.isMain ?? ''} ${one.turn?.tools.length ?? ''}`).join('\n');
    if (!outcome.isOver) outcome.steps.end = `the conversation did not end (exit code ${code})\n${last}\n${said.slice(-3000)}`;
    await place.capdeck('disconnect', agent.client[0]);
    const after = fs.readFileSync(file, 'utf8');
    // An agent that keeps its state in the same file writes it in between: then only the entry goes.
    if (!agent.isRewritten) assert.equal(after, before, 'the file is as it was');
    else assert.ok(!JSON.parse(after).mcpServers?.capdeck, 'the entry is gone');
    outcome.steps.disconnect = 'passed';
  } catch (error) {
    outcome.steps.disconnect = String(error.stack);
  } finally {
    host?.close();
    model.close();
    if (process.env.CAPDECK_AGENTS_LOG) {
      const name = path.join(process.env.CAPDECK_AGENTS_LOG, `${agent.id}-${way.way}.json`);
      fs.writeFileSync(name, JSON.stringify({ log: model.log, said: outcome.said, steps: outcome.steps }, null, 1));
    }
    place.remove();
  }
  return outcome;
}

const words = process.argv.slice(2);
const runs = AGENTS.flatMap((agent) => WAYS.map((way) => ({ agent, way })))
  .filter(({ agent, way }) => words.every((word) => `${agent.id} ${way.way}`.includes(word)));
const isWhole = words.length === 0;

const outcomes = [];
async function work() {
  for (let next = runs.shift(); next; next = runs.shift()) {
    const started = Date.now();
    const outcome = await drive(next.agent, next.way);
    outcomes.push(outcome);
    const failures = Object.entries(outcome.steps).filter(([, said]) => said !== 'passed');
    const label = `${next.agent.id} ${next.way.way} (${Math.round((Date.now() - started) / 1000)} s)`;
    console.log(`${failures.length === 0 ? 'passed ' : 'FAILED '} ${label}`);
    for (const [step, said] of failures) console.log(`        ${step}: ${said.slice(0, 3000).replaceAll('\n', '\n        ')}`);
  }
}
await Promise.all([work(), work()]);
let failed = outcomes.filter((outcome) => Object.values(outcome.steps).some((said) => said !== 'passed')).length;
if (isWhole && failed === 0) {
  const text = page(AGENTS, WAYS, outcomes);
  if (process.env.CAPDECK_UPDATE_DOCS) fs.writeFileSync(PAGE, text);
  else if (!fs.existsSync(PAGE) || fs.readFileSync(PAGE, 'utf8') !== text) {
    failed += 1;
    console.log('FAILED  docs/reference/agents.md says something else; write it with CAPDECK_UPDATE_DOCS=1');
  }
}
console.log(`${outcomes.length - failed} passed, ${failed} failed, 0 skipped`);
process.exit(failed === 0 ? 0 : 1);
