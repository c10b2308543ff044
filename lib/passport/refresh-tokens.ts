import { setTimeout } from 'node:timers/promises';

import { LRUCache } from 'lru-cache';

import { CACHE_BOUND } from '../contracts/cache-bound.ts';
import { now } from '../contracts/clock.ts';
import type { FoundCredential, Storage } from '../contracts/index.ts';
import { errors } from '../engine/oidc-provider.ts';
import type { ImportRefreshToken } from '../engine/request.ts';
import { TooBusy, TooManyAttempts } from '../engine/response.ts';
import { TooManyAttemptsError } from '../errors.ts';
import { hashCredential } from '../keys/hash.ts';
import type { ResolvedPassport } from '../options/passport.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';
import { createDecrypt, hasRefreshTokenForm } from './decrypt.ts';
import type { RefreshTokenPayload } from './decrypt.ts';
import { accessTokenGrantId, claimId, mapScopes, refreshTokenGrantId, sequenceAt } from './identifiers.ts';
import type { ImportGrant } from './import-grant.ts';
import type { TokenUses } from './token-uses.ts';

// How often a request looks whether another one, which has marked the row, has stored that, and how long it waits in between, in
// milliseconds.
const CLAIM_LOOKS = 10;
const CLAIM_PAUSE = 50;

/**
 * Makes what imports the refresh tokens of Passport. Each becomes an unspent refresh token of a grant here, under an id that is made of
 * its own, so that one of all requests on all nodes stores it. From then on it is exchanged, repeated and reused as any other.
 *
 * Between the two the row at Passport is marked, by one conditional write: where it was marked before, the old server has exchanged
 * the token, unless it is stored here that this server has. When the process dies before that is stored, the mark may be its own, so
 * that a repetition within the grace is let through. Where nothing can be written, the old server must not refresh any more.
 *
 * One token has several spellings: lower case is the one whose text encrypts the next token.
 */
export function createImportRefreshToken(
  options: ResolvedOptions & { readonly passport: ResolvedPassport },
  {
    importGrant,
    isWritable,
    storage,
    used,
  }: Pick<TokenUses, 'used'> & {
    readonly importGrant: ImportGrant;
    readonly isWritable: boolean;
    readonly storage: Storage;
  },
): ImportRefreshToken {
  const { appKey = [], source, until } = options.passport;
  const { grants, revocations } = storage;
  const { refreshGrace } = options.tokens;
  const api = options.resources.get(options.issuer)!;
  const decrypt = createDecrypt(appKey);
  // So that who repeats a token keeps nobody busy.
  const decrypted = new LRUCache<string, RefreshTokenPayload>(CACHE_BOUND);

  async function read(
    value: string,
    limit: Parameters<ImportRefreshToken>[1]['limit'],
  ): Promise<RefreshTokenPayload> {
    const key = hashCredential(value);
    const known = decrypted.get(key);
    if (known) return known;
    try {
      limit?.check();
      const payload = await decrypt(value).catch((error: unknown) => {
        throw error instanceof TooManyAttemptsError ? new TooBusy(error, 'refresh tokens at once') : error;
      });
      if (payload) {
        decrypted.set(key, payload);
        return payload;
      }
      // Whoever has a token of Passport has not made it up.
      await limit?.failed();
    } catch (error) {
      throw TooManyAttempts.instead(error, 'wrong refresh tokens of this client');
    }
    throw new errors.InvalidGrant('the refresh token cannot be decrypted with passport.appKey');
  }

  async function find({ id }: RefreshTokenPayload): Promise<FoundCredential | undefined> {
    return grants.findCredential('refresh_token', refreshTokenGrantId(id));
  }

  async function store(payload: RefreshTokenPayload): Promise<void> {
    const { accessTokenId, clientId, expiresAt, id, userId } = payload;
    const row = await source.findRefreshToken(id, clientId);
    const ofAccessToken = await grants.find(accessTokenGrantId(accessTokenId));
    if (!row?.isLive || ofAccessToken?.revokedAt !== undefined) return;
    const { issuedAfter } = row;
    const scopes = mapScopes(payload.scopes, api);
    const at = now();
    const grantId = refreshTokenGrantId(id);
    // An authorization without a time was begun before any end of its user or client.
    const sequence = issuedAfter === undefined ? 0 : sequenceAt(issuedAfter);
    await importGrant(
      { id: grantId, userId, clientId, scopes, createdAt: at, expiresAt, sequence },
      {
        credential: {
          kind: 'refresh_token',
          id: grantId,
          payload: {
            kind: 'RefreshToken',
            iat: at,
            exp: expiresAt,
            accountId: userId,
            clientId,
            grantId,
            ...(scopes && scopes.length > 0 && { scope: scopes.join(' ') }),
          },
          consumedAt: undefined,
        },
        isLive: async () => (await source.findRefreshToken(id, clientId))?.isLive === true,
        isOrphan: issuedAfter === undefined,
      },
    );
  }

  /** Marks the token at Passport, and ends its access token, before it is exchanged here. */
  async function isClaimed(payload: RefreshTokenPayload, { grant }: FoundCredential): Promise<boolean> {
    const { accessTokenId, clientId, expiresAt, id } = payload;
    const ended = { revokedAt: now(), expiresAt: Math.max(expiresAt, until) };
    if (!isWritable) {
      const row = await source.findRefreshToken(id, clientId);
      if (!row?.isLive) return false;
      await revocations.revokeToken({ id: accessTokenId, ...ended });
    } else if (await source.redeemRefreshToken(id, accessTokenId)) {
      await revocations.revokeToken({ id: claimId(id), ...ended });
    } else if (ended.revokedAt - grant.createdAt >= refreshGrace && !(await isClaimStored(payload))) {
      return false;
    }
    await grants.revoke({ id: accessTokenGrantId(accessTokenId) }, ended.revokedAt);
    return true;
  }

  /** Whether a request to this server has marked the row, earlier or just now. */
  async function isClaimStored({ clientId, id }: RefreshTokenPayload): Promise<boolean> {
    const question = { id: claimId(id), clientId, grant: undefined, sequence: Number.MAX_SAFE_INTEGER };
    for (let looks = 1; ; looks += 1) {
      if (!(await revocations.isValid(question))) return true;
      if (looks === CLAIM_LOOKS) return false;
      await setTimeout(CLAIM_PAUSE);
    }
  }

  return async function importRefreshToken(value, { clientId, isClaim, limit }) {
    if (appKey.length === 0 || !hasRefreshTokenForm(value)) return undefined;
    const spelled = value.toLowerCase();
    const payload = await read(spelled, limit);
    if (clientId !== undefined && payload.clientId !== clientId)
      throw new errors.InvalidGrant('client mismatch');
    if (Math.min(payload.expiresAt, until) <= now())
      throw new errors.InvalidGrant('refresh token is expired');
    let found = await find(payload);
    if (!found) {
      await store(payload);
      // Also by another request, which has marked its row since.
      found = await find(payload);
    }
    if (!found) throw new errors.InvalidGrant('refresh token was revoked');
    if (isClaim && found.spentFor === undefined && !(await isClaimed(payload, found)))
      throw new errors.InvalidGrant('refresh token was revoked');
    if (isClaim) used({ id: payload.id, clientId: payload.clientId, kind: 'refresh' });
    const scopes =
      typeof found.credential.payload['scope'] === 'string'
        ? found.credential.payload['scope'].split(' ')
        : [];
    return { ...found, value: spelled, resource: undefined, scopes, server: 'passport' };
  };
}
