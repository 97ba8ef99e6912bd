// @ts-check
// Answers to common questions, and the keyboard shortcuts.

import { Keys } from '../finder.js';
import { PageHead } from '../page-head.js';
import { PAGES } from '../navigation.js';
import { to } from '../router.js';
import { html } from '../view.js';

/** @type {[string, string, string][]} */
const ANSWERS = [
  ['An agent does not see a tool', 'capabilities', 'Open the capability: it shows whether agents see it, why not, and its health. Held definitions are listed under Pins.'],
  ['An agent waits for approval', 'approvals', 'Calls are listed under Approvals, sign-ins and access requests under Access.'],
  ['A tool changed', 'pins', 'Pins show the pinned and the current definition. Until you approve the change, the tool is marked or held.'],
  ['Tools cost too many tokens', 'capabilities', 'The Tokens tab compares the exposures. Search and code mode cost the same for any number of tools.'],
  ['Two people wrote the same entry', 'capsules', 'The second save shows both versions and a merge. Every version can be restored.'],
  ['A client should lose access', 'access', 'Revoke its grant; access ends with the next call.'],
];

export default function Help() {
  return html`<${PageHead} title="Help" lede="Common questions and keyboard shortcuts." />
    <div class="columns">
      <section class="stack" aria-labelledby="answers"><h2 id="answers">Common questions</h2><dl class="answers">${ANSWERS.map(([question, page, answer]) => html`<dt>${question}</dt><dd>${answer} <a href=${to(page)}>${PAGES.find((one) => one.id === page)?.title}</a></dd>`)}</dl></section>
      <section class="card" aria-labelledby="keys"><h2 id="keys">Keys</h2><${Keys} /></section>
    </div>
    <p class="more-link soft">The command line can do all of this, too: <code>capdeck --help</code>. REST API: <a href="/v1/openapi.json">/v1/openapi.json</a>.</p>`;
}
