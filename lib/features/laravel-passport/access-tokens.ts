import { randomUUID } from 'node:crypto';

import { compactVerify } from 'jose';

import { toSeconds } from '../../contracts/duration.ts';
import type { ScopeLimit } from '../../clients/consents.ts';
import type { AccessTokenClaims, Seconds } from '../../contracts/index.ts';
import { now } from '../../contracts/clock.ts';
import type { ForeignAccessTokens } from '../../token/foreign-tokens.ts';
import type { CoreBase } from '../core.ts';
import { accessTokenGrantId, ID, mapScopes, sequenceAt } from './identifiers.ts';
import { importable } from './import-grant.ts';
import type { Importable, PassportConsents } from './import-grant.ts';
import type { PassportSettings } from './options.ts';
import type { TokenUses } from './token-uses.ts';
import type { PassportAccessToken, PassportUse } from './types.ts';

// Allows for a difference between the clocks of two machines.
const LEEWAY: Seconds = 5;

// The warning is limited, because a stranger can send such a token too.
const WARNING_INTERVAL: Seconds = 3600;

/** What Passport writes in an access token. */
interface PassportClaims {
  readonly clientId: string;
  readonly id: string;
  readonly sub: unknown;
  readonly issuedAt: Seconds;
  /** With microseconds. */
  readonly expiresAt: Seconds;
  readonly scopes: ScopeLimit;
}

/** The access tokens of Passport: JWTs of the type `JWT` that are signed with RS256. This server's own tokens have the type `at+jwt`. */
export function createAccessTokens(
  { options, storage }: Pick<CoreBase, 'options' | 'storage'>,
  {
    importGrant,
    isImportable,
    settings: { publicKey: keys, source, until },
    used,
  }: Pick<PassportConsents, 'importGrant' | 'isImportable'> &
    Pick<TokenUses, 'used'> & { readonly settings: PassportSettings },
): ForeignAccessTokens {
  const { issuer } = options;
  const api = options.resources.get(issuer)!;
  // The first check of a token follows its verification, which has just read its row.
  const readJustNow = new WeakMap<AccessTokenClaims, PassportAccessToken>();

  let warnedAt = 0;

  /** Without this warning, an operator who has set the wrong key sees that all tokens are refused, but not why. */
  function warnOfOtherKey(): void {
    if (now() < warnedAt + WARNING_INTERVAL) return;
    warnedAt = now();
    options.logger.warn(
      {},
      'a token in the form of those of Passport is not signed with publicKey of laravelPassport()',
    );
  }

  async function readClaims(token: string): Promise<PassportClaims | undefined> {
    for (const key of keys) {
      try {
        const { payload } = await compactVerify(token, key, { algorithms: ['RS256'] });
        return toClaims(JSON.parse(new TextDecoder().decode(payload)), (names) => mapScopes(names, api));
      } catch {
        // The token is signed with another key, or its payload is not JSON.
      }
    }
    warnOfOtherKey();
    return undefined;
  }

  async function isStored(claims: AccessTokenClaims): Promise<boolean> {
    const { client_id: clientId, grant_id: id, jti, revocation_sequence: sequence = 0, sub: userId } = claims;
    const question = { id: jti, clientId, sequence, grant: id === undefined ? undefined : { id, userId } };
    return storage.revocations.isValid(question);
  }

  /** The grant and the credential to store for a token of a user. */
  function toImportable(claims: AccessTokenClaims & { readonly grant_id: string }): Importable {
    const {
      client_id: clientId,
      exp: expiresAt,
      grant_id: id,
      iat,
      jti,
      limited,
      scope,
      sub: userId,
    } = claims;
    const scopes = scope === undefined ? (limited ? [] : undefined) : scope.split(' ');
    const [createdAt, sequence] = [Math.floor(iat), sequenceAt(iat)];
    return importable(
      { id, userId, clientId, scopes, createdAt, expiresAt, sequence },
      {
        // A grant is stored with a credential; this is one that nobody has.
        credential: { kind: 'code', id: `passport ${randomUUID()}`, payload: {}, consumedAt: Date.now() },
        isLive: async () => (await source.findAccessToken(jti))?.isLive === true,
        accessTokenId: jti,
        isOrphan: false,
      },
    );
  }

  /**
   * Stores the grant of a user's token that is used here for the first time, and resolves to whether it is stored. Where the check is no
   * use of the token, only resolves to whether the grant could be stored.
   */
  async function isImported(claims: AccessTokenClaims, isUse: boolean): Promise<boolean> {
    const { grant_id } = claims;
    if (grant_id === undefined) return false;
    // A stored grant was revoked, or another request has stored it since.
    if (await storage.grants.find(grant_id)) return isStored(claims);
    const token = toImportable({ ...claims, grant_id });
    if (!isUse) return isImportable(token);
    return (await importGrant(token)) !== undefined && isStored(claims);
  }

  return {
    isWellFormed: hasPassportForm,
    isOwn: ({ jti }) => ID.test(jti),
    async verify(token) {
      if (now() >= until) return undefined;
      const claims = await readClaims(token);
      if (!claims) return undefined;
      const { clientId, expiresAt, id, issuedAt, scopes, sub } = claims;
      const row = await source.findAccessToken(id);
      if (row?.clientId !== clientId) return undefined;
      // Never by `sub` alone, which in a token of version 13 is the id of the client when there is no user.
      const userId = sub === '' ? undefined : row.userId;
      const verified: AccessTokenClaims = {
        iss: issuer,
        aud: issuer,
        sub: userId ?? clientId,
        client_id: clientId,
        iat: issuedAt,
        // Whole seconds, as the storage has them. Never later than at Passport.
        exp: Math.floor(expiresAt),
        jti: id,
        ...(scopes?.length === 0 && { limited: true }),
        ...(scopes && scopes.length > 0 && { scope: scopes.join(' ') }),
        ...(userId === undefined
          ? { principal: 'client', revocation_sequence: sequenceAt(issuedAt) }
          : { principal: 'user', grant_id: accessTokenGrantId(id) }),
      };
      readJustNow.set(verified, row);
      return verified;
    },
    async isActive(claims, appUsed) {
      if (now() >= until) return false;
      const row = readJustNow.get(claims) ?? (await source.findAccessToken(claims.jti));
      readJustNow.delete(claims);
      if (!row?.isLive || !((await isStored(claims)) || (await isImported(claims, appUsed !== undefined))))
        return false;
      const { client_id: clientId, grant_id: id, iat, sub: userId } = claims;
      // Without `appUsed`, the check is no use of the token.
      if (appUsed) {
        used({ id: claims.jti, clientId, kind: kindOf(row) });
        if (id !== undefined) appUsed({ id, userId, clientId }, iat);
      }
      return true;
    },
  };
}

function kindOf({ isPersonal, userId }: PassportAccessToken): PassportUse['kind'] {
  if (userId === undefined) return 'client';
  return isPersonal ? 'personal' : 'user';
}

function hasPassportForm(token: string): boolean {
  const [header = ''] = token.split('.', 1);
  const { alg, typ } = parseObject(Buffer.from(header, 'base64url').toString());
  return alg === 'RS256' && typ === 'JWT';
}

function parseObject(json: string): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(json)) as Readonly<Record<string, unknown>>;
  } catch {
    return {};
  }
}

/** Reads the claims as Passport's library does; `undefined` when they are not those of a valid token. */
function toClaims(
  payload: unknown,
  toLimit: (names: readonly string[]) => ScopeLimit,
): PassportClaims | undefined {
  const { aud: clientId, exp, iat, jti: id, nbf, scopes, sub } = Object(payload) as Record<string, unknown>;
  const issuedAt = toTime(iat);
  const expiresAt = toTime(exp);
  const time = toSeconds(Date.now());
  const isWellFormed =
    typeof clientId === 'string' &&
    typeof id === 'string' &&
    ID.test(id) &&
    issuedAt !== undefined &&
    expiresAt !== undefined &&
    Array.isArray(scopes) &&
    scopes.every((scope) => typeof scope === 'string');
  if (!isWellFormed) return undefined;
  const startsAt = nbf === undefined ? issuedAt : toTime(nbf);
  const isCurrent =
    startsAt !== undefined && Math.max(issuedAt, startsAt) <= time + LEEWAY && time < expiresAt;
  return isCurrent ? { clientId, id, sub, issuedAt, expiresAt, scopes: toLimit(scopes) } : undefined;
}

/** Whole seconds, a fraction, or the text of one, which lcobucci/jwt 4.0 and 4.1 have written. */
function toTime(value: unknown): Seconds | undefined {
  const isTime = typeof value === 'number' || (typeof value === 'string' && /^\d+(?:\.\d+)?$/.test(value));
  return isTime && Number.isFinite(Number(value)) ? Number(value) : undefined;
}
