// @ts-check
// Who knows of a capsule.

export const VISIBILITIES = /** @type {[string, string][]} */ ([
  ['private', 'Private: you and admins'],
  ['team', 'Team: every operator may read it, and ask for access for an agent'],
  ['discoverable', 'Discoverable: like team, and agents see that it exists'],
]);
