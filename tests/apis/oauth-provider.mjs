// A real OpenID provider (npm `oidc-provider`) and an API that takes its tokens, each on a port of this machine.

import { createServer } from 'node:http';

import { Provider, listen } from './oidc.mjs';

export class Service {
  /** How long the next access tokens live, in seconds. */
  lifetime = 3600;
  /** Every value that must not show up anywhere. */
  secrets = new Set();
  /** How often each grant was asked for and given. */
  grants = {};
  registered = [];
  #servers = [];

  async start() {
    const front = createServer((request, response) => this.handler(request, response));
    const api = createServer((request, response) => this.#serve(request, response));
    this.#servers = [front, api];
    this.issuer = await listen(front);
    this.api = await listen(api);
    const scope = 'api:read api:write';
    this.provider = new Provider(this.issuer, {
      clients: [],
      cookies: { keys: ['a key for a test'] },
      scopes: ['openid', 'offline_access', 'profile', 'email', ...scope.split(' ')],
      pkce: { required: () => true },
      rotateRefreshToken: true,
      findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
      ttl: { AccessToken: () => this.lifetime, IdToken: 60, Session: 600, Grant: 600, Interaction: 600, RefreshToken: 600, DeviceCode: 60 },
      features: {
        devInteractions: { enabled: true },
        registration: { enabled: true },
        revocation: { enabled: true },
        deviceFlow: { enabled: true },
        resourceIndicators: {
          enabled: true,
          defaultResource: () => this.api,
          useGrantedResource: () => true,
          getResourceServerInfo: () => ({ scope, audience: this.api, accessTokenFormat: 'opaque', accessTokenTTL: this.lifetime }),
        },
      },
    });
    const recordSecret = (name) => (token) => this.secrets.add(token.jti) && name;
    for (const kind of ['access_token', 'refresh_token', 'device_code']) this.provider.on(`${kind}.saved`, recordSecret(kind));
    this.provider.on('registration_create.success', (_, client) => this.registered.push(client.metadata()));
    this.provider.on('grant.success', (ctx) => {
      const grant = ctx.oidc.params.grant_type;
      this.grants[grant] = (this.grants[grant] ?? 0) + 1;
    });
    this.provider.on('server_error', (_, error) => console.error(error));
    this.handler = this.provider.callback();
    return this;
  }

  /** Ends all grants, as an administrator would. */
  async revokeAll() {
    for (const value of this.secrets) {
      for (const model of ['AccessToken', 'RefreshToken']) {
        const token = await this.provider[model].find(value);
        await token?.destroy();
      }
    }
  }

  async isAlive(value) {
    const found = (await this.provider.AccessToken.find(value)) ?? (await this.provider.RefreshToken.find(value));
    return Boolean(found) && !found.consumed;
  }

  stop() {
    for (const server of this.#servers) {
      server.closeAllConnections();
      server.close();
    }
  }

  async #serve(request, response) {
    const answer = (status, body, headers = {}) => {
      response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
    };
    if (request.url.startsWith('/.well-known/oauth-protected-resource')) {
      return answer(200, { resource: this.api, authorization_servers: [this.issuer], scopes_supported: ['api:read'] });
    }
    const value = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1];
    const token = value && (await this.provider.AccessToken.find(value));
    const metadata = `resource_metadata="${this.api}/.well-known/oauth-protected-resource"`;
    if (!token || token.isExpired || token.aud !== this.api) {
      return answer(401, { error: 'who are you?' }, { 'www-authenticate': `Bearer ${metadata}` });
    }
    const needed = request.method === 'GET' ? 'api:read' : 'api:write';
    if (!token.scope.split(' ').includes(needed)) {
      const challenge = `Bearer error="insufficient_scope", scope="${needed}", ${metadata}`;
      return answer(403, { error: 'not you' }, { 'www-authenticate': challenge });
    }
    return answer(200, { account: token.accountId, scope: token.scope, sent: request.headers.authorization });
  }
}
