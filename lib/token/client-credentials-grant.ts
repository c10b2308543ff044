import type { GrantType } from '../engine/part.ts';
import { checkOneResource, unknownResource } from '../engine/resource-parameter.ts';
import { effectiveLifetimes, respond } from './access-token.ts';
import { allowedScopes, decideScopes, defaultResource, splitScope } from './scopes.ts';
import type { GrantParts } from './exchange.ts';

/** The client credentials grant (RFC 6749 section 4.4): a token of the client for itself. Nothing is stored for it. */
export const clientCredentialsGrant = ({ options, signAccessToken }: GrantParts): GrantType => ({
  name: 'client_credentials',
  parameters: ['scope', 'resource'],
  async handle(ctx, request) {
    checkOneResource(ctx);
    const { client } = request.client;
    const names = splitScope(ctx.oidc.params!['scope']);
    const { resource = defaultResource(client, names, options) } = ctx.oidc.params!;
    const api = options.resources.get(String(resource));
    if (!api) throw unknownResource(String(resource));
    const allowed = allowedScopes(client, api, options);
    const requested = names.length > 0 ? names : undefined;
    const scopes = decideScopes(requested, api, allowed, { isForItself: true, aboutUser: options.aboutUser });
    const lifetime = effectiveLifetimes(client, api.lifetimes).accessToken;
    const { clientSequence } = request;
    const content = { api, client, grant: undefined, lifetime, scopes, clientSequence };
    respond(ctx, request, { accessToken: await signAccessToken(content), content });
  },
});
