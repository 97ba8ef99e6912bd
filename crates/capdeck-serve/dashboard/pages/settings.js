// @ts-check
// How the host is set up. What may be changed at run time can be changed here.

import { patch } from '../api.js';
import { useAct } from '../act.js';
import { pretty } from '../format.js';
import { PageHead } from '../page-head.js';
import { useResource } from '../resource.js';
import { SchemaForm } from '../schema-form.js';
import { Load } from '../states.js';
import { html, useState } from '../view.js';

export default function Settings() {
  const settings = useResource('/v1/settings');
  return html`<${PageHead} title="Settings" lede="What holds for this host. Files, environment and flags are read at its start; they win over nothing here." />
    <${Load} of=${settings}>${(/** @type {any} */ data) => html`<${Table} data=${data} onSaved=${settings.replace} />`}<//>`;
}

/** @param {{ data: any, onSaved: (data: any) => void }} props */
function Table({ data, onSaved }) {
  return html`<pre>${pretty(data)}</pre>`;
}
