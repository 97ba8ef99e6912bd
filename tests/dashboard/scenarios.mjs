// User scenarios, from the sign-in to a revoked grant. They run in this order on one host.

import assert from 'node:assert/strict';

import { ADMIN_KEY, ask } from './host.mjs';
import { openPage, openTab, settled, visit } from './watched-page.mjs';

const ENTRY = 'docs://architecture';
const entryPlace = (uri, view = '') => `capsules/team/entry?${new URLSearchParams({ uri, ...(view ? { view } : {}) })}`;
const toast = (page, text) => page.locator('.toast').filter({ hasText: text }).first().waitFor();

export const SCENARIOS = [
  ['a wrong key is rejected, the right one opens the overview', signIn],
  ['a capsule is created', createCapsule],
  ['an entry is written, read between its bands, and found', writeEntry],
  ['a tool is called from its form, and another page shows the event', callTool],
  ['a destructive call requires approval, is approved and made', approveCall],
  ['two people change one entry, and both changes are merged', resolveConflict],
  ['an old version is compared and restored', restoreVersion],
  ['an access request is approved with narrower terms', approveGrant],
  ['a revoked grant ends with the next call', revokeGrant],
  ['an approval_url opens its request, after the sign-in', openApprovalUrl],
  ['an operator is added, with a key that is shown once', addOperator],
  ['a session ends with the sign-out', signOut],
];

async function signIn({ opened: { page }, host }) {
  await page.goto(host.url);
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  await page.getByLabel('Operator key').fill('not-the-key-at-all');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('invalid key').waitFor();
  await page.getByLabel('Operator key').fill(ADMIN_KEY);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
  await settled(page);
  const stored = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie]));
  assert.ok(!stored.includes(ADMIN_KEY), 'the key is not stored where scripts can read it');
}

async function createCapsule({ opened: { page }, host }) {
  await visit(page, host.url, 'capsules');
  await page.getByText('No capsules yet').waitFor();
  await page.getByRole('button', { name: 'Create capsule' }).click();
  await page.getByLabel('Name').fill('team');
  await page.getByLabel('Description').fill('What our agents should know');
  await page.getByLabel('Visibility').selectOption('team');
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  await page.getByRole('heading', { name: 'team', level: 1 }).waitFor();
  const { data } = await host.ask('GET', '/v1/capsules/team');
  assert.deepEqual([data.name, data.visibility], ['team', 'team']);
}

async function writeEntry({ opened: { page }, host }) {
  await visit(page, host.url, 'capsules/team/new');
  await page.getByLabel('Path').fill('architecture');
  await page.getByLabel('Title').fill('Architecture');
  await page.getByLabel('Tags').fill('overview, design');
  await page.getByRole('textbox', { name: 'Content' }).fill('# Architecture\n\nRequests enter in `src/server.rs`.\n\nAnswers leave in `src/answer.rs`.\n');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('article', { name: `Entry ${ENTRY}` }).waitFor();
  const band = page.getByRole('article', { name: `Entry ${ENTRY}` });
  assert.match(await band.innerText(), /Cites code[\s\S]*look up every path[\s\S]*Requests enter in src\/server\.rs\.[\s\S]*version 1/);
  await visit(page, host.url, 'capsules/team');
  await page.getByLabel('Search').fill('requests enter');
  await page.getByRole('link', { name: /Architecture/ }).first().waitFor();
}

async function callTool({ opened, host }) {
  const watcher = await openTab(opened, host.url);
  await visit(watcher.page, host.url, 'activity');
  await watcher.page.getByText('live', { exact: true }).waitFor();
  const { page } = opened;
  await visit(page, host.url, 'capabilities/files/tools/greet');
  await page.getByLabel(/^name/).fill('Ada');
  await page.getByLabel(/^tone/).selectOption('warm');
  await page.getByRole('button', { name: 'Call', exact: true }).click();
  await page.getByRole('heading', { name: 'Result' }).waitFor();
  assert.match(await page.locator('#main').innerText(), /hello Ada/);
  await watcher.page.getByRole('list', { name: 'Live activity' }).getByRole('link', { name: 'files.greet' }).first().waitFor();
  await watcher.page.getByRole('button', { name: 'Pause' }).click();
  await page.getByRole('button', { name: 'Call', exact: true }).click();
  await watcher.page.getByRole('button', { name: /Resume \(\d+ new\)/ }).click();
  await watcher.page.getByRole('link', { name: 'files.greet' }).nth(1).waitFor();
  await watcher.assertClean();
  await watcher.page.close();
}

async function approveCall({ opened: { page }, host }) {
  await visit(page, host.url, 'capabilities/files/tools/remove');
  await page.getByLabel(/^path/).fill('old.txt');
  await page.getByRole('button', { name: 'Call', exact: true }).click();
  await page.getByRole('button', { name: 'Call tool' }).click();
  await page.getByRole('button', { name: 'Approve and retry' }).click();
  await page.getByRole('heading', { name: 'Result' }).waitFor();
  assert.match(await page.locator('#main').innerText(), /removed old\.txt/);
}

async function resolveConflict({ opened: { page }, host }) {
  await visit(page, host.url, entryPlace(ENTRY, 'edit'));
  const content = page.getByRole('textbox', { name: 'Content' });
  await content.fill((await content.inputValue()).replace('# Architecture', '# How it is built'));
  const path = '/v1/capsules/team/entries/docs/architecture';
  const { data: before } = await host.ask('GET', path);
  const changed = before.body.replace('Answers leave in', 'All answers leave in');
  const other = await host.ask('PUT', path, { json: { content: changed }, headers: { 'if-match': `"${before.version}"` } });
  assert.equal(other.status, 200);
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('heading', { name: 'Version conflict' }).waitFor();
  assert.match(await page.getByRole('region', { name: 'Their change' }).innerText(), /All answers leave/);
  assert.match(await page.getByRole('region', { name: 'Your change' }).innerText(), /How it is built/);
  const merged = await page.getByLabel('Result').inputValue();
  assert.match(merged, /# How it is built[\s\S]*All answers leave/);
  await page.getByRole('button', { name: /Save over version/ }).click();
  await page.getByRole('article', { name: `Entry ${ENTRY}` }).waitFor();
  const { data: after } = await host.ask('GET', path);
  assert.equal(after.body, merged);
  assert.equal(after.version, before.version + 2);
}

async function restoreVersion({ opened: { page }, host }) {
  await visit(page, host.url, entryPlace(ENTRY, 'history'));
  await page.getByRole('group', { name: /Differences between/ }).waitFor();
  await page.getByRole('button', { name: 'Side by side' }).click();
  await page.getByRole('button', { name: 'One column' }).waitFor();
  await page.getByRole('row', { name: /^1 / }).getByRole('button', { name: 'Restore' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Restore' }).click();
  await toast(page, 'Restored as version 4');
  const { data } = await host.ask('GET', '/v1/capsules/team/entries/docs/architecture');
  assert.match(data.body, /^# Architecture/);
}

async function approveGrant({ opened: { page }, host, results }) {
  await visit(page, host.url, 'access');
  await page.getByText('No requests').waitFor();
  const wish = { client_id: 'build-agent', client_name: 'Build agent', capsule: 'team', role: 'writer', reason: 'Keeps the notes of releases' };
  const enrolled = await ask(host.url, null, 'POST', '/v1/agent-enrollments', { json: wish });
  assert.equal(enrolled.status, 201, JSON.stringify(enrolled.data));
  results.token = enrolled.data.enrollment_token;
  const request = page.getByRole('article', { name: 'Request of Build agent' });
  await request.waitFor();
  assert.match(await request.innerText(), /writer of team/);
  assert.ok((await request.innerText()).includes(enrolled.data.user_code), 'the code of the agent');
  await request.getByRole('button', { name: 'Review and approve' }).click();
  const dialog = page.getByRole('dialog', { name: 'Approve Build agent' });
  await dialog.getByLabel('Role in team').selectOption('reader');
  await dialog.getByLabel('For', { exact: true }).selectOption('7');
  await dialog.getByRole('button', { name: 'Approve', exact: true }).click();
  await toast(page, 'Approved Build agent');
  await page.getByText('No requests').waitFor();
  assert.equal((await listTools(host, results.token)).status, 200);
}

async function revokeGrant({ opened: { page }, host, results }) {
  await visit(page, host.url, 'access/grants');
  const row = page.getByRole('row', { name: /Build agent/ });
  assert.match(await row.innerText(), /reader of team/);
  await row.getByRole('button', { name: 'Revoke' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
  await toast(page, 'Revoked access of Build agent');
  assert.equal((await listTools(host, results.token)).status, 401);
}

async function openApprovalUrl({ browser, opened: { page }, host }) {
  const enroll = (client) => ask(host.url, null, 'POST', '/v1/agent-enrollments', { json: { client_id: client, capsule: 'team' } });
  const [first, second] = [await enroll('first-agent'), await enroll('second-agent')];
  const [one, other] = ['first-agent', 'second-agent'].map((name) => (tab) => tab.getByRole('article', { name: `Request of ${name}` }));
  // A signed-in operator sees only this request.
  await page.goto(first.data.approval_url);
  await one(page).waitFor();
  assert.ok((await one(page).innerText()).includes(first.data.user_code));
  assert.equal(await other(page).count(), 0);
  // Others sign in first.
  const stranger = await openPage(browser, host.url);
  await stranger.page.goto(second.data.approval_url);
  await stranger.page.getByLabel('Operator key').fill(`${ADMIN_KEY}\n`);
  await stranger.page.getByRole('button', { name: 'Sign in' }).click();
  await other(stranger.page).waitFor();
  assert.equal(await one(stranger.page).count(), 0);
  await other(stranger.page).getByRole('button', { name: 'Deny', exact: true }).click();
  await stranger.page.getByRole('dialog').getByRole('button', { name: 'Deny', exact: true }).click();
  await other(stranger.page).getByText('denied').waitFor();
  await stranger.context.close();
  const { data } = await host.ask('GET', '/v1/grants?status=pending');
  await host.ask('POST', `/v1/grants/${data.items[0].id}/deny`);
}

async function addOperator({ opened: { page }, host }) {
  await visit(page, host.url, 'operators');
  await page.getByRole('button', { name: 'Add operator' }).click();
  await page.getByLabel('Name').fill('Ada');
  await page.getByLabel(/^approver/).check();
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  await page.getByText('it is not shown again').waitFor();
  const key = await page.getByRole('dialog').locator('pre').innerText();
  await page.getByRole('button', { name: 'Done' }).click();
  await page.getByRole('row', { name: /Ada/ }).waitFor();
  assert.ok(!(await page.content()).includes(key), 'the key is no longer on the page');
  const me = await ask(host.url, null, 'POST', '/api/login', { json: { key } });
  assert.equal(me.data.role, 'approver');
}

async function signOut({ opened: { page }, host }) {
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  await page.reload();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  assert.equal(await page.evaluate(async () => (await fetch('/v1/capsules')).status), 401);
  await page.getByLabel('Operator key').fill(ADMIN_KEY);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'Capsules', level: 1 }).or(page.getByRole('heading', { name: 'Operators', level: 1 })).waitFor();
  await visit(page, host.url, 'overview');
}

/** Initializes an MCP session with the agent's token. */
function listTools(host, token) {
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'build-agent', version: '1' } };
  return ask(host.url, token, 'POST', '/mcp', { json: { jsonrpc: '2.0', id: 1, method: 'initialize', params }, headers: { accept: 'application/json, text/event-stream' } });
}
