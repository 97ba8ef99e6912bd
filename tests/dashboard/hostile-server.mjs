// An MCP server on stdio with only hostile texts. It implements just the methods a host calls.

import readline from 'node:readline';

import { HOSTILE } from './hostile.mjs';

const text = HOSTILE.join('\n\n');
const TOOLS = [
  { name: 'say', title: HOSTILE[0], description: text, annotations: { title: HOSTILE[1], readOnlyHint: true },
    inputSchema: { type: 'object', title: HOSTILE[0], properties: { [HOSTILE[1]]: { type: 'string', description: HOSTILE[0] }, choice: { enum: HOSTILE } } } },
  { name: HOSTILE[1], description: HOSTILE[2], inputSchema: { type: 'object', properties: {} }, annotations: { readOnlyHint: true } },
];

function answer({ method, params }) {
  switch (method) {
    case 'initialize':
      return { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: HOSTILE[0], version: '1' }, instructions: text };
    case 'tools/list':
      return { tools: TOOLS };
    case 'tools/call':
      return { content: [{ type: 'text', text }, { type: 'image', mimeType: 'image/svg+xml', data: Buffer.from(HOSTILE[2]).toString('base64') }, { type: 'resource_link', uri: 'javascript:window.hacked=1', name: HOSTILE[0] }], structuredContent: { [HOSTILE[0]]: HOSTILE } };
    case 'ping':
      return {};
    default:
      return undefined;
  }
}

for await (const line of readline.createInterface({ input: process.stdin })) {
  const message = JSON.parse(line);
  if (message.id === undefined) continue;
  const result = answer(message);
  const body = result === undefined ? { error: { code: -32601, message: `no ${message.method}` } } : { result };
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id: message.id, ...body })}\n`);
}
