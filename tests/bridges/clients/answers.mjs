// What the person, the model and the file system of every test client answer.

const ANSWERS = { name: 'Ada', colour: 'green' };

export const SAMPLE = {
  role: 'assistant',
  content: { type: 'text', text: 'four' },
  model: 'test-model',
  stopReason: 'endTurn',
};
export const ROOTS = { roots: [{ uri: 'file:///workspace', name: 'workspace' }] };
export const CAPABILITIES = { elicitation: { form: {}, url: {} }, sampling: {}, roots: { listChanged: true } };

export function elicit(params) {
  if (params.message.includes('decline')) return { action: 'decline' };
  if (params.mode === 'url') return { action: 'accept' };
  const asked = Object.keys(params.requestedSchema.properties);
  return { action: 'accept', content: Object.fromEntries(asked.map((name) => [name, ANSWERS[name]])) };
}

/** Answers each kind of question, after telling of it. */
export function answering(emit, isBare) {
  if (isBare) return {};
  const record = (method, reply) => async (request) => {
    emit('asked', { method, params: request.params ?? {} });
    return reply(request.params);
  };
  return {
    'elicitation/create': record('elicitation/create', elicit),
    'sampling/createMessage': record('sampling/createMessage', () => SAMPLE),
    'roots/list': record('roots/list', () => ROOTS),
  };
}
