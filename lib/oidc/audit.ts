import { Provider } from 'oidc-provider';
import type { AccessToken, ClientCredentials, errors, KoaContextWithOIDC } from 'oidc-provider';

import type { RecordUse } from '../clients/last-use.ts';
import type { AuditLog, AuditOrigin } from '../contracts/index.ts';
import { currentRequest, requestOf } from './engine-request.ts';
import { errorOfFailure } from './outcome.ts';
import type { OAuthError } from './outcome.ts';
import { clientIdOf, oauthErrorOf, grantOf, grantTypeOf, originOf } from './request-facts.ts';
import { besidesDefault } from './resource-parameter.ts';
import { TooManyAttempts } from './token-response.ts';
import { isPollAnswer } from './user-codes.ts';

/** Writes audit records of the engine's events, and the time at which a user's authorized app was last used. */
export function recordAuditEvents(provider: Provider, audit: AuditLog, recordUse: RecordUse): void {
  provider.on('grant.success', (ctx) => {
    const { AccessToken: token, Client: client, ClientCredentials: own } = ctx.oidc.entities;
    const clientId = client!.clientId;
    const resource = besidesDefault((token ?? own)?.aud as string | undefined, provider.issuer);
    const [userId, grantId] = [token?.accountId, token?.grantId];
    audit.record(
      { type: 'token_issued', clientId, userId, grantId, resource, grantType: grantTypeOf(ctx)! },
      hostOriginOf(ctx),
    );
    if (userId !== undefined) recordUse(userId, clientId);
  });
  provider.on('grant.error', (ctx, error) => {
    // A device polls every few seconds until its user has decided.
    if (isPollAnswer(error.error)) return;
    recordRefusedToken(ctx, oauthErrorOf(ctx, error));
  });
  provider.on('server_error', (ctx, error) => {
    if (ctx.oidc.route !== 'token') return;
    recordRefusedToken(ctx, {
      error: errorOfFailure(error),
      reason: `the server failed; see ${requestOf(ctx).requestId} in its log`,
    });
  });
  provider.on('device_authorization.error', (ctx, error) => {
    audit.record(
      { type: 'authorization_refused', clientId: clientIdOf(ctx), ...oauthErrorOf(ctx, error) },
      hostOriginOf(ctx),
    );
  });
  provider.on('authorization.error', (ctx, error) => {
    // The browser sends this request again; the audit record is written for that one.
    if (requestOf(ctx).outcome.mustRestart) return;
    const { account, session } = ctx.oidc;
    audit.record(
      {
        type: 'authorization_refused',
        clientId: clientIdOf(ctx),
        userId: account?.accountId ?? session?.accountId,
        ...oauthErrorOf(ctx, error),
      },
      hostOriginOf(ctx),
    );
  });
  provider.on('grant.revoked', (ctx, grantId) => {
    audit.record(
      {
        type: 'tokens_revoked',
        target: 'grant',
        clientId: clientIdOf(ctx),
        userId: grantOf(ctx)?.userId,
        grantId,
      },
      hostOriginOf(ctx),
    );
  });
  provider.on('access_token.destroyed', recordRevokedToken);
  provider.on('client_credentials.destroyed', recordRevokedToken);

  function recordRefusedToken(ctx: KoaContextWithOIDC, oauthError: OAuthError): void {
    audit.record(
      {
        type: 'token_refused',
        clientId: clientIdOf(ctx),
        userId: grantOf(ctx)?.userId,
        grantType: grantTypeOf(ctx),
        ...oauthError,
      },
      hostOriginOf(ctx),
    );
  }

  // The engine emits this event for a token that its client has revoked, without a context.
  function recordRevokedToken(token: AccessToken | ClientCredentials): void {
    const { accountId: userId, grantId } = token as Partial<AccessToken>;
    const host = currentRequest()?.host;
    audit.record(
      { type: 'tokens_revoked', target: 'token', clientId: token.clientId, userId, grantId },
      host && originOf(host),
    );
  }
}

function hostOriginOf(ctx: KoaContextWithOIDC): AuditOrigin {
  return originOf(requestOf(ctx).host);
}

/** Records the engine's OAuth errors and failures in the request's outcome, for the response and the log line. */
export function recordOutcomes(provider: Provider): void {
  provider.on('grant.error', recordError);
  provider.on('revocation.error', recordError);
  provider.on('introspection.error', recordError);
  provider.on('authorization.error', recordError);
  provider.on('device_authorization.error', recordError);
  provider.on('grant.revoked', (ctx, grantId) => {
    requestOf(ctx).outcome.revokeGrant(grantId);
  });
  provider.on('server_error', (ctx, error) => {
    requestOf(ctx).outcome.fail(error);
  });
}

function recordError(ctx: KoaContextWithOIDC, error: errors.OIDCProviderError): void {
  const retryAfter = error instanceof TooManyAttempts ? error.retryAfter : undefined;
  requestOf(ctx).outcome.refuse({ ...oauthErrorOf(ctx, error), retryAfter });
}
