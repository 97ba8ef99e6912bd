// @ts-check
// The visibilities of a capsule.

export const VISIBILITIES = /** @type {[string, string][]} */ ([
  ['private', 'Private: you and admins'],
  ['team', 'Team: every operator can read it and request access for an agent'],
  ['discoverable', 'Discoverable: like team, and agents can see that it exists'],
]);
