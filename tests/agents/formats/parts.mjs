// What the formats have in common.

// The text of a content that may be a text or a list of parts.
export function textOf(content) {
  if (content === undefined || content === null) return '';
  if (typeof content === 'string') return unpacked(content);
  const parts = Array.isArray(content) ? content : [content];
  return parts.map((part) => part.text ?? part.output ?? JSON.stringify(part)).join('\n');
}

export const sse = (value, event) =>
  `${event ? `event: ${event}\n` : ''}data: ${typeof value === 'string' ? value : JSON.stringify(value)}\n\n`;

// Some send the list of parts as its JSON.
function unpacked(text) {
  if (!text.startsWith('[{"type":"text"')) return text;
  try {
    return textOf(JSON.parse(text));
  } catch {
    return text;
  }
}
