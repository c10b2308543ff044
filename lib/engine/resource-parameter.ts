import { errors } from 'oidc-provider';
import type { KoaContextWithOIDC } from 'oidc-provider';

import { hrefOf } from '../options/resources.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';

/** A resource as consents and audit records name it: `undefined` for the default, the issuer. */
export function besidesDefault(resource: string | undefined, issuer: string): string | undefined {
  return resource === issuer ? undefined : resource;
}

/**
 * RFC 8707 section 2 lets a server refuse several resources in one request; a token of this server is for one.
 *
 * @throws InvalidTarget of the engine
 */
export function checkOneResource({ oidc }: KoaContextWithOIDC): void {
  if (!Array.isArray(oidc.params?.['resource'])) return;
  throw new errors.InvalidTarget('a token is for one resource: send the parameter resource once');
}

/** The error for a resource that is none of this server, described as the engine describes it at the authorization endpoint. */
export function unknownResource(resource: string): errors.InvalidTarget {
  const url = URL.parse(resource);
  if (!url) return new errors.InvalidTarget('resource indicator must be an absolute URI');
  if (url.href.includes('#'))
    return new errors.InvalidTarget('resource indicator must not contain a fragment component');
  return new errors.InvalidTarget();
}

/**
 * Checks that a request for a token names no other resource than that which its code or refresh token was granted for.
 *
 * @throws InvalidTarget of the engine
 */
export function checkGrantedResource(ctx: KoaContextWithOIDC, source: { readonly resource?: unknown }): void {
  checkOneResource(ctx);
  const requested = ctx.oidc.params?.['resource'];
  if (requested === undefined || requested === source.resource) return;
  throw new errors.InvalidTarget(
    'this was granted for another resource: authorize the client for the resource first',
  );
}

/** Replaces each resource in the parameters of a request by the URL as it is in the options. */
export type NameResources = (parameters: URLSearchParams) => boolean;

/**
 * Makes the function that replaces the parameter `resource` by the URL in the options, when the two are equivalent: programs that
 * parse `https://api.example` send `https://api.example/`, and users add a slash to `https://api.example/mcp`. Other URLs stay as they
 * are. It returns whether it has changed the parameters.
 *
 * @returns `undefined` without the option `resources`
 */
export function createNameResources({ issuer, resources }: ResolvedOptions): NameResources | undefined {
  if (resources.get(issuer)?.metadataUrl === undefined) return undefined;
  const byHref = new Map(Array.from(resources.keys(), (resource) => [hrefOf(resource), resource]));
  return function nameResources(parameters) {
    const sent = parameters.getAll('resource');
    const named = sent.map((resource) => byHref.get(hrefOf(resource)) ?? resource);
    if (named.every((resource, index) => resource === sent[index])) return false;
    parameters.delete('resource');
    for (const resource of named) parameters.append('resource', resource);
    return true;
  };
}
