// @ts-check
// What pages are written with: templates that become nodes, and hooks. Text is only ever put in as text.

import htm from './vendor/htm.js';
import { h } from './vendor/preact.js';

export { Fragment, h, render } from './vendor/preact.js';
export { useCallback, useEffect, useErrorBoundary, useId, useLayoutEffect, useMemo, useRef, useState } from './vendor/hooks.js';

export const html = htm.bind(h);
