// @ts-check
// Renders untrusted Markdown as nodes: it is never parsed as HTML, links open only web and mail addresses, images are not loaded.

import { html } from './view.js';

/** Deeper lists and quotes are shown as text. */
const MAX_DEPTH = 8;
/** Longer texts are shown as plain text, longer paragraphs without emphasis: the search for it takes more than linear time. */
const MAX_TEXT_LENGTH = 400_000;
const MAX_PARAGRAPH_LENGTH = 4000;

/** @param {{ text: string }} props */
export function Markdown({ text }) {
  if (text.length > MAX_TEXT_LENGTH) return html`<pre class="wrap" tabindex="0">${text}</pre>`;
  return html`<div class="markdown">${blocks(text.replace(/\r\n?/g, '\n').split('\n'), 0)}</div>`;
}

/**
 * @param {string[]} lines
 * @param {number} depth
 * @returns {any[]}
 */
function blocks(lines, depth) {
  const made = [];
  let at = 0;
  while (at < lines.length) {
    const [node, next] = block(lines, at, depth);
    if (node) made.push(node);
    at = next;
  }
  return made;
}

/**
 * Parses the block at a line; returns it with the index of the next block.
 * @param {string[]} lines
 * @param {number} at
 * @param {number} depth
 * @returns {[any, number]}
 */
function block(lines, at, depth) {
  const line = lines[at];
  if (!line.trim()) return [null, at + 1];
  const fence = /^ {0,3}(`{3,}|~{3,})/.exec(line);
  if (fence) return fenced(lines, at, fence[1]);
  const heading = /^ {0,3}(#{1,6})\s+(.*?)\s*#*$/.exec(line);
  if (heading) return [title(heading[1].length, heading[2]), at + 1];
  if (/^ {0,3}([-*_])(\s*\1){2,}\s*$/.test(line)) return [html`<hr />`, at + 1];
  if (depth < MAX_DEPTH && /^ {0,3}>/.test(line)) return quote(lines, at, depth);
  if (depth < MAX_DEPTH && bullet(line)) return list(lines, at, depth);
  if (line.includes('|') && /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/.test(lines[at + 1] ?? '')) return table(lines, at);
  return paragraph(lines, at);
}

/** @param {number} level @param {string} text */
function title(level, text) {
  // The page has its own h1 and h2.
  const name = ['h3', 'h4', 'h5', 'h6', 'h6', 'h6'][level - 1];
  return html`<${name} class=${`level-${level}`}>${inline(text)}<//>`;
}

/** @param {string[]} lines @param {number} at @param {string} fence @returns {[any, number]} */
function fenced(lines, at, fence) {
  let end = at + 1;
  while (end < lines.length && !(lines[end].trim().startsWith(fence) && !lines[end].trim().replaceAll(fence[0], ''))) end += 1;
  return [html`<pre tabindex="0"><code>${lines.slice(at + 1, end).join('\n')}</code></pre>`, end + 1];
}

/** @param {string[]} lines @param {number} at @param {number} depth @returns {[any, number]} */
function quote(lines, at, depth) {
  let end = at;
  while (end < lines.length && /^ {0,3}>/.test(lines[end])) end += 1;
  const inner = lines.slice(at, end).map((line) => line.replace(/^ {0,3}> ?/, ''));
  return [html`<blockquote>${blocks(inner, depth + 1)}</blockquote>`, end];
}

/** @param {string} line */
function bullet(line) {
  const found = /^(\s*)([-*+]|\d{1,9}[.)])\s+/.exec(line);
  return found && { indent: found[1].length, width: found[0].length, ordered: /\d/.test(found[2]) };
}

/** @param {string[]} lines @param {number} at @param {number} depth @returns {[any, number]} */
function list(lines, at, depth) {
  const first = /** @type {NonNullable<ReturnType<typeof bullet>>} */ (bullet(lines[at]));
  const items = [];
  let end = at;
  while (end < lines.length) {
    const mark = bullet(lines[end]);
    if (!mark || mark.indent > first.indent + 3 || mark.indent < first.indent || mark.ordered !== first.ordered) break;
    const inner = [lines[end].slice(mark.width)];
    end += 1;
    while (end < lines.length && belongs(lines, end, mark.width)) {
      inner.push(lines[end].slice(Math.min(mark.width, lines[end].length - lines[end].trimStart().length)));
      end += 1;
    }
    const task = /^\[([ xX])\] (.*)$/.exec(inner[0]);
    if (task) inner[0] = `${task[1] === ' ' ? '☐' : '☑'} ${task[2]}`;
    items.push(html`<li>${inner.length === 1 ? inline(inner[0]) : blocks(inner, depth + 1)}</li>`);
  }
  return [first.ordered ? html`<ol>${items}</ol>` : html`<ul>${items}</ul>`, end];
}

/** @param {string[]} lines @param {number} at @param {number} width */
function belongs(lines, at, width) {
  const line = lines[at];
  if (!line.trim()) return /^\s{2,}\S/.test(lines[at + 1] ?? '');
  return line.length - line.trimStart().length >= Math.min(width, 2);
}

/** @param {string[]} lines @param {number} at @returns {[any, number]} */
function table(lines, at) {
  const cells = (/** @type {string} */ line) => line.trim().replace(/^\||\|$/g, '').split('|').map((cell) => cell.trim());
  let end = at + 2;
  while (end < lines.length && lines[end].includes('|')) end += 1;
  return [html`<div class="table-frame" tabindex="0"><table>
    <thead><tr>${cells(lines[at]).map((cell) => html`<th scope="col">${inline(cell)}</th>`)}</tr></thead>
    <tbody>${lines.slice(at + 2, end).map((line) => html`<tr>${cells(line).map((cell) => html`<td>${inline(cell)}</td>`)}</tr>`)}</tbody>
  </table></div>`, end];
}

/** @param {string[]} lines @param {number} at @returns {[any, number]} */
function paragraph(lines, at) {
  let end = at + 1;
  const interrupts = (/** @type {string} */ line) => !line.trim() || /^ {0,3}(#{1,6}\s|>|`{3}|~{3})/.test(line) || bullet(line);
  while (end < lines.length && !interrupts(lines[end])) end += 1;
  return [html`<p>${inline(lines.slice(at, end).join('\n'))}</p>`, end];
}

const INLINE = /(`+)([^`]|[^`][\s\S]*?[^`])\1(?!`)|(!?)\[([^\]\n]*)\]\(\s*<?([^\s)>]*)>?[^)\n]*\)|<(https?:\/\/[^\s<>]+)>|(\*\*|__)(?=\S)([\s\S]*?\S)\7|([*_])(?=\S)([^*_\n]*?[^*_\s])\9(?!\w)/;

/**
 * Renders the emphasis, code and links of one block.
 * @param {string} text
 * @param {number} [depth]
 * @returns {any[]}
 */
function inline(text, depth = 0) {
  if (text.length > MAX_PARAGRAPH_LENGTH) return [text];
  const made = [];
  let rest = text;
  while (depth < MAX_DEPTH) {
    const found = INLINE.exec(rest);
    if (!found) break;
    if (found.index > 0) made.push(rest.slice(0, found.index));
    made.push(span(found, depth));
    rest = rest.slice(found.index + found[0].length);
  }
  made.push(rest);
  return made;
}

/** @param {RegExpExecArray} found @param {number} depth */
function span(found, depth) {
  const [whole, ticks, code, picture, label, target, address, , strong, , emphasis] = found;
  if (ticks) return html`<code>${code}</code>`;
  if (address) return link(address, [address]);
  if (strong) return html`<strong>${inline(strong, depth + 1)}</strong>`;
  if (emphasis) return html`<em>${inline(emphasis, depth + 1)}</em>`;
  // Loading an image would send a request to another host.
  if (picture) return link(target, [`image: ${label || target}`]);
  return target === undefined ? whole : link(target, inline(label, depth + 1));
}

/** @param {string} target @param {any[]} children */
function link(target, children) {
  const href = safeAddress(target);
  if (!href) return html`<span>${children} <code>${target}</code></span>`;
  return html`<a href=${href} target="_blank" rel="noopener noreferrer nofollow">${children}</a>`;
}

/**
 * Returns the address if it can only open a page or a mail.
 * @param {string} target
 */
export function safeAddress(target) {
  try {
    const url = new URL(target);
    return ['http:', 'https:', 'mailto:'].includes(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}
