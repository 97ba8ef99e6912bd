// Chat completions of OpenAI.

import { sse, textOf } from './parts.mjs';

export const takes = (method, path) => method === 'POST' && path.endsWith('/chat/completions');
export const streams = (_url, body) => body.stream === true;

export function read(body) {
  const tools = (body.tools ?? []).filter((tool) => tool.function).map(({ function: tool }) => (
    { name: tool.name, description: tool.description ?? '', schema: tool.parameters, sent: tool, isStrict: tool.strict === true }));
  const results = [];
  for (const message of [...body.messages].reverse()) {
    if (message.role !== 'tool') break;
    results.unshift(textOf(message.content));
  }
  const system = body.messages.filter((one) => one.role === 'system' || one.role === 'developer');
  return { tools, results, system: system.map((one) => textOf(one.content)).join('\n') };
}

export function whole(reply, body) {
  const message = { role: 'assistant', content: reply.text ?? null, ...(reply.calls && { tool_calls: calls(reply) }) };
  const choice = { index: 0, message, finish_reason: reply.calls ? 'tool_calls' : 'stop' };
  return { ...frame('chat.completion', body), choices: [choice], usage: USAGE };
}

export function* events(reply, body) {
  const chunk = (delta, finish_reason = null) =>
    sse({ ...frame('chat.completion.chunk', body), choices: [{ index: 0, delta, finish_reason }] });
  yield chunk({ role: 'assistant', content: reply.text ?? '' });
  if (reply.calls) yield chunk({ tool_calls: calls(reply).map((call, index) => ({ index, ...call })) });
  yield chunk({}, reply.calls ? 'tool_calls' : 'stop');
  yield sse({ ...frame('chat.completion.chunk', body), choices: [], usage: USAGE });
  yield sse('[DONE]');
}

const USAGE = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 };
let serial = 0;

const calls = (reply) => reply.calls.map(({ name, args }) => (
  { id: `call_${(serial += 1)}`, type: 'function', function: { name, arguments: JSON.stringify(args) } }));

const frame = (object, body) => ({ id: 'chatcmpl-1', object, created: 1, model: body.model });
