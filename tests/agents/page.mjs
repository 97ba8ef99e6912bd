// docs/reference/agents.md: what each agent was driven through, which tools its model was sent, and what they cost.

import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { load } from './installed.mjs';
import { STEPS } from './walk.mjs';

export const PAGE = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../docs/reference/agents.md');

const { getEncoding } = await load('js-tiktoken');
const o200k = getEncoding('o200k_base');

// Tokens of the tools as the agent sent them, in the words of its provider's API.
const tokens = (tools) => tools.reduce((sum, tool) => sum + o200k.encode(JSON.stringify(tool.sent)).length, 0);

const row = (cells) => `| ${cells.join(' | ')} |`;
const table = (head, rows) => [row(head), row(head.map(() => '---')), ...rows.map(row)].join('\n');
const number = (value) => value.toLocaleString('en-US');

export function page(agents, ways, outcomes) {
  const outcome = (agent, way) => outcomes.find((one) => one.agent === agent && one.way.way === way);
  const steps = [...Object.keys(STEPS), 'disconnect'];
  const did = (agent, step) => (['stdio', 'http'].every((way) => outcome(agent, way).steps[step] === 'passed') ? '✓' : '✗');
  const walks = agents.map((agent) => [agent.title, agent.version(), ...steps.map((step) => did(agent, step))]);
  const lists = agents.map((agent) => {
    const { tools } = outcome(agent, 'stdio');
    const large = outcome(agent, 'direct').tools;
    return [agent.title, tools.map((tool) => `\`${tool.name}\``).join(' '), number(tokens(tools)), number(large.length), number(tokens(large))];
  });
  return `# Agents

Real agents in their exact versions, each driven through a whole conversation by a scripted model: \`capdeck connect\` writes the
agent's file, the agent runs without a terminal, and the model calls what it sees. A ✓ means that the step passed over stdio
and over HTTP.

Made by \`./test.sh agents\`, which fails when the page says something else.

${table(['agent', 'version', ...steps], walks)}

- *search*, *call*, *code mode*: the answer reaches the model, once. *empty arguments*: \`""\` for what is not meant.
- *large result*: 3,000 lines; the model has the first part and reads on with \`call_tool\`. Frameworks pass everything on.
- *approval*: a destructive call waits, \`capdeck approve\` lets it pass, and the repeated call runs.
- *wrong arguments*: the answer has what is needed to correct them. *list changed*: a tool that was added is called.
- *disconnect*: the file is as it was. Claude Code and Qwen Code write into the same file while they run; there the entry is
  gone.

## What the model is sent

Tokens (o200k) of the definitions as the agent sends them. The last two columns are one capability of 1,200 tools with
\`--exposure direct\`: its list would cost more than 100,000 tokens, so the agent gets the tools of \`search\`, and the instructions
say why.

${table(['agent', 'tools', 'tokens', 'tools of 1,200', 'tokens'], lists)}

Frameworks are given the entry that \`capdeck connect claude-code\` writes. Codex is connected with \`--approve-calls\`: without it,
\`codex exec\` refuses every call but those of \`search\`, \`describe\` and \`call_read_only\`.
`;
}
