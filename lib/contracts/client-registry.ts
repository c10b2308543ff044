import type { GivenFurtherFields } from './client-fields.ts';
import type {
  Client,
  ClientGrantType,
  ClientKeys,
  ClientLifetimes,
  ClientQuery,
  ClientSecret,
} from './clients.ts';
import type { Duration, Seconds } from './duration.ts';

/** The fields to register a client with. */
export interface ClientFields<
  P extends string = string,
  R extends string = string,
> extends GivenFurtherFields {
  /** The name that users see on the consent page: 1 to 100 characters. */
  readonly name: string;
  /**
   * The URL of the client's homepage (RFC 7591 section 2): https, or http on a loopback address, at most 2000 characters, without user
   * name, password and fragment. Users see its host.
   * @default none
   */
  readonly clientUri?: string | undefined;
  /**
   * Whether the platform vouches for the name, the homepage and the logo. A change of one of them, or of the redirect URIs, sets this to
   * `false`, unless the same change sets it to `true`.
   * @default false
   */
  readonly verified?: boolean;
  /** How the client gets tokens. It cannot be changed later. */
  readonly grantType: ClientGrantType;
  /** 1 to 100 redirect URIs for `authorization_code`; refused for other grant types. Matched as exact strings (RFC 9700 section 2.1). */
  readonly redirectUris?: readonly string[];
  /** `false` when the client cannot store a secret (a browser or installed app), and must use PKCE. @default true */
  readonly confidential?: boolean;
  /**
   * The public keys of a confidential client, with which it authenticates by `private_key_jwt` (RFC 7523). Requires the server's option
   * `clients.privateKeyJwt`. At most 10; RSA of 2048 to 4096 bits, EC on P-256, P-384 or P-521, or Ed25519; never a private key. `jwksUri` is a
   * public https URL. A client that is registered with keys gets no secret; in a change, keys and secrets are both accepted until one of
   * them is removed, and `undefined` removes the keys.
   * @default none: the client authenticates with a secret
   */
  readonly keys?: ClientKeys | undefined;
  /** Whether it is an installed app: loopback redirect URIs match on any port, and private-use URI schemes are allowed. @default false */
  readonly native?: boolean;
  /**
   * Whether the client belongs to the platform itself: users are not asked for consent, except where redirects stay on their machines.
   * @default false
   */
  readonly firstParty?: boolean;
  /**
   * The scopes that the client may request, and that a request without `scope` gets; an empty list for none.
   * @default all scopes; a request without `scope` is then not limited
   */
  readonly scopes?: readonly string[] | undefined;
  /** The roles of a `client_credentials` client. */
  readonly roles?: readonly R[];
  /** The permissions of a `client_credentials` client besides those of its roles. */
  readonly permissions?: readonly P[];
  /** Id of the user who owns the client. */
  readonly ownerId?: string | undefined;
  /**
   * Lifetimes of the client's tokens, such as `{ accessToken: '15 minutes' }`, each at most the server's; a `client_credentials` client
   * has no lifetimes of refresh tokens. A change replaces all lifetimes, and applies from the next token on.
   * @default the server's
   */
  readonly lifetimes?: ClientLifetimes;
}

/** The fields of a client that can be changed: all but the grant type. */
export type ClientChanges<P extends string = string, R extends string = string> = Partial<
  Omit<ClientFields<P, R>, 'grantType'>
>;

/** A new secret together with its value, which is available only once. */
export interface NewSecret extends ClientSecret {
  /** The `client_secret` that the client sends. It cannot be read again, because only its hash is stored. */
  readonly value: string;
}

/**
 * The registered clients. Every change is checked. It takes effect on this node at once, and on the other nodes within
 * `tokens.revocationLag`.
 *
 * Every method throws `StorageError` when the storage cannot be reached.
 */
export interface ClientRegistry<P extends string = string, R extends string = string> {
  /**
   * Registers a client, with a UUID as its `client_id`. A confidential client without keys gets its first secret, whose `value` is
   * returned only here; any other client gets no secret.
   * @throws ValidationError with one entry per mistake
   */
  create(fields: ClientFields<P, R>): Promise<{ client: Client; secret: NewSecret | undefined }>;
  /** Finds a client by its `client_id`, disabled ones included. */
  find(id: string): Promise<Client | undefined>;
  /**
   * Lists clients by name, one page of 1 to 200, by default 50.
   * @throws ValidationError with one entry per mistake
   */
  list(query?: ClientQuery): Promise<readonly Client[]>;
  /**
   * Changes the given fields; the grant type cannot change. Concurrent changes of different fields are all saved.
   *
   * @param changes - the new values, or a function that returns them for the current client. The function is called again when
   * a concurrent request has changed the client before the values are saved; when it throws, nothing is saved
   * @throws ValidationError with one entry per mistake
   * @throws GatehouseError `ERR_CLIENT_NOT_FOUND` when there is no such client
   */
  update(
    id: string,
    changes: ClientChanges<P, R> | ((client: Client) => ClientChanges<P, R>),
  ): Promise<Client>;
  /**
   * Replaces the logo of the client, which is then not verified any more. Users see it once the client is `verified`, or `firstParty`.
   *
   * @param picture - a PNG or JPEG of at most 64 KiB, and 1024 pixels wide and high. `undefined` removes the logo
   * @throws ValidationError for another picture, and for a client that nobody registered
   * @throws GatehouseError `ERR_CLIENT_NOT_FOUND` when there is no such client
   */
  setLogo(id: string, picture: Uint8Array | undefined): Promise<Client>;
  /**
   * Disables the client: it gets no tokens, and its tokens are refused, until it is enabled again.
   * @throws GatehouseError `ERR_CLIENT_NOT_FOUND` when there is no such client
   */
  disable(id: string): Promise<Client>;
  /**
   * Enables a disabled client: its tokens that have not expired are accepted again.
   * @throws GatehouseError `ERR_CLIENT_NOT_FOUND` when there is no such client
   */
  enable(id: string): Promise<Client>;
  /** Deletes the client with its secrets, consents and grants. Resolves to `false` when there is no such client. */
  delete(id: string): Promise<boolean>;
  /**
   * Lists the client's secrets without their values, oldest first, expired ones included.
   * @throws GatehouseError `ERR_CLIENT_NOT_FOUND` when there is no such client
   */
  secrets(id: string): Promise<readonly ClientSecret[]>;
  /**
   * Adds a secret; the existing ones stay valid, so that you rotate without downtime by adding a secret, deploying it, and deleting the
   * old one. A client has at most 20; at the limit, expired secrets are deleted first.
   *
   * @param options.label - a label, at most 100 characters. Left out: none
   * @param options.expiresAt - when the secret expires; by default it does not expire
   * @throws ValidationError for a label that is too long, an expiry that has passed, a public client, or too many secrets
   * @throws GatehouseError `ERR_CLIENT_NOT_FOUND` when there is no such client
   */
  addSecret(
    id: string,
    options?: { label?: string | undefined; expiresAt?: Seconds | undefined },
  ): Promise<NewSecret>;
  /** Deletes a secret; requests with it are refused at once. Resolves to `false` when the client has no such secret. */
  deleteSecret(id: string, secretId: string): Promise<boolean>;
  /**
   * Replaces all secrets by a new one.
   *
   * @param options.label - a label, at most 100 characters. Left out: none
   * @param options.overlap - how long the old secrets stay valid, such as `'1 hour'`; by default they are deleted at once
   * @throws ValidationError as `addSecret`, and for an overlap that is not a duration
   * @throws GatehouseError `ERR_CLIENT_NOT_FOUND` when there is no such client
   */
  rotateSecret(
    id: string,
    options?: { label?: string | undefined; overlap?: Duration | undefined },
  ): Promise<NewSecret>;
}

/** The registry for the developer area, where a user's rights to a client depend on the client's state when it is saved. */
export interface CheckedClientRegistry extends ClientRegistry {
  /**
   * Disables or enables a client, as `disable()` and `enable()` do.
   *
   * @param check - called with the client as it is before the change, and again when a concurrent request has changed it; nothing is
   * saved when it throws
   */
  setDisabled(id: string, disabled: boolean, check: (client: Client) => void): Promise<Client>;
  /** Replaces the logo, with a check like that of `setDisabled()`. */
  setLogo(id: string, picture: Uint8Array | undefined, check?: (client: Client) => void): Promise<Client>;
}
