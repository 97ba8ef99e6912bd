// @ts-check
// Access: requests, grants, profiles and the approval policy.

import { PageHead, Tabs } from '../page-head.js';
import { to } from '../router.js';
import { may } from '../session.js';
import { html } from '../view.js';
import { Policy } from './access-policy.js';
import { Profiles } from './access-profiles.js';
import { Mine } from './access-mine.js';
import { Grants, OneRequest, Requests } from './access-requests.js';

/** @param {{ path: string[], query: Record<string, string> }} props */
export default function Access({ path, query }) {
  const part = path[0] ?? 'requests';
  const tabs = [['requests', 'Requests'], ['grants', 'Grants'], ['decided', 'History'], ['mine', 'My requests'], may('admin') && ['profiles', 'Profiles'], may('admin') && ['policy', 'Policy']]
    .filter((tab) => Array.isArray(tab)).map(([id, title]) => ({ id, title, link: id === 'requests' ? to('access') : to('access', id) }));
  return html`<${PageHead} title="Access" lede="Requests from sign-ins, enrollments and the library. An approval can only narrow a request." />
    <${Tabs} label="Access" current=${part === 'request' ? 'requests' : part} tabs=${tabs} />
    ${part === 'request' && html`<${OneRequest} key=${path[1]} id=${path[1] ?? ''} />`}
    ${part === 'requests' && html`<${Requests} query=${query} />`}
    ${part === 'grants' && html`<${Grants} query=${query} />`}
    ${part === 'decided' && html`<${Grants} query=${query} decided />`}
    ${part === 'mine' && html`<${Mine} />`}
    ${part === 'profiles' && html`<${Profiles} />`}
    ${part === 'policy' && html`<${Policy} />`}`;
}
