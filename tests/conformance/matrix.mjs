// Every run of the server leg, in the order they are made.

const both = ['2025-11-25', '2026-07-28'];

/**
 * `fixture` is what answers in the end, `era` what it is forced to speak, `transport` how Capdeck reaches it;
 * without a transport there is no Capdeck. With `attach`, a second Capdeck reaches the first through `capdeck attach` and
 * speaks that era with it. Each entry is run once per revision.
 */
export const cells = [
  { label: 'alone', fixture: 'rust', era: 'both', revisions: both },
  { label: 'legacy http', fixture: 'rust', era: 'legacy', transport: 'http', revisions: both },
  { label: 'legacy stdio', fixture: 'rust', era: 'legacy', transport: 'stdio', revisions: both },
  { label: 'modern http', fixture: 'rust', era: 'modern', transport: 'http', revisions: both },
  { label: 'modern stdio', fixture: 'rust', era: 'modern', transport: 'stdio', revisions: both },
  { label: 'legacy attach', fixture: 'rust', era: 'legacy', transport: 'http', attach: 'legacy', revisions: ['2025-11-25'] },
  { label: 'modern attach', fixture: 'rust', era: 'modern', transport: 'http', attach: 'modern', revisions: both },
  { label: 'sdk alone', fixture: 'typescript', era: 'legacy', revisions: ['2025-11-25'] },
  { label: 'sdk http', fixture: 'typescript', era: 'legacy', transport: 'http', revisions: ['2025-11-25'] },
  { label: 'sdk stdio', fixture: 'typescript', era: 'legacy', transport: 'stdio', revisions: ['2025-11-25'] },
];

/**
 * Servers of the SDKs as they come: they speak both eras, and every client has to be served in its own. Behind Capdeck
 * each has to pass what it passes alone. The first row of each is the server alone.
 */
export const everything = ['typescript', 'python'].map((sdk) => [
  { label: `${sdk} alone`, fixture: `${sdk}-everything`, era: 'both', revisions: both },
  { label: `${sdk} http`, fixture: `${sdk}-everything`, era: 'both', transport: 'http', revisions: both },
  { label: `${sdk} stdio`, fixture: `${sdk}-everything`, era: 'both', transport: 'stdio', revisions: both },
]);

/** The scenarios that mean something at the deck's own endpoint, where no fixture has its own names. */
export const deck = {
  label: 'deck',
  behind: { fixture: 'rust', era: 'both', transport: 'http' },
  scenarios: {
    '2025-11-25': [
      'server-initialize',
      'ping',
      'tools-list',
      'dns-rebinding-protection',
      'server-session-lifecycle',
    ],
    '2026-07-28': [
      'tools-list',
      'dns-rebinding-protection',
      'caching',
      'http-header-validation',
      'server-stateless',
    ],
  },
  leftOut: [
    ['tools-call-*, elicitation-*, input-required-result-*', 'call the fixture by its own tool names; the deck offers its tools under names of its own'],
    ['prompts-*, resources-*, completion-complete, sep-2164-*', 'ask for the fixture\'s own prompts and addresses'],
    ['tasks-*, sep-2640-*', 'need the fixture\'s own tools and skills'],
    ['logging-set-level, server-sse-*', 'need tools that log or stream under a known name'],
    ['json-schema-2020-12, http-custom-header-server-validation', 'look for one tool of the fixture by its name or its schema'],
  ],
};
