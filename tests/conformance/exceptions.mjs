// What cannot pass in some run, each with its reason. A run fails when one of these passes after all.

export const exceptions = [
  {
    runs: ['legacy stdio', 'modern http', 'modern stdio', 'legacy attach', 'modern attach', 'sdk stdio'],
    revision: '2025-11-25',
    scenario: 'server-sse-polling',
    checks: ['server-sse-disconnect-resume'],
    reason:
      'the tool of this scenario closes its own event stream; on pipes and in the modern era a server has no such stream to close',
  },
  {
    runs: ['deck'],
    revision: '2026-07-28',
    scenario: 'server-stateless',
    checks: [
      'sep-2575-server-rejects-undeclared-capability',
      'sep-2575-missing-capability-http-400',
      'sep-2575-http-server-no-independent-requests-on-stream',
      'sep-2575-server-no-log-without-loglevel',
      'sep-2575-server-sends-prompts-list-changed-on-subscription',
      'sep-2575-server-sends-tools-list-changed-on-subscription',
    ],
    reason: 'needs a tool of the fixture by its own name, which the deck does not have; the runs at the fixture\'s own endpoint check it',
  },
];

/** The checks of one scenario that a run may miss, by id. */
export function excused(label, revision, scenario) {
  const rows = exceptions.filter(
    (row) => row.runs.includes(label) && row.revision === revision && row.scenario === scenario,
  );
  return new Map(rows.flatMap(({ checks, reason }) => checks.map((check) => [check, reason])));
}
