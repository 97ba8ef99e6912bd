// @ts-check
// The page header and tabs.

import { html, useEffect } from './view.js';

/**
 * @param {{ title: string, lede?: any, trail?: { title: string, link: string }[], badge?: any, children?: any }} props
 */
export function PageHead({ title, lede, trail = [], badge, children }) {
  useEffect(() => {
    document.title = `${title} · Capdeck`;
  }, [title]);
  return html`<div class="page-head">
    <div>
      ${trail.length > 0 && html`<nav class="trail" aria-label="Breadcrumb">${trail.map((step, at) => html`${at > 0 && html`<span aria-hidden="true">/</span>`}<a href=${step.link}>${step.title}</a>`)}</nav>`}
      <div class="row"><h1 tabindex="-1">${title}</h1>${badge}</div>
      ${lede && html`<p class="lede">${lede}</p>`}
    </div>
    ${children && html`<div class="row">${children}</div>`}
  </div>`;
}

/**
 * @param {{ label: string, current: string, tabs: { id: string, title: string, link: string, count?: number }[] }} props
 */
export function Tabs({ label, current, tabs }) {
  return html`<nav class="tabs" aria-label=${label}>
    ${tabs.map((tab) => html`<a key=${tab.id} href=${tab.link} aria-current=${tab.id === current ? 'page' : undefined}>${tab.title}${tab.count ? html` <span class="soft number">${tab.count}</span>` : ''}</a>`)}
  </nav>`;
}
