// @ts-check
// One tool: its definition and a form to call it.

import { path as address, post } from '../api.js';
import { CopyBlock } from '../copy.js';
import { confirm } from '../feedback.js';
import { elapsed, pretty } from '../format.js';
import { Markdown } from '../markdown.js';
import { PageHead } from '../page-head.js';
import { useResource } from '../resource.js';
import { ResultView } from '../result-view.js';
import { to } from '../router.js';
import { JsonInput, SchemaForm } from '../schema-form.js';
import { startingValue } from '../schema.js';
import { Failed, Load } from '../states.js';
import { Hints } from '../tool-hints.js';
import { html, useState } from '../view.js';

/** @param {{ capability: string, name: string }} props */
export function ToolPage({ capability, name }) {
  const tool = useResource(address`/v1/deck/capabilities/${capability}/tools/${name}`);
  const trail = [{ title: 'Capabilities', link: to('capabilities') }, { title: capability, link: to('capabilities', capability) }];
  return html`<${PageHead} title=${name} trail=${trail} badge=${html`<${Hints} of=${tool.data?.annotations} />`} />
    <${Load} of=${tool}>${(/** @type {any} */ data) => html`<div class="columns wide-left">
      <div class="stack"><${TryIt} key=${name} capability=${capability} tool=${data} /></div>
      <div class="stack"><${About} tool=${data} /></div>
    </div>`}<//>`;
}

/** @param {{ tool: any }} props */
function About({ tool }) {
  const why = tool.why ?? {};
  return html`
    ${tool.description && html`<section class="card flat" aria-labelledby="says"><h2 id="says">Description</h2><${Markdown} text=${String(tool.description)} /></section>`}
    <section class="card flat" aria-labelledby="agents"><h2 id="agents">For agents</h2><dl class="facts">
      <dt>Name</dt><dd><code>${why.agentName ?? tool.name}</code></dd>
      <dt>Listed</dt><dd>${why.listed ? 'yes' : 'no, only by search'}</dd>
      <dt>Policy</dt><dd>${why.policy ?? '–'}${why.policyBecause ? html` <span class="soft">(${why.policyBecause})</span>` : ''}</dd>
      ${why.held && html`<dt>Held</dt><dd>${String(why.held)} · <a href=${to('pins', tool.capability)}>review</a></dd>`}
    </dl></section>
    <details class="card flat"><summary>Input schema</summary><${CopyBlock} text=${pretty(tool.inputSchema)} label="the input schema" /></details>
    ${tool.outputSchema && html`<details class="card flat"><summary>Output schema</summary><${CopyBlock} text=${pretty(tool.outputSchema)} label="the output schema" /></details>`}
    ${tool.observedOutputShape && html`<details class="card flat"><summary>Observed output shape</summary><${CopyBlock} text=${typeof tool.observedOutputShape === 'string' ? tool.observedOutputShape : pretty(tool.observedOutputShape)} label="the shape" /></details>`}`;
}

/** @param {{ capability: string, tool: any }} props */
function TryIt({ capability, tool }) {
  const [values, setValues] = useState(() => startingValue(tool.inputSchema ?? {}, tool.inputSchema ?? {}));
  const [raw, setRaw] = useState(false);
  const [answer, setAnswer] = useState(/** @type {null | { result?: any, error?: any, took: number }} */ (null));
  const [busy, setBusy] = useState(false);
  const call = async (approved = false) => {
    setBusy(true);
    const started = performance.now();
    try {
      const result = await post(address`/v1/deck/capabilities/${capability}/tools/${tool.name}/call`, { arguments: values, ...(approved && { approved }) });
      setAnswer({ result, took: performance.now() - started });
    } catch (error) {
      setAnswer({ error, took: performance.now() - started });
    }
    setBusy(false);
  };
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    const dangerous = tool.annotations?.destructiveHint && !tool.annotations?.readOnlyHint;
    if (dangerous && !(await confirm({ title: `Call ${tool.name}?`, text: 'The tool is marked as destructive. Its effects may be permanent.', action: 'Call tool', danger: true }))) return;
    await call();
  };
  return html`<section class="card" aria-labelledby="try">
      <div class="row spread"><h2 id="try">Try it</h2><button class="button small quiet" type="button" aria-pressed=${raw} onClick=${() => setRaw(!raw)}>${raw ? 'Use the form' : 'Edit as JSON'}</button></div>
      <form class="stack" onSubmit=${submit}>
        ${raw
          ? html`<div class="field"><label for="raw-arguments">Arguments</label><${JsonInput} common=${{ id: 'raw-arguments' }} rows=${10} value=${values} onChange=${(/** @type {any} */ next) => setValues(next ?? {})} /></div>`
          : html`<${SchemaForm} schema=${tool.inputSchema} value=${values} onChange=${setValues} />`}
        <div class="row"><button class="button main" type="submit" disabled=${busy}>${busy ? 'Calling…' : 'Call'}</button><span class="small soft">The policy applies and the call is recorded, as for an agent.</span></div>
      </form>
    </section>
    <div aria-live="polite" class="stack">${answer && html`<${Answer} answer=${answer} approve=${() => call(true)} />`}</div>`;
}

/** @param {{ answer: any, approve: () => Promise<void> }} props */
function Answer({ answer, approve }) {
  if (answer.error?.code === 'approval_required') {
    return html`<div class="notice warn"><div class="stack tight grow"><strong>Requires approval</strong><span>${answer.error.message}</span>
      <div><button class="button main" type="button" onClick=${approve}>Approve and retry</button></div></div></div>`;
  }
  if (answer.error) return html`<${Failed} error=${answer.error} />`;
  return html`<section class="card" aria-labelledby="answer"><div class="row spread"><h2 id="answer">Result</h2><span class="small soft number">${elapsed(Math.round(answer.took))}</span></div><${ResultView} result=${answer.result} /></section>`;
}
