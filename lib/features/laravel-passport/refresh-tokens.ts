import { setTimeout } from 'node:timers/promises';

import { LRUCache } from 'lru-cache';

import { CACHE_BOUND } from '../../contracts/cache-bound.ts';
import { now } from '../../contracts/clock.ts';
import type { FoundCredential } from '../../contracts/index.ts';
import { errors } from '../../engine/oidc-provider.ts';
import type { FindForeignRefreshToken } from '../../engine/request.ts';
import { TooBusy, TooManyAttempts } from '../../engine/refusals.ts';
import { TooManyAttemptsError } from '../../errors.ts';
import { hashCredential } from '../../keys/hash.ts';
import type { CoreBase } from '../core.ts';
import { createDecrypt, hasRefreshTokenForm } from './decrypt.ts';
import type { RefreshTokenPayload } from './decrypt.ts';
import { accessTokenGrantId, claimId, mapScopes, refreshTokenGrantId, sequenceAt } from './identifiers.ts';
import { importable } from './import-grant.ts';
import type { Importable, PassportConsents } from './import-grant.ts';
import type { PassportSettings } from './options.ts';
import type { TokenUses } from './token-uses.ts';
import type { PassportStore } from './types.ts';

// How often a request checks whether another request that has marked the row has stored that, and how many milliseconds it waits in
// between.
const CLAIM_LOOKS = 10;
const CLAIM_PAUSE = 50;

/**
 * Makes the function that imports refresh tokens of Passport. Each becomes an unspent refresh token of a grant here, under an id that is
 * made from its own id, so that only one of all requests on all nodes stores it. From then on it is exchanged, repeated and reused like
 * any other.
 *
 * Only an exchange or a revocation imports a token, so a stored grant shows that this server has meant to mark the row at Passport. The
 * server then marks the row by one conditional write, and then stores that it has done so. When the row was marked before, either the old
 * server has exchanged the token, or another request here has marked the row. The other request has stored that, or stores it within the
 * time of `isClaimStored`; but its process may have died in between. So, within the grace after an import, the mark counts as one of this
 * server, unless this very request has imported the token: then it is the old server's mark, and the grant is ended. Where nothing can be
 * written, the old server must not refresh any more.
 *
 * A token has several spellings. The text in lower case is the one that encrypts the next token.
 */
export function createFindRefreshToken(
  { options, storage }: Pick<CoreBase, 'options' | 'storage'>,
  {
    importGrant,
    isImportable,
    isWritable,
    settings: { appKey = [], source, until },
    store,
    used,
  }: Pick<PassportConsents, 'importGrant' | 'isImportable'> &
    Pick<TokenUses, 'used'> & {
      readonly isWritable: boolean;
      readonly settings: PassportSettings;
      readonly store: Pick<PassportStore, 'isMarked' | 'mark'>;
    },
): FindForeignRefreshToken {
  const { grants, revocations } = storage;
  const { refreshGrace } = options.tokens;
  const api = options.resources.get(options.issuer)!;
  const decrypt = createDecrypt(appKey);
  // Remembered, so that repeating a token does not keep the server busy.
  const decrypted = new LRUCache<string, RefreshTokenPayload>(CACHE_BOUND);

  async function read(
    value: string,
    limit: Parameters<FindForeignRefreshToken>[1]['limit'],
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
      // This counts as failed: only a token that somebody made up cannot be decrypted.
      await limit?.failed();
    } catch (error) {
      throw TooManyAttempts.instead(error, 'wrong refresh tokens of this client');
    }
    throw new errors.InvalidGrant('the refresh token cannot be decrypted with appKey of laravelPassport()');
  }

  async function find({ id }: RefreshTokenPayload): Promise<FoundCredential | undefined> {
    return grants.findCredential('refresh_token', refreshTokenGrantId(id));
  }

  /** What to import for a token; `undefined` when it is not live at Passport, or was ended here. */
  async function toImportable(payload: RefreshTokenPayload): Promise<Importable | undefined> {
    const { accessTokenId, clientId, expiresAt, id, userId } = payload;
    const row = await source.findRefreshToken(id, clientId);
    const ofAccessToken = await grants.find(accessTokenGrantId(accessTokenId));
    if (!row?.isLive || ofAccessToken?.revokedAt !== undefined) return undefined;
    const { issuedAfter } = row;
    const scopes = mapScopes(payload.scopes, api);
    const at = now();
    const grantId = refreshTokenGrantId(id);
    // An authorization without a time was begun before any end of its user or client.
    const sequence = issuedAfter === undefined ? 0 : sequenceAt(issuedAfter);
    return importable(
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
        accessTokenId,
        isOrphan: issuedAfter === undefined,
      },
    );
  }

  /** Finds a token that could be claimed, or was claimed, and changes nothing. */
  async function look(payload: RefreshTokenPayload): Promise<FoundCredential | undefined> {
    const known = await find(payload);
    if (!known) {
      const token = await toImportable(payload);
      // When its grant was revoked, only the grant is found.
      if (token && (await isImportable(token)) && !(await grants.find(token.grant.id)))
        return { ...token, expiresIn: payload.expiresAt - now(), spentFor: undefined };
    }
    // Another request may have imported the token, and marked its row.
    const stored = known ?? (await find(payload));
    if (!stored || stored.spentFor !== undefined) return stored;
    const mayBeClaimed = isInGrace(stored) || (await isClaimStored(payload, 1));
    const { clientId, id } = payload;
    return mayBeClaimed || (await source.findRefreshToken(id, clientId))?.isLive ? stored : undefined;
  }

  /**
   * Imports a token if that is not done, and marks it at Passport. Resolves to `undefined` when it was revoked, or the old server has
   * exchanged it.
   */
  async function claim(payload: RefreshTokenPayload): Promise<FoundCredential | undefined> {
    const known = await find(payload);
    if (known?.spentFor !== undefined) return known;
    const token = known ? undefined : await toImportable(payload);
    const isFirst = token !== undefined && (await importGrant(token)) === 'imported';
    // Also finds a token that another request has imported, and whose row it has marked since.
    const found = known ?? (await find(payload));
    if (!found) return undefined;
    return found.spentFor !== undefined || (await isClaimed(payload, found, isFirst)) ? found : undefined;
  }

  /**
   * Marks the token at Passport, and ends its access token, before it is exchanged here.
   *
   * @param isFirst - whether this request has imported the token
   */
  async function isClaimed(
    payload: RefreshTokenPayload,
    found: FoundCredential,
    isFirst: boolean,
  ): Promise<boolean> {
    const { accessTokenId, clientId, expiresAt, id } = payload;
    const ended = { revokedAt: now(), expiresAt: Math.max(expiresAt, until) };
    if (!isWritable) {
      const row = await source.findRefreshToken(id, clientId);
      if (!row?.isLive) return false;
      await revocations.revokeToken({ id: accessTokenId, ...ended });
    } else if (await source.redeemRefreshToken(id, accessTokenId)) {
      await store.mark(claimId(id), ended.expiresAt);
    } else if (!(await isClaimStored(payload, CLAIM_LOOKS)) && (isFirst || !isInGrace(found))) {
      if (isFirst) await grants.revoke({ id: found.grant.id }, ended.revokedAt);
      return false;
    }
    await grants.revoke({ id: accessTokenGrantId(accessTokenId) }, ended.revokedAt);
    return true;
  }

  function isInGrace({ grant }: FoundCredential): boolean {
    return now() - grant.createdAt < refreshGrace;
  }

  /** Whether it is stored that a request to this server has marked the row. */
  async function isClaimStored({ id }: RefreshTokenPayload, mostLooks: number): Promise<boolean> {
    for (let looks = 1; ; looks += 1) {
      if (await store.isMarked(claimId(id))) return true;
      if (looks === mostLooks) return false;
      await setTimeout(CLAIM_PAUSE);
    }
  }

  return async function findRefreshToken(value, { clientId, isClaim, limit }) {
    if (appKey.length === 0 || !hasRefreshTokenForm(value)) return undefined;
    const spelled = value.toLowerCase();
    const payload = await read(spelled, limit);
    if (clientId !== undefined && payload.clientId !== clientId)
      throw new errors.InvalidGrant('client mismatch');
    if (Math.min(payload.expiresAt, until) <= now())
      throw new errors.InvalidGrant('refresh token is expired');
    const found = await (isClaim ? claim(payload) : look(payload));
    if (!found) throw new errors.InvalidGrant('refresh token was revoked');
    if (isClaim) used({ id: payload.id, clientId: payload.clientId, kind: 'refresh' });
    const scopes =
      typeof found.credential.payload['scope'] === 'string'
        ? found.credential.payload['scope'].split(' ')
        : [];
    return { ...found, value: spelled, resource: undefined, scopes, server: 'laravelPassport' };
  };
}
