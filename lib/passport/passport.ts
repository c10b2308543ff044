import type { Grant, PassportUse } from '../contracts/index.ts';
import { errors } from '../engine/oidc-provider.ts';
import { ConfigError } from '../errors.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';
import type { ResolvedPassport } from '../options/passport.ts';
import { createAccessTokens } from './access-tokens.ts';
import { connectStorage } from './connected-storage.ts';
import { createConsents } from './import-grant.ts';
import { createImportRefreshToken } from './refresh-tokens.ts';
import { createTokenUses } from './token-uses.ts';

/**
 * Connects a server to the tables of Passport.
 *
 * @param onUse - called with each use of a token that is recorded
 * @throws ConfigError when the tables are not Passport's
 * @throws StorageError when they cannot be read
 */
export async function createPassport(
  options: ResolvedOptions & { readonly passport: ResolvedPassport },
  onUse: (use: PassportUse) => void,
) {
  const { logger, passport, storage } = options;
  const { source } = passport;
  const isWritable = await checkSource(passport);
  if (!isWritable)
    logger.warn(
      {},
      'tokens that are revoked here stay valid at the Laravel app, because its tables cannot be written: close its /oauth/token before it and this server exchange the same refresh token',
    );
  const { used, written } = createTokenUses(storage.passportUses, { logger, onUse });
  const { importOf, ...imports } = createConsents(options, { isWritable, storage });
  const importRefreshToken = createImportRefreshToken(options, { ...imports, isWritable, storage, used });
  return {
    /** The storage of the server, through which what ends a token here ends it there too. */
    storage: connectStorage(storage, { importOf, isWritable, source }),
    accessTokens: createAccessTokens(options, { ...imports, storage, used }),
    /** Resolves when it is written which tokens were used. */
    written,
    importRefreshToken,
    /** Finds the grant of a refresh token that the host revokes. */
    async findGrant(this: void, token: string): Promise<Grant | undefined> {
      try {
        const found = await importRefreshToken(token, {
          clientId: undefined,
          isClaim: true,
          limit: undefined,
        });
        return found?.grant;
      } catch (error) {
        if (error instanceof errors.InvalidGrant) return undefined;
        throw error;
      }
    },
  };
}

/** The tokens of a Laravel app, which a server accepts beside its own. */
export type Passport = Awaited<ReturnType<typeof createPassport>>;

async function checkSource({ source }: ResolvedPassport): Promise<boolean> {
  try {
    return (await source.check()).isWritable;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw new ConfigError('passport.source', error.message.replace(/^.*?: /, ''), { cause: error });
  }
}
