// The AI SDK with Capdeck as its server, from the project's `.mcp.json`.

import fs from 'node:fs';

import { load } from '../installed.mjs';

const { createMCPClient } = await load('@ai-sdk/mcp');
const { Experimental_StdioMCPTransport: StdioTransport } = await load('@ai-sdk/mcp/mcp-stdio');
const { createOpenAI } = await load('@ai-sdk/openai');
const { stepCountIs, streamText } = await load('ai');

const entry = JSON.parse(fs.readFileSync('.mcp.json', 'utf8')).mcpServers.capdeck;
const transport = entry.type === 'http'
  ? { type: 'http', url: entry.url }
  : new StdioTransport({ command: entry.command, args: entry.args ?? [], env: process.env });
const client = await createMCPClient({ transport });
try {
  const openai = createOpenAI({ baseURL: `${process.env.SCRIPTED_MODEL}/v1`, apiKey: 'scripted' });
  const result = streamText({
    model: openai.chat('scripted'), tools: await client.tools(), prompt: 'Look after the notes.', stopWhen: stepCountIs(60),
  });
  console.log(await result.text);
} finally {
  await client.close();
}
