// Messages of Anthropic.

import { sse, textOf } from './parts.mjs';

export const takes = (method, path) => method === 'POST' && /\/v1\/messages(\/count_tokens)?$/.test(path);
export const counts = (path) => path.endsWith('/count_tokens');
export const count = () => ({ input_tokens: 100 });
export const streams = (_url, body) => body.stream === true;

export function read(body) {
  const tools = (body.tools ?? []).filter((tool) => tool.input_schema)
    .map((tool) => ({ name: tool.name, description: tool.description ?? '', schema: tool.input_schema, sent: tool, isDeferred: tool.defer_loading === true }));
  const last = body.messages.at(-1);
  const blocks = Array.isArray(last.content) ? last.content : [{ type: 'text', text: last.content }];
  const results = blocks.filter((block) => block.type === 'tool_result').map((block) => textOf(block.content));
  return { tools, results, system: textOf(body.system) };
}

export function whole(reply, body) {
  return { ...frame(body), content: blocks(reply), stop_reason: reply.calls ? 'tool_use' : 'end_turn' };
}

export function* events(reply, body) {
  const event = (type, value) => sse({ type, ...value }, type);
  yield event('message_start', { message: frame(body) });
  for (const [index, block] of blocks(reply).entries()) {
    const isText = block.type === 'text';
    const start = isText ? { type: 'text', text: '' } : { ...block, input: {} };
    const delta = isText
      ? { type: 'text_delta', text: block.text }
      : { type: 'input_json_delta', partial_json: JSON.stringify(block.input) };
    yield event('content_block_start', { index, content_block: start });
    yield event('content_block_delta', { index, delta });
    yield event('content_block_stop', { index });
  }
  const stop = reply.calls ? 'tool_use' : 'end_turn';
  yield event('message_delta', { delta: { stop_reason: stop, stop_sequence: null }, usage: { output_tokens: 10 } });
  yield event('message_stop', {});
}

let serial = 0;

const blocks = (reply) => (reply.calls
  ? reply.calls.map(({ name, args }) => ({ type: 'tool_use', id: `toolu_${(serial += 1)}`, name, input: args }))
  : [{ type: 'text', text: reply.text }]);

const frame = (body) => ({
  id: `msg_${(serial += 1)}`, type: 'message', role: 'assistant', model: body.model, content: [],
  stop_reason: null, stop_sequence: null, usage: { input_tokens: 100, output_tokens: 10 },
});
