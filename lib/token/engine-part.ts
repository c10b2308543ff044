import type { Configuration } from 'oidc-provider';

import type { ClientDirectory } from '../clients/directory.ts';
import type { EnginePart } from '../engine/part.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';
import { authorizationCodeGrant } from './authorization-code.ts';
import { clientCredentialsGrant } from './client-credentials.ts';
import type { GrantParts } from './exchange.ts';
import { createIntrospectionPolicy } from './introspection.ts';
import type { FindClientPermissions } from './introspection.ts';
import { accessTokenAdapter, codeAdapter, grantAdapter, refreshTokenAdapter } from './models.ts';
import { refreshTokenGrant } from './refresh-token.ts';
import { createResourceServerInfo } from './resource-server.ts';

/** What the token endpoint needs besides the options. */
export interface TokenParts extends Omit<GrantParts, 'options'> {
  readonly clients: ClientDirectory;
  readonly clientPermissions: FindClientPermissions;
}

/**
 * What the engine needs for tokens: the grants, which take the place of the engine's own, and the models with which it revokes and
 * introspects.
 */
export function tokenPart(options: ResolvedOptions, parts: TokenParts): EnginePart {
  const { clients } = parts;
  const { issuer, storage } = options;
  const { lifetimes } = options.tokens;
  const ofGrants = { ...parts, options };
  return {
    models: {
      Grant: grantAdapter(storage.grants, issuer),
      AuthorizationCode: codeAdapter(storage.grants),
      RefreshToken: refreshTokenAdapter(storage, options),
      AccessToken: accessTokenAdapter('user', storage, clients, options),
      ClientCredentials: accessTokenAdapter('client', storage, clients, options),
    },
    grants: [authorizationCodeGrant(ofGrants), refreshTokenGrant(ofGrants), clientCredentialsGrant(ofGrants)],
    configuration: {
      features: {
        clientCredentials: { enabled: true },
        revocation: {
          enabled: true,
          allowedPolicy: (_ctx, client, token) => token.clientId === client.clientId,
        },
        introspection: { enabled: true, allowedPolicy: createIntrospectionPolicy(options, parts) },
        resourceIndicators: {
          enabled: true,
          defaultResource: () => issuer,
          getResourceServerInfo: createResourceServerInfo(options),
        },
      },
      ttl: {
        // Of a grant type of the host. The grants of this server have the lifetimes of the client and the API.
        AccessToken: lifetimes.accessToken,
        ClientCredentials: lifetimes.accessToken,
        AuthorizationCode: lifetimes.authorizationCode,
        // The engine stores none here; it prints a notice about each lifetime that is left out.
        Grant: lifetimes.refreshToken,
      },
      revokeGrantPolicy: (ctx) => !(ctx.oidc.route === 'revocation' && ctx.oidc.entities.AccessToken),
      extraTokenClaims: createHostTokenClaims(clients),
    },
  };
}

/** The claims without which the guard refuses a token, for those that a grant type of the host makes with the engine. */
function createHostTokenClaims(
  clients: Pick<ClientDirectory, 'find'>,
): NonNullable<Configuration['extraTokenClaims']> {
  return async (_ctx, token) => {
    if ('grantId' in token && token.grantId) return { principal: 'user', grant_id: token.grantId };
    const sequence = (await clients.find(token.clientId!))?.sequence ?? 0;
    return { principal: 'client', ...(sequence > 0 && { revocation_sequence: sequence }) };
  };
}
