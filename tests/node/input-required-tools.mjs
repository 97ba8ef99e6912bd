// The tools that ask by a result, as servers of revision 2026-07-28 do.

import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

const key = randomBytes(32);
const says = (text) => ({ content: [{ type: 'text', text }] });

/** Elicits one value. */
function value(message, name, type = 'string') {
  const requestedSchema = { type: 'object', properties: { [name]: { type } }, required: [name] };
  return { method: 'elicitation/create', params: { mode: 'form', message, requestedSchema } };
}

function sample(question, maxTokens) {
  const messages = [{ role: 'user', content: { type: 'text', text: question } }];
  return { method: 'sampling/createMessage', params: { messages, maxTokens } };
}

const roots = { method: 'roots/list', params: {} };
const userName = value('What is your name?', 'name');

/** What a prompt asks before it is given. */
export const promptQuestion = { user_context: value('What context should the prompt use?', 'context') };

/** What each tool asks in each round, and whether it hands out a state of its own. */
const tools = {
  elicitation: { rounds: [{ user_name: userName }] },
  sampling: { rounds: [{ capital_question: sample('What is the capital of France?', 100) }] },
  list_roots: { rounds: [{ client_roots: roots }] },
  request_state: { rounds: [{ confirm: value('Please confirm', 'ok', 'boolean') }], hasState: true },
  tampered_state: { rounds: [{ confirm: value('Please confirm', 'ok', 'boolean') }], hasState: true },
  multiple_inputs: {
    rounds: [{ user_name: userName, greeting: sample('Generate a greeting', 50), client_roots: roots }],
    hasState: true,
  },
  multi_round: {
    rounds: [
      { step1: value('Step 1: What is your name?', 'name') },
      { step2: value('Step 2: What is your favorite color?', 'color') },
    ],
    hasState: true,
  },
};

const prefix = 'test_input_required_result_';

/** Tools with names of their own that ask for one thing. */
const others = {
  test_streaming_elicitation: { rounds: [{ go_on: value('Shall the stream go on?', 'ok', 'boolean') }] },
  test_missing_capability: { rounds: [{ opinion: sample('Is this enough?', 20) }] },
};

export function listAskingTools() {
  const names = [...Object.keys(tools), 'capabilities'].map((name) => prefix + name);
  return [...names, ...Object.keys(others)].map((name) => ({
    name,
    description: 'Asks by its result',
    inputSchema: { type: 'object', properties: {} },
  }));
}

/** Calls one of these tools; nothing when the name is another's. `refuse` makes an error of a message. */
export function callAskingTool(name, { answers = {}, state, capabilities = {}, refuse }) {
  const own = () => tools[name.startsWith(prefix) ? name.slice(prefix.length) : ''];
  const tool = name === `${prefix}capabilities` ? declared(capabilities) : (others[name] ?? own());
  if (!tool) return undefined;
  if (state !== undefined && !opens(state)) throw refuse('the state is not one of this server');
  const known = { ...(state === undefined ? {} : read(state)), ...answers };
  const missing = tool.rounds.find((round) => Object.keys(round).some((question) => !(question in known)));
  if (!missing) return says(result(name, known));
  const open = Object.entries(missing).filter(([question]) => !(question in known));
  const sealed = tool.hasState ? { requestState: seal(known) } : {};
  return { resultType: 'input_required', inputRequests: Object.fromEntries(open), ...sealed };
}

function declared(capabilities) {
  const all = { elicitation: ['user_name', userName], sampling: ['greeting', sample('Generate a greeting', 50)], roots: ['client_roots', roots] };
  const wanted = Object.entries(all).filter(([capability]) => capability in capabilities);
  return { rounds: [Object.fromEntries(wanted.map(([, question]) => question))] };
}

function result(name, known) {
  if (name === `${prefix}elicitation`) return `Hello, ${known.user_name?.content?.name ?? 'stranger'}!`;
  return name === `${prefix}request_state` ? 'state-ok' : `Answers: ${JSON.stringify(known)}`;
}

function seal(known) {
  const text = Buffer.from(JSON.stringify(known)).toString('base64url');
  return `${text}.${sign(text).toString('base64url')}`;
}

function opens(state) {
  const [text, signature] = String(state).split('.');
  const given = Buffer.from(signature ?? '', 'base64url');
  return given.length === 32 && timingSafeEqual(given, sign(text));
}

function read(state) {
  return JSON.parse(Buffer.from(state.split('.')[0], 'base64url').toString());
}

function sign(text) {
  return createHmac('sha256', key).update(text).digest();
}
