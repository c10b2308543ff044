import type { ClientMetadataDocument } from '../contracts/index.ts';
import { object, optional } from './declare.ts';
import type { Check, Given, Values } from './declare.ts';
import { scopeNames } from './scopes.ts';
import { fn } from './values.ts';

const CLIENT_ID_METADATA = {
  /**
   * Decides whether an app may be authorized, such as by the host of its URL; `() => true`: every app. Called for each authorization
   * request with the `client_id`, before anything is fetched, so a changed decision takes effect at once. One that reads `document`
   * is called again with the checked document, and only that answer counts: before, each read of `document` throws. Apps that are
   * refused keep the tokens that they have: to end these, disable or delete the app.
   */
  allow: fn<(url: string, document: ClientMetadataDocument) => boolean | Promise<boolean>>(
    'pass a function that decides which apps may connect, such as (url) => hosts.has(new URL(url).host)',
  ),
  /**
   * The scopes that such an app may request. A scope that is removed here is removed from apps that are stored already, too; one of
   * them can be limited further with `auth.clients.update()`.
   */
  scopes: scopeNames,
  /** The scopes that a request without `scope` gets. @default none: the app learns who the user is, and nothing else */
  defaultScopes: optional(scopeNames, []),
};

/** Which apps that nobody registered may connect, and what they may request. */
export interface ClientIdMetadata extends Given<typeof CLIENT_ID_METADATA> {}

export type ResolvedClientIdMetadata = Values<typeof CLIENT_ID_METADATA>;

export const clientIdMetadata: Check<ClientIdMetadata, ResolvedClientIdMetadata> = object(CLIENT_ID_METADATA);
