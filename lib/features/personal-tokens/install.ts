import { ConfigError } from '../../errors.ts';
import { PAGE } from '../../engine/endpoints.ts';
import type { Core } from '../core.ts';
import type { Installed } from '../feature.ts';
import { createEndPersonalToken } from './end.ts';
import { personalTokenForm } from './form.ts';
import type { PersonalTokenSettings, WithPersonalTokens } from './index.ts';
import { createPersonalTokens } from './manage.ts';
import { createOwnTokens } from './own-tokens.ts';
import { personalTokenStore } from './store.ts';
import { createRecordUse } from './uses.ts';

export async function installPersonalTokens(
  core: Core,
  settings: PersonalTokenSettings,
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
  const tokens = createPersonalTokens({
    ...settings,
    store,
    audit,
    end,
    latestSequence: async () => storage.revocations.latestSequence(),
    issuer,
    scopesOf: (resource = issuer) => resources.get(resource)?.scopes,
    async permissionsOf(userId) {
      const found = await users.find(userId);
      return found && gate.effectivePermissions(found.assignment);
    },
  });
  const { path } = settings;
  return {
    api: {
      personalTokens: {
        create: async (token) => tokens.create(token),
        list: tokens.list,
        revoke: async (id) => tokens.revoke(id),
      },
    },
    tokens: personalTokenForm(core, { end, store, tokenUsed: createRecordUse(core, store) }),
    grants: {
      list: 'personalTokens',
      target: 'personalTokenId',
      of: tokens.list,
      end: async (id) => tokens.revoke(id),
    },
    ...(path !== undefined && {
      endpoints: [{ ...PAGE, area: path }],
      pages: async () =>
        (await import('./pages.ts')).personalTokenPages({
          ...core,
          ownTokensOf: createOwnTokens(core, { tokens, settings }),
          path,
        }),
    }),
  };
}
