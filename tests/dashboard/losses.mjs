// Data loss: unsaved text, missed events, permanent deletion.

import assert from 'node:assert/strict';

import { openPage, openTab, settled, visit } from './watched-page.mjs';

const EDITOR = `capsules/team/entry?${new URLSearchParams({ uri: 'docs://architecture', view: 'edit' })}`;

export const LOSSES = [
  ['leaving unsaved text requires confirmation', staysUntilLeft],
  ['missed events cause a reload, except of text being edited', asksAgain],
  ['deleting a capsule permanently requires its name', removedForGood],
  ['a file that does not load shows the reason and the next step', brokenFile],
  ['the failed calls match the counter', failedCalls],
  ['on a phone every table row shows its actions', rowsOnPhone],
];

async function staysUntilLeft({ opened: { page }, host }) {
  await visit(page, host.url, 'capsules/team');
  await visit(page, host.url, EDITOR);
  const content = page.getByRole('textbox', { name: 'Content' });
  await content.fill('half a thought');
  const question = page.getByRole('dialog', { name: 'Leave without saving?' });
  for (const leave of [() => page.getByRole('link', { name: 'Activity', exact: true }).click(), () => page.goBack(), () => page.getByRole('link', { name: 'History', exact: true }).click()]) {
    await leave();
    await question.getByRole('button', { name: 'Cancel' }).click();
    assert.equal(await content.inputValue(), 'half a thought');
    assert.match(page.url(), /view=edit/, 'the address is of the shown page');
  }
  await page.getByRole('link', { name: 'Activity', exact: true }).click();
  await question.getByRole('button', { name: 'Leave' }).click();
  await page.getByRole('heading', { name: 'Activity', level: 1 }).waitFor();
  await visit(page, host.url, 'capsules/team');
}

async function asksAgain({ opened, host }) {
  const tab = await openTab(opened, host.url);
  const { page } = tab;
  // A feed that reports missed events on every connection.
  await page.route('**/api/activity', (route) => route.fulfill({ contentType: 'text/event-stream', body: 'retry: 100\nevent: missed\ndata: {}\n\n' }));
  const asked = (part) => page.waitForResponse((response) => response.url().includes(part) && response.request().method() === 'GET');
  await page.goto(`${host.url}/#/capsules/team`);
  await settled(page);
  await asked('/v1/capsules/team/entries');
  await asked('/v1/capsules/team/entries');
  await visit(page, host.url, 'activity');
  await page.getByText('Some events were not received').waitFor();
  await visit(page, host.url, EDITOR);
  const content = page.getByRole('textbox', { name: 'Content' });
  await content.fill('still mine');
  const { data: before } = await host.ask('GET', '/v1/capsules/team/entries/docs/architecture');
  await host.ask('PUT', '/v1/capsules/team/entries/docs/architecture', { json: { content: `${before.body}\nOne more line.\n` } });
  await asked('/v1/overview');
  await asked('/v1/overview');
  assert.equal(await content.inputValue(), 'still mine');
  await tab.assertClean();
  await page.close();
}

async function removedForGood({ opened: { page }, host }) {
  await host.ask('POST', '/v1/capsules', { json: { name: 'Scratch pad' } });
  await visit(page, host.url, 'capsules/scratch-pad/settings');
  await page.getByRole('button', { name: 'Delete permanently' }).click();
  const dialog = page.getByRole('dialog', { name: 'Delete Scratch pad permanently?' });
  const confirm = dialog.getByRole('button', { name: 'Delete permanently' });
  assert.equal(await confirm.isDisabled(), true);
  await dialog.getByRole('textbox').fill('scratch');
  assert.equal(await confirm.isDisabled(), true);
  await dialog.getByRole('textbox').fill('Scratch pad');
  await confirm.click();
  await page.getByRole('heading', { name: 'Capsules', level: 1 }).waitFor();
  assert.equal((await host.ask('DELETE', '/v1/capsules/scratch-pad?purge=1')).status, 404, 'nothing is left');
}

async function brokenFile({ opened: { page }, host }) {
  await visit(page, host.url, 'capabilities/broken');
  await page.getByRole('heading', { name: 'broken', level: 1 }).waitFor();
  const text = await page.locator('#main').innerText();
  assert.match(text, /Not loaded:.*description.*is missing/);
  assert.match(text, /capdeck validate .*broken\.md/);
  assert.doesNotMatch(text, /`/);
}

async function failedCalls({ opened: { page }, host }) {
  const failed = async () => (await host.ask('GET', '/v1/overview')).data.calls.errors_last_24_hours;
  const before = await failed();
  await host.ask('POST', '/v1/deck/capabilities/files/tools/greet/call', { json: { arguments: {} } });
  // Audit lines are written in batches, shortly after their calls.
  while ((await failed()) === before);
  await visit(page, host.url, 'overview');
  const figure = page.getByRole('link', { name: /failed in 24 hours/ });
  assert.match(await figure.innerText(), new RegExp(`^${before + 1}\\b`));
  await figure.click();
  const trail = page.getByRole('list', { name: 'Audit trail' });
  await trail.waitFor();
  assert.equal(await trail.getByRole('listitem').count(), before + 1);
  assert.equal(await page.getByLabel('Outcome').inputValue(), 'failed');
}

async function rowsOnPhone({ browser, host, storage }) {
  const opened = await openPage(browser, host.url, { width: 390, height: 844, storageState: storage });
  const { page } = opened;
  await visit(page, host.url, 'operators');
  const row = page.getByRole('row', { name: /Ada/ });
  const box = await row.getByRole('button', { name: 'Remove' }).boundingBox();
  assert.ok(box && box.x >= 0 && box.x + box.width <= 390, JSON.stringify(box));
  for (const [place, label] of [[1, '"Signs in with"'], [2, '"Last used"']]) {
    const cell = row.getByRole('cell').nth(place);
    assert.equal(await cell.evaluate((element) => getComputedStyle(element, '::before').content), label);
  }
  await opened.assertClean();
  await opened.context.close();
}
