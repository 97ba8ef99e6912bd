// A client of the bridge tests on the TypeScript SDK; its argument is the major version, 1 or 2.
//
// Reads one order per line from stdin and writes one answer per line, {"id", "result"} or {"id", "error"},
// and in between what the server does by itself, {"connection", "event", …}. Orders run at the same time.
// `README.md` lists the orders.

import { createInterface } from 'node:readline';

const { Connection } = await import(`./typescript_${process.argv[2]}.mjs`);
const connections = new Map();
const calls = new Map();

const write = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);

const orders = {
  async connect({ id, target, era, isBare }) {
    const emit = (event, details) => write({ connection: id, event, ...details });
    const connection = await Connection.open(target, era, emit, isBare);
    connections.set(id, connection);
    return { connection: id, ...connection.about() };
  },
  async close({ connection }) {
    await connections.get(connection).close();
    connections.delete(connection);
  },
  async call({ id, connection, name, arguments: given }) {
    const cancelling = new AbortController();
    calls.set(id, cancelling);
    return connections.get(connection).call(name, given, cancelling.signal);
  },
  cancel: async ({ call }) => calls.get(call).abort('changed my mind'),
  request: ({ connection, method, params }) => connections.get(connection).request(method, params),
  prompt: ({ connection, name, arguments: given }) => connections.get(connection).prompt(name, given),
  read: ({ connection, uri }) => connections.get(connection).read(uri),
  listen: ({ connection, uri }) => connections.get(connection).listen(uri),
  level: ({ connection, level }) => connections.get(connection).level(level),
  task: ({ connection, name }) => connections.get(connection).task(name),
};

for await (const line of createInterface({ input: process.stdin })) {
  const order = JSON.parse(line);
  Promise.resolve()
    .then(() => orders[order.do](order))
    .then(
      (result) => write({ id: order.id, result: result ?? null }),
      (thrown) => write({ id: order.id, error: describe(thrown) }),
    );
}
process.exit(0);

function describe(thrown) {
  const { code, message, data } = thrown;
  // The SDK puts the code in front of the message.
  const said = typeof code === 'number' ? message?.replace(`MCP error ${code}: `, '') : message;
  return { code, message: said ?? String(thrown), data };
}
