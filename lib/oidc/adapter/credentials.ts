import { errors, Provider } from 'oidc-provider';
import type { Adapter, AdapterPayload } from 'oidc-provider';

import { now } from '../../contracts/clock.ts';
import type { Credential, Grant, Storage } from '../../contracts/index.ts';
import { hashCredential } from '../../keys/hash.ts';
import { currentRequest } from '../engine-request.ts';
import type { EngineRequest } from '../engine-request.ts';
import { toGrantScopes } from '../scopes.ts';
import { isReplay, PresentedCredential } from '../redemption.ts';
import type { RedemptionSettings } from '../redemption.ts';

/**
 * Authorization codes and refresh tokens: spent by exactly one request.
 *
 * The engine looks a credential up, checks it, calls `consume`, and saves what it is exchanged for. Two requests can pass the
 * checks at once, so `consume` writes nothing, and the save of the successor spends the credential that was looked up and keeps
 * the new one in one transaction with one winner (see redemption.ts).
 */
export function credentialAdapter(
  kind: Credential['kind'],
  { credentials }: Pick<Storage, 'credentials'>,
  settings: RedemptionSettings,
): Partial<Adapter> {
  return {
    async upsert(value, payload) {
      const request = currentRequest();
      const credential = toCredential(kind, value, payload);
      if (kind === 'code') {
        await startGrant(request, payload, credential);
      } else if (request?.credential?.grant.id === credential.grantId) {
        await request.credential.redeem(credentials, settings, { value, credential });
      } else {
        throw new Error('A refresh token is only issued in exchange for a code or another refresh token');
      }
    },
    async find(value) {
      const found = await credentials.find(kind, hashCredential(value));
      if (!found) return undefined;
      const { credential } = found;
      currentRequest()?.present(new PresentedCredential(value, found));
      // Told that it is consumed, the engine revokes the grant once it knows that the client is the right one.
      const consumed = await isReplay(credentials, credential, { value, settings });
      return {
        ...(credential.payload as AdapterPayload),
        jti: value,
        ...(consumed ? { consumed } : {}),
      };
    },
    async consume() {
      currentRequest()?.credential?.accept();
    },
    // A family ends with its grant (see index.ts), which the engine destroys whenever that is meant. It also asks this of
    // the credentials when a client revokes no more than an access token, and those must go on.
    async destroy() {},
    async revokeByGrantId() {},
  };

  async function startGrant(
    request: EngineRequest | undefined,
    payload: AdapterPayload,
    code: Credential,
  ): Promise<void> {
    if (!request?.authorization) throw new Error('A code is only issued to somebody who is logged in');
    const { consent, session } = request.authorization;
    const basis = { consent, sessionId: session.id };
    const grant = approvedGrant(payload, { limited: request.asksForNothing, sequence: session.sequence });
    if (await credentials.start(grant, code, basis)) return;
    request.outcome.beginAgain();
    throw new errors.AccessDenied('the consent or the login session has ended meanwhile');
  }
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
function approvedGrant(
  payload: AdapterPayload,
  { limited, sequence }: { limited: boolean; sequence: number },
): Grant {
  const grant = Provider.ctx?.oidc.entities.Grant;
  if (!grant || grant.jti !== payload.grantId) {
    throw new errors.InvalidRequest('the authorization request has no grant');
  }
  const scopes = Object.values(grant.resources ?? {}).flatMap((scope) => scope.split(' '));
  return {
    id: grant.jti,
    userId: grant.accountId!,
    clientId: grant.clientId!,
    scopes: toGrantScopes(scopes, limited),
    createdAt: now(),
    expiresAt: payload.exp!,
    revokedAt: undefined,
    sequence,
  };
}
