// A real OpenID provider (npm `oidc-provider`) on a local port.

import { createServer } from 'node:http';

import { Provider, listen } from '../apis/oidc.mjs';

export const CLIENT = { id: 'capdeck', secret: 'a-secret-for-tests-of-the-dashboard' };

/** The account NAME has the address NAME@example.com; `mallory` has an unverified address. */
const claims = (name) => ({ sub: name, name, email: `${name === 'mallory' ? 'ann' : name}@example.com`, email_verified: name !== 'mallory' });

export async function startProvider() {
  let handler;
  const server = createServer((request, response) => handler(request, response));
  const issuer = await listen(server);
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: CLIENT.id,
        client_secret: CLIENT.secret,
        // The host's port changes with every run; providers allow that only for native clients.
        application_type: 'native',
        redirect_uris: ['http://127.0.0.1/api/oidc/callback'],
        grant_types: ['authorization_code'],
      },
    ],
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
    cookies: { keys: ['a key for a test'] },
    pkce: { required: () => true },
    findAccount: (_, name) => ({ accountId: name, claims: () => claims(name) }),
    ttl: { AccessToken: 60, IdToken: 60, Session: 600, Grant: 600, Interaction: 600 },
    features: { devInteractions: { enabled: true } },
  });
  const complaints = [];
  provider.on('server_error', (_, error) => complaints.push(error.stack));
  handler = provider.callback();
  const stop = () => {
    server.closeAllConnections();
    server.close();
  };
  return { issuer, complaints, stop };
}
