// Turns the checks of one run into a verdict.

import { excused } from './exceptions.mjs';

/**
 * Judges one run. Every scenario that counts needs as many passed checks as were recorded, less those that are excused
 * there; a check that no longer runs would be a loss that a percentage hides. What does not count is shown with its
 * result, and may not become less than it was (`known`).
 */
export function judge({ label, revision, found, scored, fewest, known = {} }) {
  const scenarios = {};
  const problems = [];
  for (const [name, minimum] of Object.entries(fewest)) {
    const allowed = excused(label, revision, name);
    const checks = found.get(name) ?? [];
    const result = summary(checks, allowed);
    scenarios[name] = { scored: scored.includes(name), ...result };
    const isKnown = !scored.includes(name) && name in known;
    const expected = isKnown ? known[name] : minimum - allowed.size;
    const stale = checks.filter((check) => allowed.has(check.id) && check.status === 'SUCCESS');
    const bad = result.failing.filter((check) => !allowed.has(check.id));
    if (stale.length > 0) problems.push(`${name}: excused without need: ${stale.map((check) => check.id).join(', ')}`);
    const fails = !isKnown && bad.some((check) => check.status === 'FAILURE');
    if (isKnown && result.passed > expected) {
      problems.push(`${name}: ${result.passed} checks pass, known were ${expected}: write it down in minimums.json`);
    }
    if (result.passed < expected || fails) {
      const why = bad.map((check) => `\n      ${check.status} ${check.id}: ${check.reason}`).join('');
      problems.push(`${name}: ${result.passed} of ${expected} checks pass${why}`);
    }
  }
  for (const name of found.keys()) {
    if (!(name in fewest)) problems.push(`${name}: has no recorded number of checks (run.mjs --record)`);
  }
  const missing = scored.filter((name) => !(name in fewest));
  for (const name of missing) problems.push(`${name}: counts and has no recorded number of checks`);
  return { label, revision, scenarios, problems };
}

/** Whether a scenario passes as the suite sees it: something was checked and nothing failed. */
export function passes({ passed, failing }) {
  return passed > 0 && failing.every((check) => check.status !== 'FAILURE');
}

function summary(checks, allowed) {
  const failing = checks.filter((check) => ['FAILURE', 'WARNING'].includes(check.status));
  return {
    passed: checks.filter((check) => check.status === 'SUCCESS').length,
    skipped: checks.filter((check) => ['SKIPPED', 'INFO'].includes(check.status)).length,
    failing: failing.map((check) => ({ ...check, excuse: allowed.get(check.id) })),
    excused: allowed.size,
  };
}
