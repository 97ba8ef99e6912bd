// @ts-check
// The approval modes for access requests.

export const APPROVAL_MODES = /** @type {[string, string][]} */ ([
  ['human', 'People decide every request'],
  ['supervisor', 'People, and programs with registry management access'],
  ['policy', 'Policy rules, and people where no rule matches'],
]);
