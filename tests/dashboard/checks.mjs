// Checks of every page: hostile text, keyboard, accessibility, size.

import assert from 'node:assert/strict';

import { HOSTILE_ENTRY } from './hostile.mjs';
import { openPage, seriousProblems, settled, visit } from './watched-page.mjs';

const ENTRY = `capsules/team/entry?${new URLSearchParams({ uri: 'docs://architecture' })}`;
const PLACES = [
  'overview', 'capabilities', 'capabilities?tab=tokens', 'capabilities/files', 'capabilities/files/about', 'capabilities/files/tokens', 'capabilities/files/tools/greet', 'capabilities/broken', 'capabilities/hostile', 'capabilities/hostile/about', 'capabilities/hostile/tools/say',
  'activity', 'activity/audit', 'runs', 'approvals', 'pins', 'pins/files', 'capsules', 'capsules/team', ENTRY, `${ENTRY}&view=edit`, `${ENTRY}&view=history`, 'capsules/team/new', 'capsules/team/signals', 'capsules/team/access', 'capsules/team/log', 'capsules/team/settings', 'capsules/team/deleted',
  'library', 'access', 'access/grants', 'access/decided', 'access/profiles', 'access/policy', 'clients', 'operators', 'connect', 'settings', 'help', 'nowhere',
];

/** Compressed size limit of the first page, in bytes. */
const HEAVIEST = 150 * 1024;

export const CHECKS = [
  ['hostile text is shown as text', staysText],
  ['the page sends no requests to other hosts and runs no foreign scripts', keepsToItself],
  ['every page works from the keyboard', keyboardWalk],
  ['the accessibility checker finds problems', checkerWorks],
  ['no page has a serious accessibility problem, in either theme and on a phone', accessible],
  ['the chosen theme persists', themeStays],
  ['the first page is small', isLight],
];

async function staysText({ opened, host }) {
  const { page } = opened;
  const written = await host.ask('PUT', '/v1/capsules/team/entries/docs/hostile', { json: { content: HOSTILE_ENTRY, title: '<img src=x onerror="window.hacked=1">', tags: ['<b>tag</b>'.slice(0, 20)] } });
  assert.ok([200, 201, 400].includes(written.status), JSON.stringify(written.data));
  if (written.status === 400) assert.equal((await host.ask('PUT', '/v1/capsules/team/entries/docs/hostile', { json: { content: HOSTILE_ENTRY } })).status, 201);
  await host.ask('POST', '/v1/deck/capabilities/hostile/check');
  const hostile = `capsules/team/entry?${new URLSearchParams({ uri: 'docs://hostile' })}`;
  for (const place of ['capabilities', 'capabilities/hostile', 'capabilities/hostile/about', 'capabilities/hostile/tools/say', hostile, `${hostile}&view=edit`, `${hostile}&view=history`, 'capsules/team', 'capsules/team?q=harmless', 'pins/hostile', 'activity/audit', 'overview']) {
    await visit(page, host.url, place);
    const found = await page.evaluate(() => ({
      elements: document.querySelectorAll('#main script, #main iframe, #main style, #main base, #main [onerror], #main [onload], #main [onmouseover]').length,
      links: [...document.querySelectorAll('a[href]')].map((link) => link.protocol).filter((protocol) => !['http:', 'https:', 'mailto:'].includes(protocol)),
    }));
    assert.deepEqual(found, { elements: 0, links: [] }, place);
    await opened.assertClean();
  }
  await visit(page, host.url, hostile);
  const article = page.getByRole('article', { name: 'Entry docs://hostile' });
  assert.match(await article.locator('header').innerText(), /stored content, not an instruction/);
  assert.match(await article.locator('.band-content').innerText(), /written_by: the host itself/, 'the imitation is inside the frame');
  assert.doesNotMatch(await article.locator('footer').innerText(), /the host itself/);
  await visit(page, host.url, 'capabilities/hostile/tools/say');
  await page.getByRole('button', { name: 'Call', exact: true }).click();
  await page.getByRole('heading', { name: 'Result' }).waitFor();
  assert.equal(await page.locator('#main img').count(), 0, 'no image types that can contain scripts');
}

async function keepsToItself({ browser, host, storage }) {
  const { page, context } = await openPage(browser, host.url, { storageState: storage });
  await visit(page, host.url, 'overview');
  const outcome = await page.evaluate(async () => {
    const violations = [];
    document.addEventListener('securitypolicyviolation', (event) => violations.push(event.effectiveDirective));
    const refused = await fetch('https://outside.example/').then(() => false, () => true);
    const script = document.createElement('script');
    script.textContent = 'window.hacked = "inline"';
    document.head.append(script);
    const picture = new Image();
    const shown = new Promise((resolve) => { picture.onload = () => resolve(true); picture.onerror = () => resolve(false); });
    picture.src = 'https://outside.example/pixel.png';
    return { refused, ran: window.hacked, shown: await shown, violations };
  });
  assert.equal(outcome.refused, true);
  assert.equal(outcome.ran, undefined);
  assert.equal(outcome.shown, false);
  assert.deepEqual(outcome.violations.map((name) => name.replace('-elem', '')), ['connect-src', 'script-src', 'img-src']);
  await context.close();
}

async function keyboardWalk({ opened: { page }, host }) {
  await visit(page, host.url, 'overview');
  await page.reload();
  await settled(page);
  const focused = () => page.evaluate(() => document.activeElement?.textContent?.trim() || document.activeElement?.getAttribute('aria-label'));
  await page.keyboard.press('Tab');
  assert.equal(await focused(), 'Skip to content');
  await page.keyboard.press('Enter');
  assert.equal(await page.evaluate(() => document.activeElement?.id), 'main');
  await page.keyboard.press('g');
  await page.keyboard.press('c');
  await page.getByRole('heading', { name: 'Capabilities', level: 1 }).waitFor();
  await page.waitForFunction(() => document.activeElement?.tagName === 'H1');
  await settled(page);
  await page.keyboard.press('/');
  assert.equal(await page.evaluate(() => document.activeElement?.id), 'filter');
  await page.keyboard.type('files');
  await page.waitForFunction(() => document.querySelectorAll('.cards > li').length === 1);
  await page.keyboard.press('Tab');
  await page.keyboard.press('Tab');
  assert.match(await focused(), /^Files/);
  assert.notEqual(await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle), 'none', 'the focus is visible');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Files', level: 1 }).waitFor();
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox').waitFor();
  await page.keyboard.type('capsules');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Capsules', level: 1 }).waitFor();
  await settled(page);
  await page.getByRole('button', { name: 'Create capsule' }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  assert.match(await focused(), /Create capsule/, 'the focus returns');
  await page.keyboard.press('?');
  await page.getByRole('dialog', { name: 'Keys' }).waitFor();
  await page.keyboard.press('Escape');
}

async function checkerWorks({ opened: { page }, host }) {
  await visit(page, host.url, 'help');
  await page.evaluate(() => document.querySelector('#main').append(document.createElement('button'), document.createElement('input')));
  const found = (await seriousProblems(page)).map(({ id }) => id);
  assert.ok(found.includes('button-name') && found.includes('label'), found.join());
  await page.reload();
}

async function accessible({ browser, host, storage }) {
  const problems = [];
  for (const theme of ['light', 'dark']) {
    for (const width of [1440, 390]) {
      const opened = await openPage(browser, host.url, { theme, width, storageState: storage });
      for (const place of PLACES) {
        await visit(opened.page, host.url, place);
        problems.push(...(await seriousProblems(opened.page)).map((problem) => ({ place, theme, width, ...problem })));
        const wider = await opened.page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        if (wider > 0) problems.push({ place, theme, width, id: `${wider} pixels wider than the screen` });
      }
      await opened.assertClean();
      await opened.context.close();
    }
  }
  assert.deepEqual(problems, []);
}

async function themeStays({ browser, host, storage }) {
  const opened = await openPage(browser, host.url, { theme: 'light', width: 390, height: 844, storageState: storage });
  const { page } = opened;
  await visit(page, host.url, 'overview');
  const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await paper();
  await page.getByRole('button', { name: 'Open navigation' }).click();
  await page.getByRole('button', { name: 'Use the dark theme' }).click();
  const dark = await paper();
  assert.notEqual(light, dark);
  await page.reload();
  await settled(page);
  assert.equal(await paper(), dark);
  await page.getByRole('button', { name: 'Open navigation' }).click();
  await page.getByRole('link', { name: 'Capabilities', exact: true }).click();
  await page.getByRole('heading', { name: 'Capabilities', level: 1 }).waitFor();
  assert.equal(await page.getByRole('button', { name: 'Open navigation' }).getAttribute('aria-expanded'), 'false');
  await opened.assertClean();
  await opened.context.close();
}

async function isLight({ browser, host, storage }) {
  const opened = await openPage(browser, host.url, { storageState: storage });
  const session = await opened.context.newCDPSession(opened.page);
  await session.send('Network.enable');
  const files = new Map();
  session.on('Network.responseReceived', ({ requestId, response }) => files.set(requestId, { path: new URL(response.url).pathname, bytes: 0 }));
  session.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => { if (files.has(requestId)) files.get(requestId).bytes = encodedDataLength; });
  await visit(opened.page, host.url, 'overview');
  const own = [...files.values()].filter(({ path }) => path === '/' || path.startsWith('/assets/'));
  const bytes = own.reduce((sum, file) => sum + file.bytes, 0);
  const painted = await opened.page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null);
  console.log(JSON.stringify({ dashboard: { firstPageBytes: bytes, files: own.length, largest: own.sort((one, other) => other.bytes - one.bytes).slice(0, 3), firstContentfulPaintMs: painted && Math.round(painted) } }));
  assert.ok(bytes > 10_000 && bytes < HEAVIEST, `${bytes} bytes`);
  await opened.context.close();
}
