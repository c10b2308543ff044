import { ConfigError } from '../../errors.ts';
import type { CoreBase } from '../core.ts';
import type { Opened } from '../feature.ts';
import { createAccessTokens } from './access-tokens.ts';
import { checkPassport } from './check.ts';
import { createConsents } from './import-grant.ts';
import type { PassportSettings } from './options.ts';
import { createFindRefreshToken } from './refresh-tokens.ts';
import { passportStore } from './store.ts';
import { createTokenUses } from './token-uses.ts';
import { createSourceRevoker } from './revoke-at-source.ts';

/**
 * Connects a server to the tables of Passport.
 *
 * @throws ConfigError when the tables are not Passport's
 * @throws StorageError when the tables cannot be read
 */
export async function openPassport(base: CoreBase, settings: PassportSettings): Promise<Opened> {
  const { options, storage } = base;
  const isWritable = await checkSource(settings);
  if (!isWritable)
    options.logger.warn(
      {},
      'tokens that are revoked here stay valid at the Laravel app, because its tables cannot be written: close its /oauth/token before it and this server exchange the same refresh token',
    );
  const store = await storage.store('passport', passportStore);
  const connected = { isWritable, settings, store };
  // From here on, what ends has to be revoked in Passport's tables.
  const revoker = createSourceRevoker(base, connected);
  await revoker.register();
  const { importOf, ...imports } = createConsents(base, connected);
  const parts = { ...connected, ...imports, ...createTokenUses(base, store) };
  return {
    accessTokens: createAccessTokens(base, parts),
    findRefreshToken: createFindRefreshToken(base, parts),
    importConsents: importOf,
    check: () => checkPassport(settings),
    run: async (stop) => revoker.run(stop),
  };
}

async function checkSource({ source }: PassportSettings): Promise<boolean> {
  try {
    return (await source.check()).writable;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw new ConfigError('laravelPassport({ source })', error.message.replace(/^.*?: /, ''), {
      cause: error,
    });
  }
}
