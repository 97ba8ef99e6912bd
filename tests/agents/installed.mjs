// What ./test.sh installed for this suite.

import { createRequire } from 'node:module';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const here = path.dirname(fileURLToPath(import.meta.url));
const deps = process.env.CAPDECK_TEST_DEPS ?? path.join(here, '..', '..', '.test-deps');
export const folder = path.join(deps, 'agents', 'node_modules');
export const python = path.join(deps, 'venv-agents', 'bin', 'python');
const pins = fs.readFileSync(path.join(here, 'requirements.txt'), 'utf8').trim().split('\n').map((row) => row.split('=='));
const installed = createRequire(path.join(deps, 'agents', 'package.json'));

export const version = (name) => JSON.parse(fs.readFileSync(path.join(folder, name, 'package.json'), 'utf8')).version;
export const pythonVersion = (name) => pins.find(([pinned]) => pinned.startsWith(name))[1];
export const load = (name) => import(pathToFileURL(installed.resolve(name)).href);

// Programs for this platform come as packages of their own.
export const forPlatform = (prefix, file) => path.join(folder, `${prefix}-${process.platform}-${process.arch}`, file);
