// @ts-check
// One capsule with its tabs.

import { path as address } from '../api.js';
import { CopyButton } from '../copy.js';
import { Icon } from '../icons.js';
import { PageHead, Tabs } from '../page-head.js';
import { useResource } from '../resource.js';
import { to } from '../router.js';
import { Badge, Load } from '../states.js';
import { html } from '../view.js';
import { CapsuleAccess } from './capsule-access.js';
import { Deleted, Entries } from './capsule-entries.js';
import { CapsuleLog } from './capsule-log.js';
import { CapsuleSettings } from './capsule-settings.js';
import { Signals } from './capsule-signals.js';
import { EntryPage, NewEntry } from './entry.js';

/** @param {{ id: string, path: string[], query: Record<string, string> }} props */
export function Capsule({ id, path, query }) {
  const capsule = useResource(address`/v1/capsules/${id}`);
  const [part = 'entries'] = path;
  const role = capsule.data?.role;
  if (part === 'entry') return html`<${EntryPage} key=${query.uri} capsule=${id} role=${role} uri=${query.uri ?? ''} view=${query.view ?? 'read'} query=${query} />`;
  if (part === 'new') return html`<${NewEntry} capsule=${id} scheme=${query.scheme ?? 'docs'} />`;
  const isOwner = role === 'owner';
  const tabs = [['entries', 'Entries'], ['signals', 'Signals'], ['access', 'Access'], isOwner && ['log', 'Log'], isOwner && ['settings', 'Settings']]
    .filter((tab) => Array.isArray(tab)).map(([tab, title]) => ({ id: tab, title, link: tab === 'entries' ? to('capsules', id) : to('capsules', id, tab) }));
  const isMissing = !capsule.data && /** @type {any} */ (capsule.error)?.status === 404;
  const url = `${location.origin}${capsule.data?.mcp_path ?? address`/mcp/${id}`}`;
  return html`<${PageHead} title=${capsule.data?.name ?? id} lede=${capsule.data?.description} trail=${[{ title: 'Capsules', link: to('capsules') }]} badge=${capsule.data && html`<${Badge} value=${capsule.data.visibility} kind=${capsule.data.visibility === 'private' ? '' : 'info'} />`}>
      ${role && role !== 'reader' && html`<a class="button main" href=${to('capsules', id, 'new')}><${Icon} name="plus" />New entry</a>`}
    <//>
    ${!isMissing && html`<p class="row address"><span class="soft small">MCP address</span><code class="anywhere">${url}</code><${CopyButton} text=${url} label="the address" /><a class="small" href=${to('connect', { capsule: id })}>Connect an agent</a></p>
    <${Tabs} label=${id} current=${part} tabs=${tabs} />`}
    <${Load} of=${capsule}>${(/** @type {any} */ data) => html`
      ${part === 'entries' && html`<${Entries} capsule=${data} query=${query} />`}
      ${part === 'deleted' && html`<${Deleted} capsule=${data} />`}
      ${part === 'signals' && html`<${Signals} capsule=${data} />`}
      ${part === 'access' && html`<${CapsuleAccess} capsule=${data} />`}
      ${part === 'log' && html`<${CapsuleLog} capsule=${data} />`}
      ${part === 'settings' && html`<${CapsuleSettings} capsule=${data} onChange=${capsule.reload} />`}
    `}<//>`;
}
