// Shows the runs: a table per revision for people, one JSON value for programs.

import { passes } from './judge.mjs';

/** Prints every scenario with the number of its passed checks in each run. */
export function printTable(runs) {
  for (const revision of [...new Set(runs.map((run) => run.revision))]) {
    const columns = runs.filter((run) => run.revision === revision);
    const names = [...new Set(columns.flatMap((run) => Object.keys(run.scenarios)))];
    const width = Math.max(...names.map((name) => name.length)) + 2;
    const row = (head, cells) => {
      const shown = cells.map((text, index) => text.padStart(columns[index].label.length));
      console.log(`${head.padEnd(width)}  ${shown.join('  ')}`);
    };
    console.log(`\n${revision}: passed checks (* does not count, ! fails, ~ less those excused)`);
    row('scenario', columns.map((run) => run.label));
    for (const name of names) {
      const isScored = columns.some((run) => run.scenarios[name]?.scored);
      row(isScored ? name : `${name} *`, columns.map((run) => cell(run.scenarios[name])));
    }
    row('all checks', columns.map((run) => String(checks(run))));
    row('scored scenarios', columns.map((run) => `${score(run).passed}/${score(run).total}`));
  }
  console.log();
}

/** Prints what failed and what was only warned of. */
export function printProblems(runs) {
  for (const run of runs) {
    const name = `${run.label}, ${run.revision}`;
    if (run.problems.length > 0) console.log(`FAILED ${name}:\n    ${run.problems.join('\n    ')}`);
    for (const [scenario, { failing }] of Object.entries(run.scenarios)) {
      for (const check of failing.filter((one) => one.status === 'WARNING' && !one.excuse)) {
        console.log(`warning ${name}: ${scenario}: ${check.id}: ${check.reason}`);
      }
    }
  }
}

/** The runs as data. Nothing in it depends on the time or the machine. */
export function asData(suite, runs) {
  return {
    suite,
    runs: runs.map((run) => ({
      label: run.label,
      revision: run.revision,
      passed: run.problems.length === 0,
      scored: score(run),
      checks: checks(run),
      scenarios: Object.fromEntries(
        Object.entries(run.scenarios).map(([name, { scored, passed, skipped, excused, failing }]) => [
          name,
          { scored, passed, skipped, excused, failing: failing.map(({ id, status, excuse }) => ({ id, status, excuse })) },
        ]),
      ),
    })),
  };
}

function score(run) {
  const scored = Object.values(run.scenarios).filter((scenario) => scenario.scored);
  return { passed: scored.filter(passes).length, total: scored.length };
}

function checks(run) {
  return Object.values(run.scenarios).reduce((sum, scenario) => sum + scenario.passed, 0);
}

function cell(scenario) {
  if (!scenario) return '-';
  const bad = scenario.failing.some((check) => !check.excuse);
  const mark = bad ? '!' : scenario.excused > 0 ? '~' : '';
  return `${scenario.passed}${mark}`;
}
