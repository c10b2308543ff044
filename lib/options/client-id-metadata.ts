import { ConfigError } from '../errors.ts';
import type { ClientMetadataDocument } from '../contracts/index.ts';
import { checkKnownOptions } from './known-options.ts';
import { checkFunction } from './values.ts';

/** Which apps that nobody registered may connect, and what they may request. */
export interface ClientIdMetadata {
  /**
   * Decides whether an app may be authorized, such as by the host of its URL; `() => true`: every app. Called for each authorization
   * request with the `client_id` and the checked document, so a changed decision takes effect at once. Apps that are refused
   * keep the tokens that they have: to end these, disable or delete the app.
   */
  readonly allow: (url: string, document: ClientMetadataDocument) => boolean | Promise<boolean>;
  /**
   * The scopes that such an app may request. A scope that is removed here is removed from apps that are stored already, too; one of
   * them can be limited further with `auth.clients.update()`.
   */
  readonly scopes: readonly string[];
  /** The scopes that a request without `scope` gets. @default none: the app learns who the user is, and nothing else */
  readonly defaultScopes?: readonly string[];
}

/**
 * Checks the option `clientIdMetadata`.
 *
 * @param known - the scopes of all APIs
 */
export function checkClientIdMetadata(
  given: ClientIdMetadata | undefined,
  known: ReadonlyMap<string, unknown>,
): Required<ClientIdMetadata> | undefined {
  if (given === undefined) return undefined;
  checkKnownOptions(given, { allow: true, scopes: true, defaultScopes: true }, 'clientIdMetadata');
  const allow = checkFunction('clientIdMetadata.allow', given.allow);
  if (!allow) {
    throw new ConfigError(
      'clientIdMetadata.allow',
      'pass a function that decides which apps may connect, such as (url) => hosts.has(new URL(url).host)',
    );
  }
  const scopes = checkScopeList('clientIdMetadata.scopes', given.scopes, [...known.keys()]);
  const { defaultScopes = [] } = given;
  return Object.freeze({
    allow,
    scopes,
    defaultScopes: checkScopeList('clientIdMetadata.defaultScopes', defaultScopes, scopes),
  });
}

function checkScopeList(option: string, given: unknown, known: readonly string[]): readonly string[] {
  const names: unknown[] | undefined = Array.isArray(given) ? given : undefined;
  if (!names?.every((scope) => typeof scope === 'string')) {
    throw new ConfigError(option, "list the names of the scopes, such as ['schools:read']; [] for none");
  }
  const unknown = names.find((scope) => !known.includes(scope));
  if (unknown === undefined) return Object.freeze([...new Set(names)]);
  const there = known.length === 0 ? 'there are none' : `there are ${known.join(', ')}`;
  throw new ConfigError(option, `"${unknown}" is no scope that can be listed here; ${there}`);
}
