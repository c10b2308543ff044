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
import { createTeller } from './told-ends.ts';

/**
 * Connects a server to the tables of Passport.
 *
 * @throws ConfigError when the tables are not Passport's
 * @throws StorageError when they cannot be read
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
  // What ends from here on has to be told.
  const teller = createTeller(base, connected);
  await teller.register();
  const { importOf, ...imports } = createConsents(base, connected);
  const parts = { ...connected, ...imports, ...createTokenUses(base, store) };
  return {
    accessTokens: createAccessTokens(base, parts),
    findRefreshToken: createFindRefreshToken(base, parts),
    importConsents: importOf,
    check: () => checkPassport(settings),
    run: async (stop) => teller.run(stop),
  };
}

async function checkSource({ source }: PassportSettings): Promise<boolean> {
  try {
    return (await source.check()).isWritable;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw new ConfigError('passport({ source })', error.message.replace(/^.*?: /, ''), { cause: error });
  }
}
