// A GraphQL server for any schema: the reference implementation checks and runs every document, values are made up.

import http from 'node:http';

import { installed } from './installed.mjs';

const graphql = installed('graphql');
const { createHandler } = installed('graphql-http/lib/use/http');

export async function startServer(schema) {
  const seen = { documents: 0, refused: [] };
  let turn = 0;

  function madeUp(type) {
    if (graphql.isNonNullType(type)) return madeUp(type.ofType);
    turn += 1;
    if (turn % 11 === 0) return null;
    return present(type);
  }

  function present(type) {
    if (graphql.isListType(type)) return [graphql.isNonNullType(type.ofType) ? present(type.ofType.ofType) : madeUp(type.ofType)];
    if (graphql.isEnumType(type)) return type.getValues()[0].value;
    if (graphql.isScalarType(type)) return { Int: turn % 100, Float: 1.5, Boolean: turn % 2 === 0 }[type.name] ?? `text ${turn}`;
    if (graphql.isAbstractType(type)) {
      const possible = schema.getPossibleTypes(type);
      return { __typename: possible[turn % possible.length].name };
    }
    return {};
  }

  const fieldResolver = (_source, args, _context, info) => {
    if (args.query === 'fail on purpose' || args.login === 'fail on purpose') throw new Error('failed on purpose');
    return graphql.isNonNullType(info.returnType) ? present(info.returnType.ofType) : madeUp(info.returnType);
  };
  const handler = createHandler({
    schema,
    validate: (...all) => {
      const errors = graphql.validate(...all);
      seen.documents += 1;
      if (errors.length > 0) seen.refused.push(`${graphql.print(all[1])}: ${errors.join('; ')}`);
      return errors;
    },
    execute: (args) => graphql.execute({ ...args, fieldResolver, typeResolver: (value) => value.__typename }),
  });
  const server = http.createServer(handler);
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  return { url: `http://127.0.0.1:${server.address().port}/graphql`, seen, close: () => server.close() };
}
