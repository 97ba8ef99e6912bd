// An HTTP server that checks every request against an OpenAPI document with `openapi-backend`, which shares nothing with
// Capdeck, and answers with what it made of it.

import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import path from 'node:path';

const require = createRequire(path.join(process.env.CAPDECK_TEST_DEPS, 'apis', 'package.json'));
const { OpenAPIBackend } = require('openapi-backend');

export async function startMock(document) {
  const definition = forChecker(JSON.parse(readFileSync(document, 'utf8')));
  const quiet = { log: () => {}, warn: () => {}, error: () => {} };
  const api = new OpenAPIBackend({
    definition,
    // The document itself is not under test here.
    quick: true,
    strict: false,
    coerceTypes: true,
    ajvOpts: { strict: false, logger: quiet },
  });
  await api.init();
  const server = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString();
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(judge(api, request, body)));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    operations: api.router.getOperations().length,
    stop: () => server.close(),
  };
}

function judge(api, { method, url, headers }, body) {
  const [where, query = ''] = url.split('?');
  const parsed = { method, path: where, query, headers, body: body === '' ? undefined : body };
  let operation;
  try {
    operation = api.matchOperation(parsed, true);
    if (!operation) return { operation: null, errors: [`no operation is ${method} ${where}`] };
    const { errors } = api.validateRequest(parsed, operation);
    return { operation: operation.operationId, errors: errors ?? [] };
  } catch (error) {
    return { operation: operation?.operationId ?? null, errors: [String(error.message ?? error)] };
  }
}

/** The document with what the checker cannot handle said in another way. */
function forChecker(definition) {
  const visit = (value) => {
    if (value === null || typeof value !== 'object') return;
    // Without a type there is nothing to add null to, and the checker refuses the whole schema.
    if (value.nullable === true && value.type === undefined) delete value.nullable;
    // The text `1` in a URL is a number as well, so exactly one of the two is never true.
    if (typeof value.in === 'string' && value.schema?.oneOf) {
      value.schema.anyOf = value.schema.oneOf;
      delete value.schema.oneOf;
    }
    Object.values(value).forEach(visit);
  };
  visit(definition);
  return definition;
}
