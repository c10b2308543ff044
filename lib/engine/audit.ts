import { errors, Provider } from 'oidc-provider';
import type { AccessToken, KoaContextWithOIDC } from 'oidc-provider';

import type { LastUses } from '../clients/last-use.ts';
import { now } from '../contracts/clock.ts';
import { toDate } from '../contracts/duration.ts';
import type { AuditEvent, AuditLog, ClientSecret } from '../contracts/index.ts';
import { originOf, requestIdOf } from '../http/request.ts';
import { assertionRefusal } from './client-assertion.ts';
import { onTokenDestroyed } from './calls-without-context.ts';
import { clientIdOf, disabledClientId, errorOfFailure, grantOf, grantTypeOf, isPending } from './outcome.ts';
import { engineRequestOf } from './request.ts';
import type { EngineRequest, OAuthError } from './request.ts';
import type { EndpointRule } from './endpoints.ts';
import { besidesDefault } from './resource-parameter.ts';
import { TryAgain } from './refusals.ts';

/**
 * Keeps the outcome of each request for its response, the log and the trace, and writes the audit record of it; both from the
 * engine's events.
 */
export function recordEvents(
  provider: Provider,
  audit: AuditLog,
  {
    appUsed,
    endpoints,
  }: { readonly appUsed: LastUses['appUsed']; readonly endpoints: readonly EndpointRule[] },
): void {
  const records = {
    authorization_refused: recordRefusedAuthorization,
    token_refused(request: EngineRequest, refused: OAuthError): void {
      if (!isPending(request, refused.error)) recordRefusedToken(request, refused);
    },
  };
  provider.on('grant.success', (ctx) => {
    const request = engineRequestOf(ctx);
    const { credential, issued } = request;
    // Of a grant type of the host.
    const { AccessToken: token, ClientCredentials: own } = ctx.oidc.entities;
    const { clientId } = ctx.oidc.client!;
    const audience = issued?.api.resource ?? ((token ?? own)?.aud as string | undefined);
    const resource = besidesDefault(audience, provider.issuer);
    const userId = issued?.grant?.user.id ?? token?.accountId;
    const grantId = issued?.grant?.id ?? token?.grantId;
    const about = { clientId, userId, grantId, resource };
    record(request, {
      type: 'token_issued',
      ...about,
      grantType: grantTypeOf(request)!,
      server: credential?.server,
    });
    recordReuse(request);
    if (userId !== undefined && grantId !== undefined)
      appUsed({ id: grantId, userId, clientId }, credential?.grant.createdAt ?? now());
  });
  provider.on('server_error', (ctx, failure) => {
    const request = engineRequestOf(ctx);
    request.failure = failure;
    if (request.endpoint.refusals?.record !== 'token_refused') return;
    recordRefusedToken(request, {
      error: errorOfFailure(failure),
      reason: `the server failed; see ${requestIdOf(request.host)} in its log`,
    });
  });
  for (const { refusals } of endpoints)
    if (refusals)
      provider.on(refusals.event as 'authorization.error', (ctx, error) => {
        const request = engineRequestOf(ctx);
        request.refused = { error: error.error, reason: reasonOf(request, ctx, error) };
        if (error instanceof TryAgain) ctx.set('Retry-After', String(error.retryAfter));
        if (refusals.record) records[refusals.record](request, request.refused);
      });
  provider.on('grant.revoked', (ctx, grantId) => {
    const request = engineRequestOf(ctx);
    request.revokedGrantId = grantId;
    const about = { clientId: clientIdOf(request), userId: grantOf(request)?.userId, grantId };
    record(request, { type: 'tokens_revoked', target: 'grant', ...about });
    recordReuse(request);
  });
  onTokenDestroyed(provider, (request, token) => {
    const { accountId: userId, grantId } = token as Partial<AccessToken>;
    const about = { clientId: token.clientId, userId, grantId };
    record(request, { type: 'tokens_revoked', target: 'token', ...about });
  });

  function record(request: EngineRequest | undefined, event: AuditEvent): void {
    audit.record(event, request && originOf(request.host));
  }

  /** A spent refresh token that was presented within the grace. */
  function recordReuse(request: EngineRequest): void {
    const { credential, reused } = request;
    if (!credential || !reused) return;
    const { clientId, id: grantId, userId } = credential.grant;
    const resource = besidesDefault(credential.resource, provider.issuer);
    record(request, { type: 'refresh_token_reused', clientId, userId, grantId, resource, ...reused });
  }

  function recordRefusedToken(request: EngineRequest, refused: OAuthError): void {
    const userId = grantOf(request)?.userId;
    const about = { clientId: clientIdOf(request), userId, grantType: grantTypeOf(request) };
    record(request, { type: 'token_refused', ...about, ...refused });
  }

  function recordRefusedAuthorization(request: EngineRequest, refused: OAuthError): void {
    // The browser sends this request again; the audit record is written for that one.
    if (request.mustRestart) return;
    const { account, session } = request.oidc!;
    const userId = account?.accountId ?? session?.accountId;
    record(request, { type: 'authorization_refused', clientId: clientIdOf(request), userId, ...refused });
  }
}

function reasonOf(request: EngineRequest, ctx: KoaContextWithOIDC, error: errors.OIDCProviderError): string {
  const refusal = error instanceof errors.InvalidClientAuth ? assertionRefusal(request) : undefined;
  if (refusal) return refusal.reason;
  if (disabledClientId(request) !== undefined) return 'the app is disabled';
  const { expiredSecret } = request;
  if (error instanceof errors.InvalidClientAuth && expiredSecret) return expiredReason(expiredSecret);
  if (error instanceof errors.InvalidRedirectUri) return redirectUriReason(ctx, error);
  if (error.error_detail !== undefined) return error.error_detail;
  // The one error of the engine whose description repeats text of the request.
  const origin = ctx.get('origin');
  const repeatsOrigin = origin !== '' && error.error_description?.includes(origin);
  if (repeatsOrigin) return 'this origin is not allowed for the client';
  return error.error_description ?? error.error;
}

/** For the developer of the client alone: a stranger must not learn that the value was right once. */
function expiredReason({ expiresAt, hint, label }: ClientSecret): string {
  const which = [label && `"${label}"`, hint && `that ends in ${hint}`].filter(Boolean).join(' ');
  return `the secret ${which} expired at ${toDate(expiresAt!).toISOString()}; add another one`;
}

const LONGEST_URI = 120;

/** With the address that was sent, if it is one, but without its query and credentials, which may be anything. */
function redirectUriReason(ctx: KoaContextWithOIDC, error: errors.OIDCProviderError): string {
  const reason = error.error_detail ?? error.error_description ?? error.error;
  const sent: unknown = ctx.oidc.params?.['redirect_uri'];
  const uri = typeof sent === 'string' ? URL.parse(sent) : null;
  if (!uri) return reason;
  // With the characters that a URL encodes, such as quotes, encoded.
  const address = uri.protocol + (uri.host === '' ? '' : `//${uri.host}`) + uri.pathname;
  const shown = address.length > LONGEST_URI ? `${address.slice(0, LONGEST_URI)}…` : address;
  return `${reason}; the client sent ${shown}`;
}
