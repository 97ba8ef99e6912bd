// Ten agents, as far as their configuration goes: where each looks, with which parser, and what it makes of an entry.
// Written from the agents' own documentation, not from the table in Capdeck, so that the two check each other.

import { parse as parseJsonc, printParseErrorCode } from './installed.mjs';
import { parseToml, parseYaml } from './installed.mjs';

// As editors read settings: comments and trailing commas are fine, anything else is not.
function jsonc(text) {
  const errors = [];
  const value = parseJsonc(text, errors, { allowTrailingComma: true });
  if (errors.length > 0) throw new Error(`not JSON with comments: ${printParseErrorCode(errors[0].error)}`);
  return value;
}

const strict = (text) => JSON.parse(text);

const program = ({ command, args, env }) => ({ program: command, args: args ?? [], env });

// An editor fills in the folder that is open in it.
const inFolder = (entry, folder) =>
  JSON.parse(JSON.stringify(entry).replaceAll('${workspaceFolder}', folder));

export const AGENTS = [
  {
    id: 'claude-code', file: 'project/.mcp.json', parse: strict,
    server: (config) => config.mcpServers.capdeck,
    read: (entry) => (entry.type === 'http' ? { url: entry.url } : program(entry)),
  },
  {
    id: 'claude-desktop', file: 'home/.config/Claude/claude_desktop_config.json', parse: strict,
    server: (config) => config.mcpServers.capdeck, read: program,
    desktop: true,
  },
  {
    id: 'cursor', scope: 'project', file: 'project/.cursor/mcp.json', parse: strict,
    server: (config) => config.mcpServers.capdeck,
    read: (entry, folder) => (entry.url ? { url: entry.url } : program(inFolder(entry, folder))),
    desktop: true,
  },
  {
    id: 'vscode', file: 'project/.vscode/mcp.json', parse: jsonc,
    server: (config) => config.servers.capdeck,
    read: (entry, folder) => {
      if (entry.type === 'http') return { url: entry.url };
      if (entry.type !== 'stdio') throw new Error(`unknown type ${entry.type}`);
      return program(inFolder(entry, folder));
    },
  },
  {
    id: 'codex', file: 'home/.codex/config.toml', parse: parseToml,
    server: (config) => config.mcp_servers.capdeck,
    read: (entry) => (entry.url ? { url: entry.url } : program(entry)),
  },
  {
    id: 'gemini-cli', file: 'home/.gemini/settings.json', parse: jsonc,
    server: (config) => config.mcpServers.capdeck,
    read: (entry) => (entry.httpUrl ? { url: entry.httpUrl } : program(entry)),
  },
  {
    id: 'windsurf', file: 'home/.codeium/windsurf/mcp_config.json', parse: strict,
    server: (config) => config.mcpServers.capdeck,
    read: (entry) => (entry.serverUrl ? { url: entry.serverUrl } : program(entry)),
  },
  {
    id: 'opencode', scope: 'project', file: 'project/opencode.jsonc', parse: jsonc,
    server: (config) => config.mcp.capdeck,
    read: (entry) => {
      if (entry.enabled === false) throw new Error('switched off');
      if (entry.type === 'remote') return { url: entry.url };
      const [command, ...args] = entry.command;
      return program({ command, args, env: entry.environment });
    },
  },
  {
    id: 'zed', file: 'home/.config/zed/settings.json', parse: jsonc,
    server: (config) => config.context_servers.capdeck,
    read: (entry) => (entry.url ? { url: entry.url } : program(entry)),
  },
  {
    id: 'goose', file: 'home/.config/goose/config.yaml', parse: parseYaml,
    server: (config) => config.extensions.capdeck,
    read: (entry) => {
      if (!entry.enabled || entry.name !== 'capdeck') throw new Error('not an extension that is switched on');
      if (entry.type === 'streamable_http') return { url: entry.uri };
      return program({ command: entry.cmd, args: entry.args, env: entry.envs });
    },
  },
];
