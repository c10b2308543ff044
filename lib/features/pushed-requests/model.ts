import { UnsecuredJWT } from 'jose';
import type { KoaContextWithOIDC } from 'oidc-provider';

import { now } from '../../contracts/clock.ts';
import type { Limiter, Seconds } from '../../contracts/index.ts';
import type { Model } from '../../engine/calls-without-context.ts';
import { errors } from '../../engine/oidc-provider.ts';
import { TooManyAttempts } from '../../engine/refusals.ts';
import { originOf } from '../../http/request.ts';
import { hashCredential } from '../../keys/hash.ts';
import type { StoringAttempt } from '../../limits/limits.ts';
import { parametersOf } from '../../login/asked-scopes.ts';
import type { Core } from '../core.ts';
import { PUSHED_REQUEST_TABLE } from './tables.ts';
import type { PushedRequestStore } from './types.ts';

/** What pushed requests need besides the core. */
export interface PushedRequestParts {
  readonly pushedRequests: PushedRequestStore;
  readonly limiter: Limiter<StoringAttempt> | undefined;
  readonly lifetime: Seconds;
}

// Of the URL at which a request goes on, so that the page of its consent, which says more in its URL, has room.
const LONGEST = 6000;

// Of the parameters, of which the URL is a compressed form: what a redirect has to repeat stays within the header fields of a response.
const MOST_PARAMETERS = 8000;

/**
 * Pushed authorization requests, which the engine saves at their endpoint and finds at the authorization endpoint by the end of
 * `request_uri`: that of the response, or, after a login or a consent, a reference of this server to the same row (see
 * `AuthorizationRequests.urlOf`). The row is spent with the code, so that each request leads to one at most.
 */
export function pushedRequestModel(
  { audit, options: { issuer, tokens }, requests }: Pick<Core, 'audit' | 'options' | 'requests'>,
  { lifetime, limiter, pushedRequests }: PushedRequestParts,
): Model {
  return {
    async upsert(request, value) {
      const { client, engineContext, host } = request!;
      try {
        await limiter?.take({ client: client!.client, address: host.ip });
      } catch (error) {
        throw TooManyAttempts.instead(error, 'pushed authorization requests');
      }
      // Not the form, which has the credentials of the client.
      const sent = parametersOf(engineContext as KoaContextWithOIDC);
      const parameters = JSON.parse(JSON.stringify(sent)) as Record<string, string>;
      const id = hashCredential(value);
      const url = requests.urlOf({ parameters, reference: id, session: undefined });
      if (url.length > LONGEST || requests.queryOf(parameters).length > MOST_PARAMETERS)
        throw new errors.InvalidRequest('the authorization request is too long');
      const expiresAt = now() + lifetime;
      // The page of the login and that of the consent have this time each.
      const keptUntil = expiresAt + 2 * tokens.lifetimes.interaction;
      await pushedRequests.insert({ id, parameters, expiresAt, keptUntil });
      audit.record({ type: 'authorization_pushed', clientId: client!.client.id }, originOf(host));
    },
    async find(request, value) {
      const resumed = requests.resume(value);
      const id = resumed?.reference ?? hashCredential(value);
      const found = await pushedRequests.find(id);
      if (!request || !found || (resumed ? found.keptFor : found.expiresIn) <= 0) return undefined;
      // What a user has answered counts in the session of that user; in any other one, what the client has sent does.
      const isSameSession = resumed?.session === request.session?.session.payload['uid'];
      const parameters = resumed && isSameSession ? resumed.parameters : found.parameters;
      request.parameters = parameters;
      request.reference = id;
      request.spends = { table: PUSHED_REQUEST_TABLE.name, id };
      // The engine compares its `client_id` with that of the URL.
      const jwt = new UnsecuredJWT(parameters).setIssuer(parameters['client_id']!).setAudience(issuer);
      return {
        kind: 'PushedAuthorizationRequest',
        exp: Number.MAX_SAFE_INTEGER,
        request: jwt.encode(),
      };
    },
    async consume() {},
  };
}
