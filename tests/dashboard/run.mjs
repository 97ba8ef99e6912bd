// Tests the dashboard in a real browser on a real host.
// Ends with `N passed, N failed, 0 skipped` and exits with 1 when one failed.
//
// Needs CAPDECK (the binary), CAPDECK_TEST_DEPS and Chromium (CHROMIUM, else /usr/bin/chromium), as ./test.sh sets them.
// CAPDECK_UPDATE_DOCS=1 updates the screenshots of docs/guide/dashboard.md.

import assert from 'node:assert/strict';

import { CHECKS } from './checks.mjs';
import { ELSEWHERE, withProvider } from './elsewhere.mjs';
import { startHost } from './host.mjs';
import { LOSSES } from './losses.mjs';
import { MODULE_CHECKS } from './modules.mjs';
import { SCENARIOS } from './scenarios.mjs';
import { takeScreenshots } from './screenshots.mjs';
import { openPage, settled, startBrowser } from './watched-page.mjs';

let [passed, failed] = [0, 0];

async function check(name, work, context) {
  try {
    await work(context);
    await context.opened?.assertClean();
    passed += 1;
    console.log(`pass  ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`FAIL  ${name}\n${String(error.stack ?? error).replace(/^/gm, '      ')}`);
  }
}

/** In local mode no key is needed and there is no session. */
async function localHost({ browser }) {
  const host = await startHost({ auth: 'local' });
  try {
    const opened = await openPage(browser, host.url);
    await opened.page.goto(host.url);
    await opened.page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
    await settled(opened.page);
    assert.equal(await opened.page.getByText('This machine').count(), 1);
    assert.equal(await opened.page.getByRole('button', { name: 'Sign out' }).count(), 0);
    await opened.assertClean();
    await opened.context.close();
  } finally {
    await host.stop();
  }
}

for (const [name, work] of MODULE_CHECKS) await check(name, work, {});
const browser = await startBrowser();
const host = await startHost();
try {
  const opened = await openPage(browser, host.url);
  opened.page.setDefaultTimeout(15_000);
  const context = { browser, host, opened, results: {}, storage: undefined };
  const only = process.argv[2];
  for (const [name, work] of SCENARIOS) await check(name, work, context);
  context.storage = await opened.context.storageState();
  for (const [name, work] of [...LOSSES, ...CHECKS]) if (!only || name.includes(only)) await check(name, work, context);
  await check('local mode needs no key', localHost, { browser });
  await withProvider(async (beside) => {
    const elsewhere = { browser, results: {}, ...beside };
    for (const [name, work] of ELSEWHERE) await check(name, work, elsewhere);
  });
  if (process.env.CAPDECK_UPDATE_DOCS) await takeScreenshots(context);
} finally {
  await browser.close();
  await host.stop();
}
console.log(`${passed} passed, ${failed} failed, 0 skipped`);
process.exitCode = failed === 0 ? 0 : 1;
