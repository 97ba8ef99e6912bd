// The provider of npm `oidc-provider`, as ./test.sh installed it, and a port for it.

import { pathToFileURL } from 'node:url';

import { fileOf } from './installed.mjs';

export const { default: Provider } = await import(pathToFileURL(fileOf('oidc-provider', 'lib/index.js')));

export const listen = (server) =>
  new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve(`http://127.0.0.1:${server.address().port}`));
  });
