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
 * Authorization codes and refresh tokens. Each is spent by exactly one request.
 *
 * The engine finds a credential, checks it, calls `consume`, and saves the credential that it is exchanged for. Two concurrent
 * requests can both pass the checks, so `consume` writes nothing: saving the successor spends the presented credential and
 * stores the new one in one transaction, which succeeds for one request only (see redemption.ts).
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
      // The engine revokes the grant of a consumed credential after it has checked that the client is the grant's.
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
    // Revoking the grant ends its credentials (see index.ts), and the engine destroys the grant for that. It also calls these
    // two when a client revokes an access token only, and then the grant's refresh token has to stay valid.
    async destroy() {},
    async revokeByGrantId() {},
  };

  async function startGrant(
    request: EngineRequest | undefined,
    payload: AdapterPayload,
    code: Credential,
  ): Promise<void> {
    if (!request?.authorization) throw new Error('A code is issued only in a login session');
    const { consent, session } = request.authorization;
    const basis = { consent, sessionId: session.id };
    const grant = approvedGrant(payload, { limited: request.isLimitedToNoScope, sequence: session.sequence });
    if (await credentials.start(grant, code, basis)) return;
    request.outcome.restartAuthorization();
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

/** The grant of the current authorization request, made by `createLoadGrant` (see consent.ts). */
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
