// The tools the conformance suite calls, each a definition and what it does.

import { setTimeout as pause } from 'node:timers/promises';

import { redPixel, silence } from './media.mjs';

const text = (words) => ({ type: 'text', text: words });
const says = (words) => ({ content: [text(words)] });
const noArguments = { type: 'object', properties: {} };
const takes = (name, description) => ({
  type: 'object',
  properties: { [name]: { type: 'string', description } },
  required: [name],
});

const tools = [
  {
    name: 'test_simple_text',
    description: 'Answers with plain text',
    call: () => says('This is a simple text response for testing.'),
  },
  {
    name: 'test_image_content',
    description: 'Answers with a picture',
    call: () => ({ content: [{ type: 'image', data: redPixel, mimeType: 'image/png' }] }),
  },
  {
    name: 'test_audio_content',
    description: 'Answers with a sound',
    call: () => ({ content: [{ type: 'audio', data: silence, mimeType: 'audio/wav' }] }),
  },
  {
    name: 'test_embedded_resource',
    description: 'Answers with a resource',
    call: () => ({
      content: [
        {
          type: 'resource',
          resource: {
            uri: 'test://embedded-resource',
            mimeType: 'text/plain',
            text: 'This is an embedded resource content.',
          },
        },
      ],
    }),
  },
  {
    name: 'test_multiple_content_types',
    description: 'Answers with text, a picture and a resource',
    call: () => ({
      content: [
        text('Multiple content types test:'),
        { type: 'image', data: redPixel, mimeType: 'image/png' },
        {
          type: 'resource',
          resource: {
            uri: 'test://mixed-content-resource',
            mimeType: 'application/json',
            text: JSON.stringify({ test: 'data', value: 123 }),
          },
        },
      ],
    }),
  },
  {
    name: 'test_tool_with_logging',
    description: 'Sends three log messages, then answers',
    call: async (_given, extra) => {
      for (const data of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
        await notify(extra, 'notifications/message', { level: 'info', logger: 'fixture', data });
        await pause(50);
      }
      return says('Tool with logging executed successfully');
    },
  },
  {
    name: 'test_tool_with_progress',
    description: 'Reports progress three times, then answers',
    call: async (_given, extra) => {
      const progressToken = extra._meta?.progressToken;
      for (const progress of [0, 50, 100]) {
        const report = { progressToken, progress, total: 100, message: `Completed step ${progress} of 100` };
        if (progressToken !== undefined) await notify(extra, 'notifications/progress', report);
        await pause(50);
      }
      return says('Tool with progress executed successfully');
    },
  },
  {
    name: 'test_error_handling',
    description: 'Fails on purpose',
    call: () => ({ ...says('This tool intentionally returns an error for testing'), isError: true }),
  },
  {
    name: 'test_sampling',
    description: 'Asks the client for a completion',
    inputSchema: takes('prompt', 'What to ask the model'),
    call: async ({ prompt }, extra, schemas) => {
      const messages = [{ role: 'user', content: text(prompt) }];
      const request = { method: 'sampling/createMessage', params: { messages, maxTokens: 100 } };
      const { content } = await extra.sendRequest(request, schemas.CreateMessageResultSchema);
      return says(`LLM response: ${content.text ?? 'No response'}`);
    },
  },
  {
    name: 'test_elicitation',
    description: 'Asks the person for their name and address',
    inputSchema: takes('message', 'What to ask the person'),
    call: async ({ message }, extra, schemas) => {
      const properties = {
        username: { type: 'string', description: "User's response" },
        email: { type: 'string', description: "User's email address" },
      };
      const answer = await elicit(extra, schemas, message, properties, ['username', 'email']);
      return says(`User response: action=${answer.action}, content=${JSON.stringify(answer.content ?? {})}`);
    },
  },
  {
    name: 'test_elicitation_sep1034_defaults',
    description: 'Asks with a default for every kind of value',
    call: async (_given, extra, schemas) => {
      const properties = {
        name: { type: 'string', description: 'User name', default: 'John Doe' },
        age: { type: 'integer', description: 'User age', default: 30 },
        score: { type: 'number', description: 'User score', default: 95.5 },
        status: {
          type: 'string',
          description: 'User status',
          enum: ['active', 'inactive', 'pending'],
          default: 'active',
        },
        verified: { type: 'boolean', description: 'Verification status', default: true },
      };
      const answer = await elicit(extra, schemas, 'Please review the defaults', properties, []);
      return says(
        `Elicitation completed: action=${answer.action}, content=${JSON.stringify(answer.content ?? {})}`,
      );
    },
  },
  {
    name: 'test_elicitation_sep1330_enums',
    description: 'Asks with every form of enumeration',
    call: async (_given, extra, schemas) => {
      const plain = ['option1', 'option2', 'option3'];
      const titled = [1, 2, 3].map((number) => ({ const: `value${number}`, title: `Option ${number}` }));
      const properties = {
        untitledSingle: { type: 'string', enum: plain },
        titledSingle: { type: 'string', oneOf: titled },
        legacyEnum: { type: 'string', enum: plain, enumNames: ['One', 'Two', 'Three'] },
        untitledMulti: { type: 'array', items: { type: 'string', enum: plain } },
        titledMulti: { type: 'array', items: { anyOf: titled } },
      };
      const answer = await elicit(extra, schemas, 'Please choose', properties, []);
      return says(
        `Elicitation completed: action=${answer.action}, content=${JSON.stringify(answer.content ?? {})}`,
      );
    },
  },
  {
    name: 'test_reconnection',
    description: 'Closes its event stream in the middle of the call',
    call: async (_given, extra) => {
      await pause(50);
      extra.closeSSEStream?.();
      await pause(50);
      return says('Reconnection test completed successfully');
    },
  },
  {
    name: 'json_schema_2020_12_tool',
    description: 'Has a schema with parts that careless middlemen drop',
    inputSchema: {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      $defs: {
        address: {
          $anchor: 'addressDef',
          type: 'object',
          properties: { street: { type: 'string' }, city: { type: 'string' } },
        },
      },
      properties: {
        name: { type: 'string' },
        address: { $ref: '#/$defs/address' },
        contactMethod: { type: 'string', enum: ['phone', 'email'] },
        phone: { type: 'string' },
        email: { type: 'string' },
      },
      allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
      if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
      then: { required: ['phone'] },
      else: { required: ['email'] },
      additionalProperties: false,
    },
    call: (given) => says(`Received ${JSON.stringify(given)}`),
  },
];

export function listTools() {
  return tools.map(({ name, description, inputSchema = noArguments }) => ({ name, description, inputSchema }));
}

export function callTool(params, extra, schemas) {
  const tool = tools.find((candidate) => candidate.name === params.name);
  if (!tool) throw new schemas.McpError(-32602, `Unknown tool: ${params.name}`);
  return tool.call(params.arguments ?? {}, extra, schemas);
}

function notify(extra, method, params) {
  return extra.sendNotification({ method, params });
}

function elicit(extra, schemas, message, properties, required) {
  const requestedSchema = { type: 'object', properties, required };
  const params = { mode: 'form', message, requestedSchema };
  return extra.sendRequest({ method: 'elicitation/create', params }, schemas.ElicitResultSchema);
}
