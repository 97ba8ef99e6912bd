// What ./test.sh installed for the suite about agents' configuration.

import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const here = path.dirname(fileURLToPath(import.meta.url));
const folder = process.env.CAPDECK_TEST_DEPS ?? path.join(here, '..', '..', '.test-deps');
const installed = createRequire(path.join(folder, 'connect', 'package.json'));
const load = (name) => import(pathToFileURL(installed.resolve(name)).href);

export const { parse, printParseErrorCode } = installed('jsonc-parser');
export const { parse: parseYaml } = installed('yaml');
export const { parse: parseToml } = await load('smol-toml');
export const { Client } = installed('@modelcontextprotocol/sdk/client/index.js');
export const { StdioClientTransport } = installed('@modelcontextprotocol/sdk/client/stdio.js');
export const { StreamableHTTPClientTransport } = installed('@modelcontextprotocol/sdk/client/streamableHttp.js');
