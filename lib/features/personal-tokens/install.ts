import { ConfigError } from '../../errors.ts';
import { PAGE } from '../../engine/endpoints.ts';
import type { Core } from '../core.ts';
import type { Installed } from '../feature.ts';
import { createEndPersonalToken } from './end.ts';
import { personalTokenForm } from './form.ts';
import type { CompletePersonalTokenSettings, WithPersonalTokens } from './index.ts';
import { createPersonalTokens } from './manage.ts';
import { createOwnTokens } from './own-tokens.ts';
import { personalTokenStore } from './store.ts';
import { createRecordUse } from './uses.ts';

export async function installPersonalTokens(
  core: Core,
  settings: CompletePersonalTokenSettings,
): Promise<Installed<WithPersonalTokens>> {
  const { announce, audit, options, storage, users } = core;
  const { gate, issuer, login, resources } = options;
  if (login.url !== undefined && !login.authenticatedAt) {
    throw new ConfigError(
      'login.authenticatedAt',
      'pass a function that returns when the user of the request has logged in at login.url: personal access tokens are created after a fresh login only',
    );
  }
  const store = await storage.store('personalTokens', personalTokenStore);
  const end = createEndPersonalToken(store, { announce, audit, storage });
  const managed = createPersonalTokens({
    ...settings,
    store,
    audit,
    end,
    latestSequence: async () => storage.revocations.latestSequence(),
    issuer,
    scopesOf: (resource = issuer) => resources.get(resource)?.scopes,
    async permissionsOf(userId) {
      const found = await users.find(userId);
      return found && gate.effective(found.assignment);
    },
  });
  const { path } = settings;
  return {
    api: {
      personalTokens: {
        create: async (token) => managed.create(token),
        list: managed.list,
        revoke: async (id) => managed.revoke(id),
      },
    },
    tokens: personalTokenForm(core, { end, store, tokenUsed: createRecordUse(core, store) }),
    grants: {
      list: 'personalTokens',
      target: 'personalToken',
      of: managed.list,
      end: async (id) => managed.revoke(id),
    },
    ...(path !== undefined && {
      endpoints: [{ ...PAGE, area: path }],
      pages: async () =>
        (await import('./pages.ts')).personalTokenPages(path, createOwnTokens(core, { managed, settings })),
    }),
  };
}
