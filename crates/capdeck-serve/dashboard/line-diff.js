// @ts-check
// Line differences of two texts, and a parser for unified diffs.

/** @typedef {{ kind: 'same' | 'old' | 'new' | 'gap', text: string, old: number | null, new: number | null }} DiffLine */

/** Limits the search; beyond it the whole text counts as replaced. */
const MAX_STEPS = 2000;

/**
 * Compares two texts line by line (Myers' greedy search).
 * @param {string} before
 * @param {string} after
 * @returns {DiffLine[]}
 */
export function compareLines(before, after) {
  const [left, right] = [before, after].map((text) => (text === '' ? [] : text.split('\n')));
  let head = 0;
  while (head < left.length && head < right.length && left[head] === right[head]) head += 1;
  let tail = 0;
  while (tail < left.length - head && tail < right.length - head && left[left.length - 1 - tail] === right[right.length - 1 - tail]) tail += 1;
  const middle = search(left.slice(head, left.length - tail), right.slice(head, right.length - tail));
  const same = (/** @type {string} */ text) => /** @type {[DiffLine['kind'], string]} */ (['same', text]);
  return numbered([...left.slice(0, head).map(same), ...middle, ...left.slice(left.length - tail).map(same)]);
}

/**
 * @param {string[]} left
 * @param {string[]} right
 * @returns {[DiffLine['kind'], string][]}
 */
function search(left, right) {
  const replaced = () => [
    ...left.map((text) => /** @type {[DiffLine['kind'], string]} */ (['old', text])),
    ...right.map((text) => /** @type {[DiffLine['kind'], string]} */ (['new', text])),
  ];
  const most = Math.min(left.length + right.length, MAX_STEPS);
  /** @type {Map<number, number>[]} */
  const trail = [];
  let ends = new Map([[1, 0]]);
  for (let steps = 0; steps <= most; steps += 1) {
    trail.push(new Map(ends));
    for (let k = -steps; k <= steps; k += 2) {
      const down = k === -steps || (k !== steps && (ends.get(k - 1) ?? -1) < (ends.get(k + 1) ?? -1));
      let x = down ? ends.get(k + 1) ?? 0 : (ends.get(k - 1) ?? 0) + 1;
      while (x < left.length && x - k < right.length && left[x] === right[x - k]) x += 1;
      ends.set(k, x);
      if (x >= left.length && x - k >= right.length) return walkBack(left, right, trail, steps);
    }
  }
  return replaced();
}

/** @param {string[]} left @param {string[]} right @param {Map<number, number>[]} trail @param {number} steps */
function walkBack(left, right, trail, steps) {
  /** @type {[DiffLine['kind'], string][]} */
  const made = [];
  let [x, y] = [left.length, right.length];
  for (let step = steps; step >= 0; step -= 1) {
    const ends = trail[step];
    const k = x - y;
    const down = k === -step || (k !== step && (ends.get(k - 1) ?? -1) < (ends.get(k + 1) ?? -1));
    const from = down ? k + 1 : k - 1;
    const startX = step === 0 ? 0 : ends.get(from) ?? 0;
    const startY = step === 0 ? 0 : startX - from;
    while (x > startX && y > startY && left[x - 1] === right[y - 1]) {
      made.push(['same', left[x - 1]]);
      [x, y] = [x - 1, y - 1];
    }
    if (step > 0) made.push(down ? ['new', right[y - 1]] : ['old', left[x - 1]]);
    [x, y] = [startX, startY];
  }
  return made.reverse();
}

/** @param {[DiffLine['kind'], string][]} lines @returns {DiffLine[]} */
function numbered(lines) {
  let [before, after] = [0, 0];
  return lines.map(([kind, text]) => {
    if (kind !== 'new') before += 1;
    if (kind !== 'old') after += 1;
    return { kind, text, old: kind === 'new' ? null : before, new: kind === 'old' ? null : after };
  });
}

/**
 * Parses a unified diff.
 * @param {string} diff
 * @returns {DiffLine[]}
 */
export function readUnified(diff) {
  /** @type {DiffLine[]} */
  const made = [];
  let [before, after, inside] = [0, 0, false];
  for (const line of diff.split('\n')) {
    const place = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/.exec(line);
    if (place) {
      [before, after] = [Number(place[1]) - 1, Number(place[2]) - 1];
      if (inside) made.push({ kind: 'gap', text: '', old: null, new: null });
      inside = true;
    } else if (inside && line !== '') {
      const [mark, text] = [line[0], line.slice(1)];
      if (mark === '\\') continue;
      const kind = mark === '-' ? 'old' : mark === '+' ? 'new' : 'same';
      if (kind !== 'new') before += 1;
      if (kind !== 'old') after += 1;
      made.push({ kind, text, old: kind === 'new' ? null : before, new: kind === 'old' ? null : after });
    }
  }
  return made;
}

/**
 * Keeps changes and the lines around them; omitted lines become a gap.
 * @param {DiffLine[]} lines
 * @param {number} [around]
 * @returns {DiffLine[]}
 */
export function changesOnly(lines, around = 3) {
  const near = new Set();
  lines.forEach((line, at) => {
    if (line.kind === 'same') return;
    for (let one = at - around; one <= at + around; one += 1) near.add(one);
  });
  /** @type {DiffLine[]} */
  const made = [];
  lines.forEach((line, at) => {
    if (near.has(at)) made.push(line);
    else if (made.length > 0 && made[made.length - 1].kind !== 'gap') made.push({ kind: 'gap', text: '', old: null, new: null });
  });
  return made.at(-1)?.kind === 'gap' ? made.slice(0, -1) : made;
}

/**
 * Pairs removed lines with the lines that replace them.
 * @param {DiffLine[]} lines
 * @returns {{ left: DiffLine | null, right: DiffLine | null }[]}
 */
export function sideBySide(lines) {
  const rows = [];
  let at = 0;
  while (at < lines.length) {
    if (lines[at].kind === 'same' || lines[at].kind === 'gap') {
      rows.push({ left: lines[at], right: lines[at] });
      at += 1;
      continue;
    }
    const old = /** @type {DiffLine[]} */ ([]);
    const fresh = /** @type {DiffLine[]} */ ([]);
    while (at < lines.length && (lines[at].kind === 'old' || lines[at].kind === 'new')) {
      (lines[at].kind === 'old' ? old : fresh).push(lines[at]);
      at += 1;
    }
    for (let row = 0; row < Math.max(old.length, fresh.length); row += 1) rows.push({ left: old[row] ?? null, right: fresh[row] ?? null });
  }
  return rows;
}
