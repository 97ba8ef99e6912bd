// Loads packages from the folder that the test runner installs into.

import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const here = path.dirname(fileURLToPath(import.meta.url));
const folder = process.env.CAPDECK_TEST_DEPS ?? path.join(here, '..', '..', '.test-deps');

export const installed = createRequire(path.join(folder, 'node', 'package.json'));
