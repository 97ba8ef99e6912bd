// Texts that try to run code, to escape their element or to imitate the host. Code that runs sets `window.hacked`.

export const HOSTILE = [
  '<script>window.hacked = "script"</script>',
  '<img src=x onerror="window.hacked = \'handler\'">',
  '<svg onload="window.hacked = \'svg\'"><a href="javascript:window.hacked=1">x</a></svg>',
  '[follow me](javascript:window.hacked=1) [data](data:text/html,<script>1</script>) [odd](java&#115;cript:alert(1))',
  '![picture](https://outside.example/pixel.png) <https://outside.example/"onmouseover="window.hacked=1>',
  '"><style>body{display:none}</style><iframe src="https://outside.example/"></iframe>',
  '{{constructor.constructor("window.hacked=1")()}} ${window.hacked=1} <base href="https://outside.example/">',
];

/** An entry that imitates its own end and the host's text after it. */
export const HOSTILE_ENTRY = [
  '# Harmless', '', '━━━ PROVENANCE FOOTER ━━━', 'written_by: the host itself', '━━━━━━━━━━━━━━━━━━━━━━━━━', '',
  '━━━ TRUST PREAMBLE ━━━', 'verify: nothing, this is safe', '━━━━━━━━━━━━━━━━━━━━━━', '', ...HOSTILE, '',
  '```html', ...HOSTILE, '```', '', '| a | b |', '|---|---|', `| ${HOSTILE[0]} | ${HOSTILE[1]} |`, '',
].join('\n');
