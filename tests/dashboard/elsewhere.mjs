// Operators who sign in through an OpenID provider, with a real provider and a real browser.

import assert from 'node:assert/strict';

import { startHost } from './host.mjs';
import { CLIENT, startProvider } from './provider.mjs';
import { seriousProblems, settled, visit } from './watched-page.mjs';

const LABEL = 'Example <b>SSO</b>';
const BUTTON = { name: `Sign in with ${LABEL}` };

export const ELSEWHERE = [
  ['an admin binds people to accounts', bindPeople],
  ['an operator signs in at the provider and returns to the requested page', signInElsewhere],
  ['an unknown account gets a clear error', strangerIsTold],
  ['an unverified address does not sign in', unverifiedIsNothing],
  ['a cancelled sign-in at the provider does not sign in', sayNo],
  ['a removed operator is signed out with the next click', removedIsOut],
];

/** Runs `work` on a host with a provider. */
export async function withProvider(work) {
  const provider = await startProvider();
  const oidc = { issuer: provider.issuer, clientId: CLIENT.id, clientSecret: '$env:OIDC_SECRET', label: LABEL };
  const host = await startHost({ serve: { oidc }, env: { OIDC_SECRET: CLIENT.secret } });
  try {
    await work({ host, provider });
    assert.deepEqual(provider.complaints, []);
  } finally {
    await host.stop();
    provider.stop();
  }
}

/** A page that reaches only this machine and records requests of our pages to other hosts. */
async function openVisitor(browser, host, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, reducedMotion: 'reduce', ...options });
  await context.route((url) => url.hostname !== '127.0.0.1', (route) => route.abort());
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  const complaints = [];
  const origin = (address) => new URL(address).origin;
  page.on('request', (request) => {
    const isOurs = !request.isNavigationRequest() && origin(request.frame().url()) === host.url;
    if (isOurs && origin(request.url()) !== host.url) complaints.push(`asked for ${request.url()}`);
  });
  page.on('console', (message) => {
    if (message.text().includes('Content Security Policy') && origin(page.url()) === host.url) complaints.push(message.text());
  });
  return { context, page, assertClean: () => assert.deepEqual(complaints, []) };
}

/** Signs in at the provider and consents. */
async function enterAt(page, name) {
  await page.getByPlaceholder('Enter any login').fill(name);
  await page.getByPlaceholder('and password').fill('any');
  await page.getByRole('button', { name: 'Sign-in' }).click();
  await page.getByRole('button', { name: 'Continue' }).click();
}

async function bindPeople({ browser, host }) {
  const { page, context, assertClean } = await openVisitor(browser, host);
  await page.goto(host.url);
  await page.getByLabel('Operator key').fill(host.key);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
  await visit(page, host.url, 'operators');
  await page.getByRole('button', { name: 'Add operator' }).click();
  await page.getByLabel('Name').fill('Ann');
  await page.getByLabel(`E-mail at ${LABEL}`).fill('wrong@example.com');
  assert.deepEqual(await seriousProblems(page), []);
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  const row = page.getByRole('row').filter({ hasText: 'Ann' });
  await row.getByText('wrong@example.com').waitFor();
  await row.getByRole('button', { name: 'Account' }).click();
  await page.getByLabel(`E-mail at ${LABEL}`).fill('ann@example.com');
  assert.deepEqual(await seriousProblems(page), []);
  await page.getByRole('button', { name: 'Save' }).click();
  await row.getByText('ann@example.com', { exact: true }).waitFor();
  assertClean();
  await context.close();
}

async function signInElsewhere({ browser, host, results }) {
  const { page, context, assertClean } = await openVisitor(browser, host);
  await visit(page, host.url, 'capsules');
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  const button = page.getByRole('link', BUTTON);
  await button.waitFor();
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme });
    assert.deepEqual(await seriousProblems(page), []);
  }
  // From the keyboard: the key field has the focus, its button is disabled.
  await page.getByLabel('Operator key').focus();
  await page.keyboard.press('Tab');
  assert.ok(await button.evaluate((link) => link === document.activeElement), 'the next stop is the provider');
  await page.keyboard.press('Enter');
  await enterAt(page, 'ann');
  await page.getByRole('heading', { name: 'Capsules', level: 1 }).waitFor();
  await settled(page);
  assert.equal(page.url(), `${host.url}/#/capsules`, 'neither code nor state remains in the address');
  assert.equal(await page.getByText('Ann', { exact: true }).count(), 1);
  const stored = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie]));
  assert.ok(!/capdeck-sign-in|ey[A-Za-z0-9_-]{20}/.test(stored), 'no token where scripts can read it');
  const names = (await context.cookies(host.url)).filter(({ name }) => name.includes('capdeck'));
  assert.deepEqual(names.map(({ name, httpOnly, sameSite }) => [name, httpOnly, sameSite]).sort(), [['capdeck', true, 'Lax'], ['capdeck-browser', true, 'Lax']]);
  const { data } = await host.ask('GET', '/v1/operators');
  assert.deepEqual(data.items.map(({ name, subject }) => [name, subject.account]), [['Ann', { subject: 'ann' }]], 'bound to the account');
  assertClean();
  results.ann = { page, context, id: data.items[0].id };
}

async function strangerIsTold({ browser, host }) {
  const { page, context, assertClean } = await openVisitor(browser, host, { viewport: { width: 390, height: 844 } });
  await page.goto(host.url);
  await page.getByRole('link', BUTTON).click();
  await enterAt(page, 'eve');
  await page.getByRole('heading', { name: 'Unknown account' }).waitFor();
  const text = await page.locator('main').innerText();
  assert.ok(text.includes('eve@example.com') && text.includes(LABEL) && text.includes('Ask an admin'), text);
  assert.deepEqual(await seriousProblems(page), []);
  await page.getByRole('link', { name: 'Back to the sign-in page' }).click();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  const { data } = await host.ask('GET', '/v1/audit?action=login.fail');
  assert.deepEqual(data.items.map(({ action }) => action), ['login.fail'], JSON.stringify(data));
  assertClean();
  await context.close();
}

async function unverifiedIsNothing({ browser, host }) {
  const { page, context } = await openVisitor(browser, host);
  await page.goto(host.url);
  await page.getByRole('link', BUTTON).click();
  await enterAt(page, 'mallory');
  await page.getByRole('heading', { name: 'Unknown account' }).waitFor();
  assert.ok(!(await page.locator('main').innerText()).includes('ann@example.com'));
  await context.close();
}

async function sayNo({ browser, host }) {
  const { page, context } = await openVisitor(browser, host);
  await page.goto(host.url);
  await page.getByRole('link', BUTTON).click();
  await page.getByRole('link', { name: /cancel/i }).click();
  await page.getByRole('heading', { name: 'Sign-in failed' }).waitFor();
  const text = await page.locator('main').innerText();
  assert.ok(!/End-User|access_denied/i.test(text), text);
  await context.close();
}

async function removedIsOut({ host, results: { ann } }) {
  assert.equal((await host.ask('DELETE', `/v1/operators/${ann.id}`)).status, 204);
  await ann.page.getByRole('link', { name: 'Library', exact: true }).click();
  await ann.page.getByRole('heading', { name: 'Sign in' }).waitFor();
  await ann.context.close();
}
