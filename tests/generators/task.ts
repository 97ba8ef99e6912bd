// The task, with the types that openapi-typescript made and the client that reads them.

import createClient from 'openapi-fetch';

import type { components, paths } from './api.js';

declare const process: { argv: string[] };

const client = createClient<paths>({ baseUrl: process.argv[2] });

function check(holds: boolean, what: unknown): asserts holds {
  if (!holds) throw new Error(`this is not so: ${JSON.stringify(what)}`);
}

const { data: made } = await client.POST('/v1/capsules', { body: { name: 'TypeScript' } });
check(made !== undefined, made);

// Written only where there is nothing, read, and written only on the version that was read.
const place = { capsule: made.id, scheme: 'docs', path: 'guides/start' };
const written = await client.PUT('/v1/capsules/{capsule}/entries/{scheme}/{path}', {
  params: { path: place, header: { 'If-None-Match': '*' } },
  body: { content: 'one' },
});
check(written.response.status === 201 && written.data?.version === 1, written);
const { data: entry, response } = await client.GET('/v1/capsules/{capsule}/entries/{scheme}/{path}', { params: { path: place } });
const tag = response.headers.get('etag');
check(entry?.body === 'one' && entry.version === 1 && tag === '"1"', [entry, tag]);
const write = (content: string) =>
  client.PUT('/v1/capsules/{capsule}/entries/{scheme}/{path}', { params: { path: place, header: { 'If-Match': tag } }, body: { content } });
check((await write('two')).response.status === 200, 'a write on the version that was read');
const refused = await write('three');
const problem: components['schemas']['Problem'] | undefined = refused.error;
check(problem?.status === 412 && problem.code !== '' && problem.request_id !== '', problem);

// A list in pages of one.
await client.PUT('/v1/capsules/{capsule}/entries/{scheme}/{path}', { params: { path: { ...place, path: 'guides/next' } }, body: { content: 'next' } });
const found: string[] = [];
let cursor: string | null | undefined;
do {
  const { data: page } = await client.GET('/v1/capsules/{capsule}/entries', {
    params: { path: { capsule: made.id }, query: { limit: 1, ...(cursor ? { cursor } : {}) } },
  });
  check(page !== undefined, page);
  found.push(...page.items.map((item) => item.uri));
  cursor = page.next_cursor;
} while (cursor);
check(found.sort().join() === 'docs://guides/next,docs://guides/start', found);

const missing = await client.GET('/v1/capsules/{capsule}', { params: { path: { capsule: 'nothing' } } });
check(missing.response.status === 404 && missing.error?.code === 'not_found', missing);

const result = await client.POST('/v1/deck/capabilities/{capability}/tools/{tool}/call', {
  params: { path: { capability: 'weather', tool: 'look' } },
  body: { arguments: {} },
});
check(JSON.stringify(result.data).includes('clear'), result);
console.log('typescript: the task is done');
