// @ts-check
// Formats numbers, times and sizes.

const plain = new Intl.NumberFormat('en', { maximumFractionDigits: 1 });
const short = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });
const moment = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'medium' });
const clock = new Intl.DateTimeFormat('en', { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' });
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'short' });

/** @param {number | null | undefined} value */
export const number = (value) => (value === null || value === undefined ? '–' : plain.format(value));

/** @param {number | null | undefined} value */
export const compact = (value) => (value === null || value === undefined ? '–' : short.format(value));

/** @param {number | null | undefined} value */
export function bytes(value) {
  if (value === null || value === undefined) return '–';
  const units = ['B', 'KiB', 'MiB', 'GiB'];
  let [size, unit] = [value, 0];
  while (size >= 1024 && unit < units.length - 1) [size, unit] = [size / 1024, unit + 1];
  return `${plain.format(size)} ${units[unit]}`;
}

/** @param {number | null | undefined} milliseconds */
export function elapsed(milliseconds) {
  if (milliseconds === null || milliseconds === undefined) return '–';
  if (milliseconds < 1000) return `${plain.format(milliseconds)} ms`;
  if (milliseconds < 60_000) return `${plain.format(milliseconds / 1000)} s`;
  return `${Math.floor(milliseconds / 60_000)} min ${Math.round((milliseconds % 60_000) / 1000)} s`;
}

/** @param {string | number | null | undefined} time */
export function exact(time) {
  const date = time === null || time === undefined ? null : new Date(time);
  return date && !Number.isNaN(date.getTime()) ? moment.format(date) : '–';
}

/** @param {string | number} time */
export function timeOfDay(time) {
  const date = new Date(time);
  return Number.isNaN(date.getTime()) ? '–' : clock.format(date);
}

/**
 * The value of a datetime-local field: local time, to the minute.
 * @param {number} time
 */
export function asField(time) {
  const date = new Date(time);
  return new Date(time - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

/** @param {string | number | null | undefined} time @param {number} [now] */
export function ago(time, now = Date.now()) {
  const at = time === null || time === undefined ? NaN : new Date(time).getTime();
  if (Number.isNaN(at)) return '–';
  const seconds = (at - now) / 1000;
  const steps = /** @type {[Intl.RelativeTimeFormatUnit, number][]} */ ([['day', 86_400], ['hour', 3600], ['minute', 60]]);
  const step = steps.find(([, size]) => Math.abs(seconds) >= size);
  if (step) return relative.format(Math.trunc(seconds / step[1]), step[0]);
  return seconds > 5 ? 'in less than a minute' : 'just now';
}

/** @param {number} seconds */
export function uptime(seconds) {
  const [days, hours, minutes] = [Math.floor(seconds / 86_400), Math.floor((seconds % 86_400) / 3600), Math.floor((seconds % 3600) / 60)];
  if (days > 0) return `${days} d ${hours} h`;
  if (hours > 0) return `${hours} h ${minutes} min`;
  return minutes > 0 ? `${minutes} min` : 'less than a minute';
}

/**
 * @param {number} count
 * @param {string} one
 * @param {string} [many]
 */
export const counted = (count, one, many = `${one}s`) => `${number(count)} ${count === 1 ? one : many}`;

/** @param {any} value */
export const pretty = (value) => JSON.stringify(value, null, 2) ?? 'undefined';

/**
 * Pretty-prints JSON; returns other text unchanged.
 * @param {any} value
 */
export function readable(value) {
  if (typeof value !== 'string') return pretty(value);
  try {
    return pretty(JSON.parse(value));
  } catch {
    return value;
  }
}

/**
 * Splits a text at commas and line breaks, without empty items.
 * @param {string} text
 */
export const words = (text) => text.split(/[\n,]/).map((word) => word.trim()).filter(Boolean);
