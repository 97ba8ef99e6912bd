// @ts-check
// The light and dark theme.

import { signal, useSignal } from './signal.js';
import { Icon } from './icons.js';
import { html } from './view.js';

const KEY = 'capdeck-theme';
const systemIsDark = matchMedia('(prefers-color-scheme: dark)');

const shown = signal(current());

systemIsDark.addEventListener('change', () => shown.set(current()));

function current() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ?? (systemIsDark.matches ? 'dark' : 'light');
}

/** Switches the theme. Choosing the system's theme clears the stored choice. */
export function toggleTheme() {
  const next = current() === 'dark' ? 'light' : 'dark';
  const isSystems = (next === 'dark') === systemIsDark.matches;
  if (isSystems) delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = next;
  try {
    if (isSystems) localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, next);
  } catch {
    // Without storage the choice is lost on reload.
  }
  shown.set(next);
}

export function ThemeToggle() {
  const theme = useSignal(shown);
  const other = theme === 'dark' ? 'light' : 'dark';
  return html`<button class="button quiet icon small" type="button" onClick=${toggleTheme} aria-label=${`Use the ${other} theme`} title=${`Use the ${other} theme`}>
    <${Icon} name=${theme === 'dark' ? 'sun' : 'moon'} />
  </button>`;
}
