// @ts-check
// Where to look.

import { Keys } from '../finder.js';
import { PageHead } from '../page-head.js';
import { PAGES } from '../navigation.js';
import { to } from '../router.js';
import { html } from '../view.js';

/** @type {[string, string, string][]} */
const ANSWERS = [
  ['An agent does not see a tool', 'capabilities', 'Open the capability: it says whether agents see it and why not, and how it does. A held definition waits under Pins.'],
  ['An agent waits for something', 'approvals', 'Calls that need a person are under Approvals, sign-ins and requests for access under Access.'],
  ['A tool changed', 'pins', 'Pins show what it was and what it is now. Until you approve, it is marked or held.'],
  ['Tools cost too many tokens', 'capabilities', 'The Tokens tab compares the ways to offer them. Search and code mode cost the same however many tools there are.'],
  ['Two people wrote the same entry', 'capsules', 'Whoever saves second sees both versions and a merge. Nothing is overwritten unseen, and every version can be restored.'],
  ['Somebody should lose access', 'access', 'Revoke the grant: it ends with the next call.'],
];

export default function Help() {
  return html`<${PageHead} title="Help" lede="What people look for most, and the keys." />
    <div class="columns">
      <section class="stack" aria-labelledby="answers"><h2 id="answers">When …</h2><dl class="answers">${ANSWERS.map(([question, page, answer]) => html`<dt>${question}</dt><dd>${answer} <a href=${to(page)}>${PAGES.find((one) => one.id === page)?.title}</a></dd>`)}</dl></section>
      <section class="card" aria-labelledby="keys"><h2 id="keys">Keys</h2><${Keys} /></section>
    </div>
    <p class="more-link soft">Everything here is in the command line, too: <code>capdeck --help</code>. The API is described at <a href="/v1/openapi.json">/v1/openapi.json</a>.</p>`;
}
