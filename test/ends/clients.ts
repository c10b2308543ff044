import type { Administration } from 'koa-gatehouse';

import type { DeveloperPlatform } from '../developer/developers.ts';
import type { RegisteredApp } from '../harness/platform.ts';
import { makeKeyPair } from '../harness/client-keys.ts';
import { requestClientToken } from '../harness/tokens.ts';
import { manage, registered } from '../agents/apps.ts';
import { byHost, byRequest } from './way.ts';
import type { Way, Ways } from './way.ts';

/** The ways to end clients and their credentials. Dora owns them. */
export function clientWays(platform: DeveloperPlatform, operator: Administration): Ways {
  const { signInAs, url } = platform;
  const registries = [
    ['auth', platform.auth],
    ['administration', operator],
  ] as const;

  /** A service. It works as long as it gets tokens. */
  async function register() {
    const app = await platform.registerFor('dora');
    const [secret] = await platform.auth.clients.secrets(app.client.id);
    return { app, client: app.client.id, secret: secret!.id, works: getsTokens(app) };
  }

  function getsTokens(app: RegisteredApp): Way['works'] {
    return async () => (await requestClientToken(platform, app)).status === 200;
  }

  async function registerWithKeys() {
    const { publicJwk } = await makeKeyPair();
    const { client } = await platform.registerFor('dora', { keys: { jwks: { keys: [publicJwk] } } });
    const works = async () => (await platform.auth.clients.find(client.id))?.keys !== undefined;
    return { client: client.id, works };
  }

  const onPage = async (path: string, works: Way['works']): Promise<Way> => {
    const browser = await signInAs('dora');
    return byRequest(async () => browser.post(url(`/developer/apps/${path}`), new URLSearchParams()), works);
  };

  return {
    ...Object.assign(
      {},
      ...registries.map(([name, { clients }]): Ways => ({
        async [`${name}.clients.disable`]() {
          const { client, works } = await register();
          return byHost(async () => clients.disable(client), works);
        },
        async [`${name}.clients.delete`]() {
          const { client, works } = await register();
          return byHost(async () => clients.delete(client), works);
        },
        async [`${name}.clients.deleteSecret`]() {
          const { client, secret, works } = await register();
          return byHost(async () => clients.deleteSecret(client, secret), works);
        },
        async [`${name}.clients.rotateSecret`]() {
          const { client, works } = await register();
          return byHost(async () => clients.rotateSecret(client), works);
        },
        async [`${name}.clients.update of keys`]() {
          const { client, works } = await registerWithKeys();
          return byHost(async () => clients.update(client, { keys: undefined }), works);
        },
      })),
    ),
    async 'DELETE /oauth/register/:id'() {
      const registration = await registered(platform, {
        client_name: 'Agent',
        redirect_uris: ['https://agent.example/callback'],
      });
      return byRequest(
        async () => manage(registration, 'DELETE'),
        async () => (await platform.auth.clients.find(registration.client_id)) !== undefined,
      );
    },
    async 'POST /developer/apps/:id/disable'() {
      const { client, works } = await register();
      return onPage(`${client}/disable`, works);
    },
    async 'POST /developer/apps/:id/delete'() {
      const { client, works } = await register();
      return onPage(`${client}/delete`, works);
    },
    async 'POST /developer/apps/:id/revoke'() {
      const { app, client } = await register();
      const { body } = await requestClientToken(platform, app);
      return onPage(
        `${client}/revoke`,
        async () => (await platform.api('/identity', body.access_token)).status === 200,
      );
    },
    async 'POST /developer/apps/:id/secrets/:secret/delete'() {
      const { client, secret, works } = await register();
      return onPage(`${client}/secrets/${secret}/delete`, works);
    },
    async 'POST /developer/apps/:id/keys/remove'() {
      const { client, works } = await registerWithKeys();
      return onPage(`${client}/keys/remove`, works);
    },
  };
}
