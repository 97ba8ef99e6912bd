// @ts-check
// The result of a tool call. All of it is untrusted.

import { CopyBlock } from './copy.js';
import { bytes, pretty } from './format.js';
import { html } from './view.js';

/** Image types that cannot contain scripts. */
const PICTURES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];

/** @param {{ result: any }} props */
export function ResultView({ result }) {
  const parts = Array.isArray(result?.content) ? result.content : [];
  const structured = result?.structuredContent;
  const isRepeated = parts.length === 1 && structured !== undefined && sameJson(parts[0]?.text, structured);
  return html`<div class="stack">
    ${result?.isError && html`<div class="notice bad"><span>The tool reported an error.</span></div>`}
    ${!isRepeated && parts.map((/** @type {any} */ part, /** @type {number} */ at) => html`<${Part} key=${at} part=${part} />`)}
    ${structured !== undefined && html`<div class="stack tight"><h3>Structured</h3><${CopyBlock} text=${pretty(structured)} label="the structured result" /></div>`}
    ${parts.length === 0 && structured === undefined && html`<p class="soft">The result has no content.</p>`}
    <details><summary>Full result</summary><${CopyBlock} text=${pretty(result)} label="the full result" /></details>
  </div>`;
}

/** @param {{ part: any }} props */
function Part({ part }) {
  switch (part?.type) {
    case 'text':
      return html`<${CopyBlock} text=${readable(String(part.text ?? ''))} label="the text" />`;
    case 'image':
      if (PICTURES.includes(part.mimeType)) return html`<img class="result-picture" alt="Image from the tool" src=${`data:${part.mimeType};base64,${part.data}`} />`;
      return html`<p class="soft">Image of type <code>${String(part.mimeType)}</code>, ${bytes(String(part.data ?? '').length * 0.75)}</p>`;
    case 'audio':
      return html`<p class="soft">Audio of type <code>${String(part.mimeType)}</code>, ${bytes(String(part.data ?? '').length * 0.75)}</p>`;
    case 'resource_link':
      return html`<p>${String(part.name ?? 'Resource')}: <code>${String(part.uri)}</code></p>`;
    case 'resource':
      return html`<div class="stack tight"><code>${String(part.resource?.uri)}</code>${typeof part.resource?.text === 'string' && html`<${CopyBlock} text=${part.resource.text} label="the resource" />`}</div>`;
    default:
      return html`<${CopyBlock} text=${pretty(part)} label="the part" />`;
  }
}

/** @param {string} text */
function readable(text) {
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    return pretty(JSON.parse(text));
  } catch {
    return text;
  }
}

/** @param {any} text @param {any} value */
function sameJson(text, value) {
  if (typeof text !== 'string') return false;
  try {
    return JSON.stringify(JSON.parse(text)) === JSON.stringify(value);
  } catch {
    return false;
  }
}
