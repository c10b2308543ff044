import { errors, Provider } from 'oidc-provider';
import type { Adapter, AdapterPayload } from 'oidc-provider';

import { now } from '../../contracts/clock.ts';
import type { Credential, Grant, Storage } from '../../contracts/index.ts';
import { hashCredential } from '../../keys/hash.ts';
import { toGrantScopes } from '../scopes.ts';
import { isReplay, redeem } from '../redemption.ts';
import type { RedemptionSettings } from '../redemption.ts';
import { currentState } from '../request-state.ts';
import type { RequestState } from '../request-state.ts';

/**
 * Authorization codes and refresh tokens: spent by exactly one request.
 *
 * The engine looks a credential up, checks it, calls `consume`, and later saves what it is exchanged for. Two requests
 * can pass the checks at once, so `consume` only takes note, and the save of the successor spends the presented
 * credential and keeps the new one in one transaction with one winner (see redemption.ts).
 */
export function credentialAdapter(
  kind: Credential['kind'],
  { credentials }: Pick<Storage, 'credentials'>,
  settings: RedemptionSettings,
): Partial<Adapter> {
  return {
    async upsert(value, payload) {
      const state = currentState();
      const credential = toCredential(kind, value, payload);
      if (kind === 'code') {
        await startGrant(state, payload, credential);
      } else if (state?.presented) {
        await redeem(credentials, state, settings, { value, credential });
      } else {
        throw new Error('A refresh token is only issued in exchange for a code or another refresh token');
      }
    },
    async find(value) {
      const found = await credentials.find(kind, hashCredential(value));
      if (!found) return undefined;
      const { credential, grant } = found;
      const state = currentState();
      if (state) state.grant = grant;
      if (state && isToBeProved(credential)) state.code = credential;
      // Told that it is consumed, the engine revokes the grant once it knows that the client is the right one.
      const consumed = await isReplay(credentials, credential, { value, settings });
      return {
        ...(credential.payload as AdapterPayload),
        jti: value,
        ...(consumed ? { consumed } : {}),
      };
    },
    async consume(value) {
      const state = currentState();
      if (!state) throw new Error('A credential is only spent by a token request');
      state.presented = { kind, id: hashCredential(value), value };
    },
    // A family ends with its grant (see index.ts), which the engine destroys whenever that is meant. It also asks this of
    // the credentials when a client revokes no more than an access token, and those must go on.
    async destroy() {},
    async revokeByGrantId() {},
  };

  async function startGrant(
    state: RequestState | undefined,
    payload: AdapterPayload,
    code: Credential,
  ): Promise<void> {
    const session = state?.session;
    if (!session) throw new Error('A code is only issued to somebody who is logged in');
    const basis = { consent: state.agreed, sessionId: session.id };
    if (await credentials.start(approvedGrant(payload, session.sequence), code, basis)) return;
    state.mustBeginAgain = true;
    throw new errors.AccessDenied('the consent or the login session has ended meanwhile');
  }
}

/** A live code whose client has to know a secret of that one authorization (RFC 7636). */
function isToBeProved({ consumedAt, expiresAt, kind, payload }: Credential): boolean {
  const { codeChallenge } = payload as AdapterPayload;
  return kind === 'code' && codeChallenge !== undefined && consumedAt === undefined && expiresAt > now();
}

function toCredential(kind: Credential['kind'], value: string, payload: AdapterPayload): Credential {
  const { jti: _value, consumed: _consumed, ...rest } = payload;
  return {
    kind,
    id: hashCredential(value),
    grantId: payload.grantId!,
    payload: rest,
    expiresAt: payload.exp!,
    consumedAt: undefined,
    sealedSuccessor: undefined,
  };
}

/** The grant of the authorization request that the engine is answering; see consent.ts, which made it. */
function approvedGrant(payload: AdapterPayload, sequence: number): Grant {
  const grant = Provider.ctx?.oidc.entities.Grant;
  if (!grant || grant.jti !== payload.grantId) {
    throw new errors.InvalidRequest('the authorization request has no grant');
  }
  const scopes = Object.values(grant.resources ?? {}).flatMap((scope) => scope.split(' '));
  return {
    id: grant.jti,
    userId: grant.accountId!,
    clientId: grant.clientId!,
    scopes: toGrantScopes(scopes, currentState()?.isLimitedToNothing === true),
    createdAt: now(),
    expiresAt: payload.exp!,
    revokedAt: undefined,
    sequence,
  };
}
