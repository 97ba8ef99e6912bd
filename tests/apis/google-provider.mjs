// The authorization server of the Google definitions: a real provider (npm `oidc-provider`) that behaves as Google's does where
// that matters. Tokens are opaque, one per grant, and checked by introspection; a refresh token stays, and is only given to those
// who ask for one in Google's way. It says where it is in its first line; then each line of JSON is a question and an answer.
//
//   node google-provider.mjs CLIENT_ID CLIENT_SECRET SCOPE…

import { createServer } from 'node:http';
import { createInterface } from 'node:readline';

import { Browser } from './oauth-browser.mjs';
import { Provider, listen } from './oidc.mjs';

// Only answers go to stdout; what the provider remarks about its set-up is for people.
const say = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);
console.info = console.error;
console.log = console.error;

const [clientId, clientSecret, ...scopes] = process.argv.slice(2);
const scope = scopes.join(' ');

let lifetime = 3600;
let renewals = 0;
const complaints = [];
// Values that must not show up anywhere.
const secrets = new Set([clientSecret]);
// The challenges of those who asked for a refresh token.
const offline = new Set();
// The access token in force, by grant.
const current = new Map();

const server = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url, 'http://here');
  if (pathname === '/auth' && searchParams.get('access_type') === 'offline' && searchParams.get('prompt') === 'consent') {
    offline.add(searchParams.get('code_challenge'));
  }
  return handler(request, response);
});
const issuer = await listen(server);
const provider = new Provider(issuer, {
  clients: [
    {
      client_id: clientId,
      client_secret: clientSecret,
      application_type: 'native',
      redirect_uris: ['http://127.0.0.1/callback'],
      grant_types: ['authorization_code', 'refresh_token'],
    },
  ],
  cookies: { keys: ['a key for a test'] },
  extraParams: ['access_type'],
  pkce: { required: () => true },
  scopes: ['openid', ...scopes],
  rotateRefreshToken: false,
  issueRefreshToken: (_ctx, _client, code) => offline.has(code.codeChallenge),
  findAccount: (_ctx, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
  ttl: { AccessToken: () => lifetime, Session: 600, Grant: 600, Interaction: 600, RefreshToken: 600 },
  features: {
    devInteractions: { enabled: true },
    introspection: { enabled: true, allowedPolicy: (_ctx, client, token) => token.clientId === client.clientId },
    revocation: { enabled: true },
    resourceIndicators: {
      enabled: true,
      useGrantedResource: () => true,
      getResourceServerInfo: (_ctx, resource) => ({ scope, audience: resource, accessTokenFormat: 'opaque', accessTokenTTL: lifetime }),
    },
  },
});
const handler = provider.callback();
provider.on('server_error', (_ctx, error) => complaints.push(`the provider failed: ${error.stack}`));
provider.on('grant.success', (ctx) => {
  if (ctx.oidc.params.grant_type === 'refresh_token') renewals += 1;
});
provider.on('refresh_token.saved', (token) => secrets.add(token.jti));
provider.on('access_token.saved', async (token) => {
  secrets.add(token.jti);
  // The token before is over at once: a client that still uses it is refused.
  const before = current.get(token.grantId);
  current.set(token.grantId, token.jti);
  if (before && before !== token.jti) await (await provider.AccessToken.find(before))?.destroy();
});

const questions = {
  async walk(url) {
    await new Browser('ann').walk(url);
    return true;
  },
  lifetime(seconds) {
    lifetime = seconds;
    return true;
  },
  facts: () => ({ renewals, complaints, secrets: [...secrets] }),
};

say({ issuer });
for await (const line of createInterface({ input: process.stdin })) {
  const [name, argument] = JSON.parse(line);
  try {
    say({ answer: await questions[name](argument) });
  } catch (error) {
    say({ error: error.stack });
  }
}
process.exit(0);
