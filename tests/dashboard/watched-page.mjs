// Pages with recorded requests, console messages and script execution.

import assert from 'node:assert/strict';

import { axeSource, chromium } from './installed.mjs';

const ARGUMENTS = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];

export const startBrowser = () => chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ARGUMENTS });

/** Messages of the browser about expected error responses. */
const EXPECTED = /Failed to load resource: the server responded with a status of (401|403|404|409|412)/;

/** Opens a page in its own context and records everything that must not happen. */
export async function openPage(browser, url, { width = 1440, height = 900, theme = 'light', ...rest } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: theme, reducedMotion: 'reduce', ...rest });
  const page = await context.newPage();
  const complaints = [];
  watch(page, url, complaints);
  return { page, context, assertClean: () => assertClean(page, complaints) };
}

/** A second tab of the same session. */
export async function openTab(opened, url) {
  const page = await opened.context.newPage();
  const complaints = [];
  watch(page, url, complaints);
  return { page, context: opened.context, assertClean: () => assertClean(page, complaints) };
}

function watch(page, url, complaints) {
  const { origin } = new URL(url);
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type()) && !EXPECTED.test(message.text())) complaints.push(`console: ${message.text()}`);
  });
  page.on('pageerror', (error) => complaints.push(`error: ${error.stack}`));
  page.on('request', (request) => {
    const asked = new URL(request.url());
    if (asked.origin !== origin && asked.protocol !== 'data:') complaints.push(`asked for ${request.url()}`);
  });
  page.on('dialog', (dialog) => {
    complaints.push(`dialog: ${dialog.message()}`);
    dialog.dismiss().catch(() => {});
  });
}

async function assertClean(page, complaints) {
  assert.equal(await page.evaluate(() => window.hacked), undefined, 'an untrusted script ran');
  assert.deepEqual(complaints, []);
}

/** Opens a page of the dashboard and waits until it is loaded. */
export async function visit(page, url, place) {
  await page.goto(`${url}/#/${place}`);
  await settled(page);
}

export async function settled(page) {
  await page.waitForFunction(() => document.querySelector('#main h1') && !document.querySelector('#main .skeleton'));
}

/** Returns the serious and critical accessibility problems. */
export async function seriousProblems(page) {
  await page.evaluate(axeSource);
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
  return violations.filter(({ impact }) => ['serious', 'critical'].includes(impact)).map(({ id, impact, nodes }) => ({ id, impact, where: nodes.slice(0, 3).map(({ target, failureSummary }) => `${target}: ${failureSummary}`) }));
}
