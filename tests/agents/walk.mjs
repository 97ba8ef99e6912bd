// What the scripted model does in one conversation, step by step, and what has to come back.

import assert from 'node:assert/strict';

import { LINES, line } from './place.mjs';

// The tool of Capdeck with this name: agents put the name of the server before it.
export function findTool(turn, name) {
  const own = turn.tools.filter((tool) => tool.name === name || (tool.name.includes('capdeck') && tool.name.endsWith(name)));
  return own.find((tool) => /^$|[_\-.]$/.test(tool.name.slice(0, -name.length)));
}

export const isOurs = (tool, agent) => (agent.isBare ? true : tool.name.includes('capdeck'));

function call(turn, name, args) {
  const tool = findTool(turn, name);
  assert.ok(tool, `no tool \`${name}\` among ${turn.tools.map((one) => one.name).join(', ')}`);
  return { calls: [{ name: tool.name, args, call: tool.call }] };
}

const heard = (turn) => turn.results.join('\n');

function expect(turn, ...parts) {
  for (const part of parts) {
    const found = part instanceof RegExp ? part.test(heard(turn)) : heard(turn).includes(part);
    assert.ok(found, `the result has no ${part}: ${heard(turn).slice(0, 2000)}`);
  }
}

// Each gives the last turn it was given.
export const STEPS = {
  async* list(turn) {
    for (const name of ['search', 'describe', 'call_tool', 'code_mode']) assert.ok(findTool(turn, name), `no tool \`${name}\``);
    return turn;
  },
  async* search(turn) {
    turn = yield call(turn, 'search', { query: 'write a note' });
    expect(turn, 'notes__add_note');
    const once = heard(turn).split('notes__add_note(').length - 1;
    assert.equal(once, 1, `the signature came ${once} times: ${heard(turn)}`);
    return turn;
  },
  async* 'empty arguments'(turn) {
    turn = yield call(turn, 'search', { query: 'write a note', capability: '', cursor: '' });
    expect(turn, 'notes__add_note');
    return turn;
  },
  async* call(turn) {
    turn = yield call(turn, 'call_tool', { name: 'notes__find_notes', data: { words: 'milk and bread' } });
    expect(turn, 'milk and bread');
    return turn;
  },
  async* 'code mode'(turn) {
    const code = '```ts\nconst found = await caplets.notes.find_notes({ words: "from code" });\nreturn JSON.stringify(found).toUpperCase();\n```';
    turn = yield call(turn, 'code_mode', { code });
    expect(turn, 'FROM CODE');
    return turn;
  },
  async* 'large result'(turn, { agent }) {
    turn = yield call(turn, 'call_tool', { name: 'journal__read', data: {} });
    let shown = heard(turn);
    expect(turn, line(1));
    if (agent.isBare) {
      expect(turn, line(LINES));
      return turn;
    }
    assert.ok(shown.length < 40_000, `${shown.length} characters at once`);
    const seen = new Set(shown.match(/entry \d{4}: nothing happened/g));
    for (let part = 0; seen.size < 1200; part += 1) {
      assert.ok(part < 12, `only ${seen.size} of ${LINES} lines after ${part} parts: ${shown.slice(-600)}`);
      const next = /call_tool[^{]{0,60}(\{"name":"capdeck:[^}]*\})/.exec(shown);
      assert.ok(next, `no word on how to go on: ${shown.slice(-600)}`);
      turn = yield call(turn, 'call_tool', JSON.parse(next[1]));
      shown = heard(turn);
      const before = seen.size;
      for (const found of shown.match(/entry \d{4}: nothing happened/g) ?? []) seen.add(found);
      assert.ok(seen.size > before, `nothing new: ${shown.slice(0, 600)}`);
    }
    return turn;
  },
  async* 'wrong arguments'(turn) {
    turn = yield call(turn, 'call_tool', { name: 'notes__add_note', data: { titel: 'milk' } });
    expect(turn, 'title', 'pages');
    turn = yield call(turn, 'call_tool', { name: 'notes__add_note', data: { title: 'corrected', pages: 2 } });
    expect(turn, 'corrected');
    return turn;
  },
  async* approval(turn, { place }) {
    const deletion = { name: 'notes__delete_note', data: { title: 'old milk' } };
    turn = yield call(turn, 'call_tool', deletion);
    const id = /capdeck approve (\w+)/.exec(heard(turn))?.[1];
    assert.ok(id, `no approval is named: ${heard(turn)}`);
    await place.capdeck('approve', id);
    turn = yield call(turn, 'call_tool', deletion);
    expect(turn, 'old milk');
    assert.ok(!heard(turn).includes('capdeck approve'), heard(turn));
    return turn;
  },
  async* 'list changed'(turn) {
    turn = yield call(turn, 'call_tool', { name: 'notes__change_tools', data: { name: 'stack_notes' } });
    expect(turn, 'changed');
    turn = yield call(turn, 'call_tool', { name: 'notes__stack_notes', data: { height: 3 } });
    expect(turn, '"height":3');
    return turn;
  },
};

// All steps; one that fails leaves the others.
export function scriptOf(context, outcome) {
  return async function* script(turn) {
    outcome.tools = turn.tools.filter((tool) => isOurs(tool, context.agent));
    for (const [name, step] of Object.entries(STEPS)) {
      let result;
      try {
        const walk = step(turn, context);
        result = await walk.next();
        while (!result.done) {
          turn = yield result.value;
          result = await walk.next(turn);
        }
        turn = result.value;
        outcome.steps[name] = 'passed';
      } catch (error) {
        outcome.steps[name] = String(error.message ?? error);
      }
    }
    outcome.isOver = true;
    yield { text: 'All is done.' };
  };
}

// The list alone, and a call of the last tool where all are listed.
export function directScriptOf(context, outcome) {
  return async function* script(turn) {
    outcome.tools = turn.tools.filter((tool) => isOurs(tool, context.agent));
    const last = turn.tools.find((tool) => tool.name.includes('tool_01199'));
    try {
      const found = last
        ? { calls: [{ name: last.name, args: { item: 'the last' }, call: last.call }] }
        : call(turn, 'call_tool', { name: 'store__tool_01199', data: { item: 'the last' } });
      turn = yield found;
      expect(turn, 'the last');
      outcome.steps.call = 'passed';
    } catch (error) {
      outcome.steps.call = String(error.message ?? error);
    }
    outcome.isOver = true;
    yield { text: 'All is done.' };
  };
}
