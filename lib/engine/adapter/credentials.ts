import { errors, Provider } from 'oidc-provider';
import type { Adapter, AdapterPayload } from 'oidc-provider';

import { now } from '../../clock.ts';
import type { Credential, Grant, Storage } from '../../contracts.ts';
import { hashCredential } from '../hash.ts';
import type { Presentations } from '../presentations.ts';
import { redeem } from '../redemption.ts';
import type { RedemptionSettings } from '../redemption.ts';
import { currentState } from '../request-state.ts';

/**
 * Authorization codes and refresh tokens: spent by exactly one request.
 *
 * The engine looks a credential up, checks it, calls `consume`, and later saves what it is exchanged for. Two requests
 * can pass the checks at once, so `consume` only takes note, and the save of the successor spends the presented
 * credential and keeps the new one in one transaction with one winner (see redemption.ts).
 */
export function credentialAdapter(
  kind: Credential['kind'],
  storage: Storage,
  presentations: Presentations,
  settings: RedemptionSettings,
): Partial<Adapter> {
  const grace = kind === 'refresh_token' ? settings.refreshGrace : 0;

  return {
    async upsert(value, payload) {
      const state = currentState();
      const credential = toCredential(kind, value, payload);
      if (kind === 'code') {
        const isStarted = await storage.credentials.start(approvedGrant(payload), credential, state?.agreed);
        if (!isStarted) throw new errors.AccessDenied('the user has taken the access of this app away');
      } else if (state?.presented) {
        await redeem(storage.credentials, state, settings, { value, credential });
      } else {
        throw new Error('A refresh token is only issued in exchange for a code or another refresh token');
      }
    },
    async find(value) {
      const id = hashCredential(value);
      const state = currentState();
      if (state) state.presentation = presentations.begin(id, grace, state.host.res);
      const found = await storage.credentials.find(kind, id);
      if (!found) return undefined;
      const { credential, grant } = found;
      if (state) state.grant = grant;
      // Not shown that it is spent, the engine goes on, and the request loses in `redeem` without harm to the winner.
      const isReplay = state?.presentation?.isReplay(credential) ?? credential.consumedAt !== undefined;
      if (state && isToBeProved(credential)) state.code = credential;
      return {
        ...(credential.payload as AdapterPayload),
        jti: value,
        ...(isReplay ? { consumed: true } : {}),
      };
    },
    async consume(value) {
      const state = currentState();
      if (!state) throw new Error('A credential is only spent by a token request');
      state.presented = { kind, id: hashCredential(value), value };
    },
    // A family ends with its grant (see grants.ts), which the engine destroys whenever that is meant. It also asks this of
    // the credentials when a client revokes no more than an access token, and those must go on.
    async destroy() {},
    async revokeByGrantId() {},
  };
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
function approvedGrant(payload: AdapterPayload): Grant {
  const grant = Provider.ctx?.oidc.entities.Grant;
  if (!grant || grant.jti !== payload.grantId) {
    throw new errors.InvalidRequest('the authorization request has no grant');
  }
  return {
    id: grant.jti,
    userId: grant.accountId!,
    clientId: grant.clientId!,
    scopes: Object.values(grant.resources ?? {}).flatMap((scope) => scope.split(' ')),
    createdAt: now(),
    expiresAt: payload.exp!,
    revokedAt: undefined,
  };
}
