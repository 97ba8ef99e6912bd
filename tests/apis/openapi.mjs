// The GitHub REST description through Capdeck: imported whole, and every operation called twice against a server that checks
// the requests with another implementation of OpenAPI.
//
//   node tests/apis/openapi.mjs [--figures FILE]
//
// Needs CAPDECK (the binary), CAPDECK_IMPORT (the example program that only imports) and CAPDECK_TEST_DEPS, as ./test.sh
// sets them. The figures are printed, and written to the file as JSON.

import { execFileSync } from 'node:child_process';
import { statSync, writeFileSync } from 'node:fs';
import path from 'node:path';

import { generate } from './arguments.mjs';
import { Deck } from './deck.mjs';
import { startMock } from './openapi-mock.mjs';

const installed = path.join(process.env.CAPDECK_TEST_DEPS, 'apis', 'node_modules');
const description = path.join(installed, '@octokit', 'openapi', 'generated', 'api.github.com.json');
const callers = 8;

async function importWhole() {
  const mock = await startMock(description);
  const deck = new Deck({
    openapiEndpoints: {
      github: {
        name: 'GitHub',
        description: 'The GitHub REST API, as its own description has it',
        specPath: description,
        baseUrl: mock.url,
        auth: { type: 'none' },
        requestTimeoutMs: 120_000,
      },
    },
  });
  let session;
  try {
    const started = performance.now();
    session = await deck.openRaw('github');
    const tools = await session.tools();
    const listedMs = Math.round(performance.now() - started);
    const calls = tools.flatMap((tool) => ['required', 'full'].map((extent) => ({ tool, extent })));
    const refused = [];
    let next = 0;
    const work = async () => {
      while (next < calls.length) {
        const { tool, extent } = calls[next++];
        const reason = await callOne(session, tool, extent);
        if (reason) refused.push(`${tool.name} (${extent}): ${reason}`);
      }
    };
    await Promise.all(Array.from({ length: callers }, work));
    const accepted = calls.length - refused.length;
    const figures = {
      descriptionBytes: statSync(description).size,
      operations: mock.operations,
      tools: tools.length,
      problems: deck.problems('github').length,
      listedMs,
      calls: calls.length,
      accepted,
      residentMb: session.residentMegabytes(),
      import: importAlone(),
      peer: peerImport(),
    };
    const passed = tools.length >= 0.99 * mock.operations && accepted >= 0.99 * calls.length;
    return { figures, passed, problems: [...deck.problems('github'), ...refused] };
  } finally {
    await session?.close();
    deck.remove();
    mock.stop();
  }
}

/** Why a call was not accepted; nothing when it was. */
async function callOne(session, tool, extent) {
  const result = await session.call(tool.name, generate(tool.inputSchema, extent));
  const seen = result.structuredContent?.body;
  if (seen?.operation === undefined) return `did not arrive: ${JSON.stringify(result.content ?? result).slice(0, 400)}`;
  if (seen.operation !== tool.name) return `arrived as ${seen.operation}`;
  return seen.errors.length > 0 ? JSON.stringify(seen.errors).slice(0, 400) : undefined;
}

/** Time and memory of the import alone, in a process of its own. */
function importAlone() {
  const program = process.env.CAPDECK_IMPORT;
  if (!program) return undefined;
  const rounds = Array.from({ length: 3 }, () => JSON.parse(execFileSync(program, [description], { encoding: 'utf8' })));
  return rounds.sort((one, other) => one.ms - other.ms)[1];
}

/** The same document read, checked and resolved by a peer, in a process of its own. */
function peerImport() {
  const peer = path.join(import.meta.dirname, 'openapi-peer.mjs');
  return JSON.parse(execFileSync(process.execPath, [peer, installed, description], { encoding: 'utf8' }));
}

const { figures, passed, problems } = await importWhole();
for (const problem of problems) console.log(problem);
console.log(JSON.stringify(figures, null, 2));
const place = process.argv.indexOf('--figures');
if (place > 0) writeFileSync(process.argv[place + 1], `${JSON.stringify(figures, null, 2)}\n`);
console.log(passed ? 'openapi: passed' : 'openapi: FAILED: fewer than 99 % of the operations can be called, or of the calls are accepted');
process.exit(passed ? 0 : 1);
