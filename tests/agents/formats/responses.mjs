// Responses of OpenAI.

import { sse, textOf } from './parts.mjs';

export const takes = (method, path) => method === 'POST' && path.endsWith('/responses');
export const streams = (_url, body) => body.stream === true;

// Tools may stand in a namespace; their name is then both, as the agent's own calls have it.
export function read(body) {
  const tools = (body.tools ?? []).flatMap((tool) => {
    if (tool.type === 'namespace') return tool.tools.map((one) => entry(one, tool.name));
    return tool.type === 'function' ? [entry(tool)] : [];
  });
  const results = [];
  const items = Array.isArray(body.input) ? body.input : [];
  for (const item of [...items].reverse()) {
    if (item.type !== 'function_call_output') break;
    results.unshift(textOf(item.output));
  }
  return { tools, results, system: textOf(body.instructions), types: (body.tools ?? []).map((tool) => tool.type) };
}

const entry = (tool, namespace) => ({
  name: namespace ? `${namespace}${namespace.endsWith('__') ? '' : '__'}${tool.name}` : tool.name,
  description: tool.description ?? '', schema: tool.parameters, sent: tool, isStrict: tool.strict === true,
  ...(namespace && { call: { namespace, name: tool.name } }),
});

export function whole(reply, body) {
  return { ...frame(body), status: 'completed', output: items(reply), usage: USAGE };
}

export function* events(reply, body) {
  let sequence_number = 0;
  const event = (type, value) => sse({ type, sequence_number: (sequence_number += 1), ...value }, type);
  const response = frame(body);
  const output = items(reply);
  yield event('response.created', { response: { ...response, status: 'in_progress', output: [] } });
  for (const [output_index, item] of output.entries()) {
    const started = { ...item, status: 'in_progress', ...(item.type === 'message' ? { content: [] } : { arguments: '' }) };
    yield event('response.output_item.added', { output_index, item: started });
    if (item.type === 'message') {
      const place = { item_id: item.id, output_index, content_index: 0 };
      const [part] = item.content;
      yield event('response.content_part.added', { ...place, part: { ...part, text: '' } });
      yield event('response.output_text.delta', { ...place, delta: part.text, logprobs: [] });
      yield event('response.output_text.done', { ...place, text: part.text, logprobs: [] });
      yield event('response.content_part.done', { ...place, part });
    } else {
      yield event('response.function_call_arguments.delta', { item_id: item.id, output_index, delta: item.arguments });
      yield event('response.function_call_arguments.done', { item_id: item.id, output_index, name: item.name, arguments: item.arguments });
    }
    yield event('response.output_item.done', { output_index, item });
  }
  yield event('response.completed', { response: { ...response, status: 'completed', output, usage: USAGE } });
}

const USAGE = {
  input_tokens: 100, input_tokens_details: { cached_tokens: 0 }, output_tokens: 10,
  output_tokens_details: { reasoning_tokens: 0 }, total_tokens: 110,
};
let serial = 0;

const items = (reply) => (reply.calls
  ? reply.calls.map(({ name, args, call }) => ({
    type: 'function_call', id: `fc_${(serial += 1)}`, call_id: `call_${serial}`, status: 'completed', name, ...call,
    arguments: JSON.stringify(args),
  }))
  : [{
    type: 'message', id: `msg_${(serial += 1)}`, role: 'assistant', status: 'completed',
    content: [{ type: 'output_text', text: reply.text, annotations: [], logprobs: [] }],
  }]);

const frame = (body) => ({
  id: `resp_${(serial += 1)}`, object: 'response', created_at: 1, model: body.model, error: null, incomplete_details: null,
  instructions: null, metadata: {}, parallel_tool_calls: false, tool_choice: 'auto', tools: [], temperature: 1, top_p: 1,
});
