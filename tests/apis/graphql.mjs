// GitHub's published GraphQL schema through Capdeck: every root field becomes a tool, every document is accepted by the
// reference implementation, and every result fits the tool's output schema (the client checks that).
//
// Needs CAPDECK (the binary) and CAPDECK_TEST_DEPS, as ./test.sh sets them.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';

import { generate } from './arguments.mjs';
import { Deck } from './deck.mjs';
import { startServer } from './graphql-server.mjs';
import { fileOf, installed } from './installed.mjs';

const { buildSchema } = installed('graphql');
const schemaPath = fileOf('@octokit/graphql-schema', 'schema.graphql');
// It has fields that are defined twice, which its own validator would refuse.
const schema = buildSchema(readFileSync(schemaPath, 'utf8'), { assumeValid: true, assumeValidSDL: true });
const rootFields = ['query', 'mutation'].flatMap((kind) => {
  const type = kind === 'query' ? schema.getQueryType() : schema.getMutationType();
  return Object.keys(type.getFields()).map((field) => `${kind}_${field}`);
});

const endpoint = (url, more) => ({
  name: 'GitHub',
  description: 'The GraphQL API of GitHub, made up.',
  endpointUrl: url,
  auth: { type: 'none' },
  requestTimeoutMs: 300_000,
  ...more,
});

async function withDeck(config, use) {
  const deck = new Deck(config);
  try {
    const started = performance.now();
    const session = await deck.open('github');
    try {
      await use(session, started);
    } finally {
      await session.close();
    }
  } finally {
    deck.remove();
  }
}

// Calls every tool with the least and with everything, and counts what came of it.
async function importWhole(server, label, more) {
  await withDeck({ graphqlEndpoints: { github: endpoint(server.url, more) } }, async (session, started) => {
    const tools = await session.tools();
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    const memory = session.peakMegabytes();
    const offered = new Set(tools.map((tool) => tool.name));
    const missing = rootFields.filter((name) => !offered.has(name));
    server.seen.documents = 0;
    server.seen.refused = [];
    const failed = [];
    for (const tool of tools) {
      for (const extent of ['required', 'full']) {
        const args = generate(tool.inputSchema, extent);
        const result = await session.call(tool.name, args).catch((error) => ({ isError: true, error }));
        if (result.isError) failed.push(`${tool.name}(${JSON.stringify(args)}): ${JSON.stringify(result.error?.message ?? result.content)}`);
      }
    }
    const calls = tools.length * 2;
    const { documents, refused } = server.seen;
    console.log(
      `${label}: ${tools.length} of ${rootFields.length} root fields, ${seconds} s, ${memory ?? '?'} MB at most; ` +
        `${documents - refused.length} of ${calls} documents accepted, ${failed.length} calls failed`,
    );
    for (const problem of [...missing, ...refused, ...failed].slice(0, 10)) console.log(`  ${problem.slice(0, 1000)}`);
    assert.ok(missing.length <= rootFields.length * 0.01, `${label}: too many root fields are missing`);
    assert.ok(documents - refused.length >= calls * 0.99, `${label}: too many documents were refused`);
    assert.ok(failed.length <= calls * 0.01, `${label}: too many calls failed`);
  });
}

// What a person configures and what an agent writes, against a server that follows the rules to the letter.
async function documentsOfOthers(server) {
  const operations = {
    login: { document: 'query ($login: String!) { user(login: $login) { login bio } }' },
    broken: { document: 'query { viewer { lgin } }' },
  };
  const config = { graphqlEndpoints: { github: endpoint(server.url, { schemaPath, operations, queryTool: true }) } };
  await withDeck(config, async (session) => {
    const names = (await session.tools()).map((tool) => tool.name);
    assert.deepEqual(names, ['login', 'query']);
    const fine = await session.call('login', { login: 'ada' });
    assert.ok(!fine.isError, JSON.stringify(fine));
    const partial = await session.call('login', { login: 'fail on purpose' });
    assert.equal(partial.isError, true);
    assert.deepEqual(partial.structuredContent.body.data, { user: null });
    assert.match(partial.content[0].text, /failed on purpose \(at `user`\)/);
    const asked = server.seen.documents;
    const typo = await session.call('query', { query: '{ repositry(owner: "a", name: "b") { id } }' });
    assert.equal(typo.isError, true);
    assert.match(JSON.stringify(typo), /`repository`/);
    const mutation = 'mutation { addStar(input: {starrableId: "1"}) { clientMutationId } }';
    assert.equal((await session.call('query', { query: mutation })).isError, true);
    assert.equal(server.seen.documents, asked, 'nothing that is refused here reaches the server');
    const query = 'query A($n: String!) { __type(name: $n) { name fields { name } } }';
    const type = await session.call('query', { query, variables: { n: 'Repository' }, operationName: 'A' });
    assert.equal(type.structuredContent.body.data.__type.name, 'Repository');
  });
  console.log('configured operations, partial answers and free documents: as expected');
}

const server = await startServer(schema);
try {
  await importWhole(server, 'schema file, depth 2', { schemaPath });
  await importWhole(server, 'schema file, depth 5', { schemaPath, selectionDepth: 5 });
  await importWhole(server, 'introspection, depth 1', { introspection: true, selectionDepth: 1 });
  await documentsOfOthers(server);
} finally {
  server.close();
}
