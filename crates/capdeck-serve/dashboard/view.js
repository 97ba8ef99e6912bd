// @ts-check
// Templates and hooks. Values are always inserted as text, never as HTML.

import htm from './vendor/htm.js';
import { h } from './vendor/preact.js';

export { Fragment, h, render } from './vendor/preact.js';
export { useCallback, useEffect, useErrorBoundary, useId, useLayoutEffect, useMemo, useRef, useState } from './vendor/hooks.js';

export const html = htm.bind(h);
