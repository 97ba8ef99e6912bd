// @ts-check
// Copy buttons.

import { complain, say } from './feedback.js';
import { Icon } from './icons.js';
import { html, useState } from './view.js';

/** @param {{ text: string, label: string }} props */
export function CopyButton({ text, label }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setCopied(true);
      say(`Copied ${label}`);
      setTimeout(() => setCopied(false), 2000);
    } catch {
      complain(new Error('the browser does not allow copying; select the text instead'));
    }
  };
  return html`<button class="button small" type="button" aria-label=${`Copy ${label}`} onClick=${copy}><${Icon} name=${copied ? 'check' : 'copy'} />${copied ? 'Copied' : 'Copy'}</button>`;
}

/** @param {{ text: string, label: string }} props */
export function CopyBlock({ text, label }) {
  return html`<div class="copy-frame"><pre class="wrap tall" tabindex="0">${text}</pre><${CopyButton} text=${text} label=${label} /></div>`;
}
