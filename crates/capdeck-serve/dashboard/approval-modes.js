// @ts-check
// Who decides about requests for access.

export const APPROVAL_MODES = /** @type {[string, string][]} */ ([
  ['human', 'People decide everything'],
  ['supervisor', 'People, and programs that may manage the registry'],
  ['policy', 'The rules of the policy, and people for what they leave'],
]);
