// Screenshots for the guide, written with CAPDECK_UPDATE_DOCS=1.

import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { openPage, visit } from './watched-page.mjs';

const folder = path.join(path.dirname(fileURLToPath(import.meta.url)), '../../docs/images');
const ENTRY = `capsules/team/entry?${new URLSearchParams({ uri: 'docs://architecture' })}`;
const PICTURES = [
  ['overview', 'overview', 'light', 1440], ['overview-phone', 'overview', 'light', 390], ['try-it', 'capabilities/files/tools/greet', 'light', 1440],
  ['entry', ENTRY, 'dark', 1440], ['entry-phone', ENTRY, 'dark', 390], ['activity', 'activity/audit', 'dark', 1440],
];

export async function takeScreenshots({ browser, host, storage }) {
  fs.mkdirSync(folder, { recursive: true });
  for (const [name, place, theme, width] of PICTURES) {
    const opened = await openPage(browser, host.url, { theme, width, height: width === 390 ? 844 : 900, storageState: storage });
    await visit(opened.page, host.url, place);
    await opened.page.screenshot({ path: path.join(folder, `dashboard-${name}.png`) });
    await opened.context.close();
  }
}
