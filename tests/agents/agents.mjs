// The agents: how each is run once without a terminal, against a model at `model`, and where its own configuration is.
// `bin` is the program with its first arguments; `client` is the id for `capdeck connect`.

import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { folder, forPlatform, python, pythonVersion, version } from './installed.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));

const node = (...file) => [process.execPath, path.join(folder, ...file)];

const PROMPT = 'Look after the notes.';

export const AGENTS = [
  {
    id: 'claude-code', title: 'Claude Code', version: () => version('@anthropic-ai/claude-code'),
    client: ['claude-code', '--scope', 'user'], config: 'home/.claude.json', before: '{\n  "hasCompletedOnboarding": true\n}\n',
    isRewritten: true,
    command: () => [forPlatform('@anthropic-ai/claude-code', 'claude'), '-p', PROMPT, '--allowedTools', 'mcp__capdeck', '--model', 'claude-sonnet-4-5'],
    env: (model) => ({
      ANTHROPIC_BASE_URL: model, ANTHROPIC_API_KEY: 'scripted', CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_TELEMETRY: '1', DISABLE_AUTOUPDATER: '1', DISABLE_ERROR_REPORTING: '1', ENABLE_TOOL_SEARCH: 'true', MCP_TIMEOUT: '60000',
    }),
  },
  {
    id: 'codex', title: 'Codex', version: () => version('@openai/codex'),
    client: ['codex', '--approve-calls'], config: 'home/.codex/config.toml', before: '# mine\nmodel = "scripted"\n',
    command: (model) => [
      ...node('@openai', 'codex', 'bin', 'codex.js'), 'exec', '--skip-git-repo-check',
      '-c', 'model_provider="scripted"',
      '-c', `model_providers.scripted={name="scripted", base_url="${model}/v1", wire_api="responses", env_key="SCRIPTED_KEY", supports_websockets=false}`,
      // Else the first turn does not wait for a server that takes a moment.
      '-c', 'mcp_servers.capdeck.required=true', '-c', 'analytics.enabled=false', '-c', 'check_for_update_on_startup=false', PROMPT,
    ],
    env: () => ({ SCRIPTED_KEY: 'scripted' }),
  },
  {
    id: 'gemini-cli', title: 'Gemini CLI', version: () => version('@google/gemini-cli'),
    client: ['gemini-cli'], config: 'home/.gemini/settings.json',
    before: `${JSON.stringify({
      security: { auth: { selectedType: 'gemini-api-key' } }, privacy: { usageStatisticsEnabled: false }, telemetry: { enabled: false },
      general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
    }, null, 2)}\n`,
    command: () => [...node('.bin', 'gemini'), '-p', PROMPT, '--approval-mode', 'yolo', '--model', 'gemini-2.5-pro', '--skip-trust'],
    env: (model) => ({ GEMINI_API_KEY: 'scripted', GOOGLE_GEMINI_BASE_URL: model, GEMINI_CLI_TRUST_WORKSPACE: 'true' }),
  },
  {
    id: 'opencode', title: 'opencode', version: () => version('opencode-ai'),
    client: ['opencode'], config: 'home/.config/opencode/opencode.json',
    before: (model) => `${JSON.stringify({
      $schema: 'https://opencode.ai/config.json', autoupdate: false, share: 'disabled', model: 'scripted/scripted', small_model: 'scripted/scripted',
      enabled_providers: ['scripted'],
      provider: { scripted: { npm: '@ai-sdk/openai-compatible', name: 'Scripted', options: { baseURL: `${model}/v1`, apiKey: 'scripted' }, models: { scripted: { name: 'Scripted', limit: { context: 2000000, output: 8000 } } } } },
    }, null, 2)}\n`,
    command: () => [forPlatform('opencode', 'bin/opencode'), 'run', PROMPT],
    env: () => ({ OPENCODE_DISABLE_AUTOUPDATE: '1', OPENCODE_DISABLE_MODELS_FETCH: '1', OPENCODE_DISABLE_LSP_DOWNLOAD: '1', OPENCODE_DISABLE_DEFAULT_PLUGINS: '1' }),
  },
  {
    id: 'qwen-code', title: 'Qwen Code', version: () => version('@qwen-code/qwen-code'),
    client: ['qwen-code'], config: 'home/.qwen/settings.json', isRewritten: true,
    before: `${JSON.stringify({
      security: { auth: { selectedType: 'openai' } }, privacy: { usageStatisticsEnabled: false }, telemetry: { enabled: false }, general: { enableAutoUpdate: false },
    }, null, 2)}\n`,
    command: () => [...node('.bin', 'qwen'), '-p', PROMPT, '--approval-mode', 'yolo', '--auth-type', 'openai'],
    env: (model) => ({ OPENAI_API_KEY: 'scripted', OPENAI_BASE_URL: `${model}/v1`, OPENAI_MODEL: 'scripted' }),
  },
  {
    id: 'copilot-cli', title: 'GitHub Copilot CLI', version: () => version('@github/copilot'),
    client: ['copilot-cli'], config: 'home/.copilot/mcp-config.json', before: '{\n  "mcpServers": {}\n}\n',
    command: () => [...node('.bin', 'copilot'), '-p', PROMPT, '--allow-all-tools', '--no-auto-update'],
    env: (model) => ({
      COPILOT_PROVIDER_TYPE: 'openai', COPILOT_PROVIDER_BASE_URL: `${model}/v1`, COPILOT_PROVIDER_API_KEY: 'scripted',
      COPILOT_MODEL: 'gpt-4.1', COPILOT_OFFLINE: 'true', COPILOT_AUTO_UPDATE: 'false',
    }),
  },
  ...[
    ['openai-agents', 'OpenAI Agents SDK', 'with_openai_agents.py', () => pythonVersion('openai-agents')],
    ['pydantic-ai', 'Pydantic AI', 'with_pydantic_ai.py', () => pythonVersion('pydantic-ai-slim')],
    ['langchain', 'LangChain', 'with_langchain.py', () => pythonVersion('langchain-mcp-adapters')],
    ['ai-sdk', 'AI SDK', 'with-ai-sdk.mjs', () => version('ai')],
  ].map(([id, title, file, version]) => ({
    id, title, version, isBare: true,
    // Frameworks have no file of their own; programs made with them read the common one.
    client: ['claude-code'], config: 'project/.mcp.json', before: '{\n  "mcpServers": {}\n}\n',
    command: () => [file.endsWith('.py') ? python : process.execPath, path.join(here, 'sdks', file)],
    env: (model) => ({ SCRIPTED_MODEL: model, PYTHONUNBUFFERED: '1', OPENAI_API_KEY: 'scripted', LANGSMITH_TRACING: 'false' }),
  })),
];
