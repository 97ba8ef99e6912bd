// The packages that ./test.sh installed for this suite.

import { createRequire } from 'node:module';
import fs from 'node:fs';
import path from 'node:path';

const folder = path.join(process.env.CAPDECK_TEST_DEPS, 'dashboard', 'node_modules');
const require = createRequire(`${folder}/`);

export const { chromium } = require('playwright-core');
/** The accessibility checker, to be run inside a page. */
export const axeSource = fs.readFileSync(path.join(folder, 'axe-core', 'axe.min.js'), 'utf8');
