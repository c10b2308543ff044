import { errors, Provider } from 'oidc-provider';
import type { AccessToken, ClientCredentials, KoaContextWithOIDC } from 'oidc-provider';

import type { LastUses } from '../clients/last-use.ts';
import { now } from '../contracts/clock.ts';
import { toDate } from '../contracts/duration.ts';
import type { AuditEvent, AuditLog, ClientSecret } from '../contracts/index.ts';
import { originOf, requestIdOf } from '../http/request-id.ts';
import { assertionRefusal } from './client-assertion.ts';
import {
  clientIdOf,
  currentRequest,
  disabledClientId,
  errorOfFailure,
  grantOf,
  grantTypeOf,
  requestOf,
} from './request.ts';
import type { OAuthError } from './request.ts';
import { isPending } from './grant-types.ts';
import type { EndpointRule } from './endpoints.ts';
import { besidesDefault } from './resource-parameter.ts';
import { TooManyAttempts } from './response.ts';

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
    token_refused(ctx: KoaContextWithOIDC, refused: OAuthError): void {
      if (!isPending(ctx, refused.error)) recordRefusedToken(ctx, refused);
    },
  };
  provider.on('grant.success', (ctx) => {
    const { credential, issued } = requestOf(ctx);
    // Of a grant type of the host.
    const { AccessToken: token, ClientCredentials: own } = ctx.oidc.entities;
    const { clientId } = ctx.oidc.client!;
    const audience = issued?.api.resource ?? ((token ?? own)?.aud as string | undefined);
    const resource = besidesDefault(audience, provider.issuer);
    const userId = issued?.grant?.user.id ?? token?.accountId;
    const grantId = issued?.grant?.id ?? token?.grantId;
    const about = { clientId, userId, grantId, resource };
    record(ctx, {
      type: 'token_issued',
      ...about,
      grantType: grantTypeOf(ctx)!,
      server: credential?.server,
    });
    recordReuse(ctx);
    if (userId !== undefined && grantId !== undefined)
      appUsed({ id: grantId, userId, clientId }, credential?.grant.createdAt ?? now());
  });
  provider.on('server_error', (ctx, failure) => {
    requestOf(ctx).failure = failure;
    if (requestOf(ctx).endpoint.refusals?.record !== 'token_refused') return;
    recordRefusedToken(ctx, {
      error: errorOfFailure(failure),
      reason: `the server failed; see ${requestIdOf(requestOf(ctx).host)} in its log`,
    });
  });
  for (const { refusals } of endpoints)
    if (refusals)
      provider.on(refusals.event as 'authorization.error', (ctx, error) => {
        const refused = refuse(ctx, error);
        if (refusals.record) records[refusals.record](ctx, refused);
      });
  provider.on('grant.revoked', (ctx, grantId) => {
    requestOf(ctx).revokedGrantId = grantId;
    const about = { clientId: clientIdOf(ctx), userId: grantOf(ctx)?.userId, grantId };
    record(ctx, { type: 'tokens_revoked', target: 'grant', ...about });
    recordReuse(ctx);
  });
  provider.on('access_token.destroyed', recordRevokedToken);
  provider.on('client_credentials.destroyed', recordRevokedToken);

  function record(ctx: KoaContextWithOIDC, event: AuditEvent): void {
    audit.record(event, originOf(requestOf(ctx).host));
  }

  /** A spent refresh token that was presented within the grace. */
  function recordReuse(ctx: KoaContextWithOIDC): void {
    const { credential, reused } = requestOf(ctx);
    if (!credential || !reused) return;
    const { clientId, id: grantId, userId } = credential.grant;
    const resource = besidesDefault(credential.resource, provider.issuer);
    record(ctx, { type: 'refresh_token_reused', clientId, userId, grantId, resource, ...reused });
  }

  function recordRefusedToken(ctx: KoaContextWithOIDC, refused: OAuthError): void {
    const about = { clientId: clientIdOf(ctx), userId: grantOf(ctx)?.userId, grantType: grantTypeOf(ctx) };
    record(ctx, { type: 'token_refused', ...about, ...refused });
  }

  function recordRefusedAuthorization(ctx: KoaContextWithOIDC, refused: OAuthError): void {
    // The browser sends this request again; the audit record is written for that one.
    if (requestOf(ctx).mustRestart) return;
    const { account, session } = ctx.oidc;
    const userId = account?.accountId ?? session?.accountId;
    record(ctx, { type: 'authorization_refused', clientId: clientIdOf(ctx), userId, ...refused });
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

/** Keeps the OAuth error of a request, and sets the header field of the response that belongs to it. */
function refuse(ctx: KoaContextWithOIDC, error: errors.OIDCProviderError): OAuthError {
  if (error instanceof TooManyAttempts) ctx.set('Retry-After', String(error.retryAfter));
  return (requestOf(ctx).refused = { error: error.error, reason: reasonOf(ctx, error) });
}

function reasonOf(ctx: KoaContextWithOIDC, error: errors.OIDCProviderError): string {
  const refusal = error instanceof errors.InvalidClientAuth ? assertionRefusal(ctx) : undefined;
  if (refusal) return refusal.reason;
  if (disabledClientId(requestOf(ctx)) !== undefined) return 'the app is disabled';
  const { expiredSecret } = requestOf(ctx);
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
