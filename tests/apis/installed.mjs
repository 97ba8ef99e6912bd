// What ./test.sh installed for the suite about described APIs.

import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const here = path.dirname(fileURLToPath(import.meta.url));
const folder = process.env.CAPDECK_TEST_DEPS ?? path.join(here, '..', '..', '.test-deps');

export const installed = createRequire(path.join(folder, 'apis', 'package.json'));

// A file of a package, whether or not the package means it to be found.
export const fileOf = (name, file) => path.join(folder, 'apis', 'node_modules', name, file);
