import type { Context } from 'koa';

import type {
  Client,
  ConsentForm,
  Credential,
  Grant,
  GrantPrerequisites,
  InteractionScope,
  Milliseconds,
  NamedResource,
  PageAnswer,
  Seconds,
  User,
} from '../../contracts/index.ts';

/** The grant type of a token request with a device code (RFC 8628 section 3.4). */
export const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';

/** A device authorization request (RFC 8628 section 3.1), which waits for a user to enter its code. */
export interface DeviceCode {
  /** SHA-256 of the device code, base64url. */
  readonly id: string;
  /** A keyed hash of the user code: a plain hash of eight letters can be reversed by trying all of them. */
  readonly userCodeId: string;
  readonly clientId: string;
  /** The request, and what is known of the device. JSON without any credential. */
  readonly payload: Readonly<Record<string, unknown>>;
  readonly createdAt: Seconds;
  readonly expiresAt: Seconds;
  /** The time until which the row is stored, so that a device that polls late learns that its code has expired. */
  readonly keptUntil: Seconds;
  /** The `StoredClient.sequence` of the client at the request. */
  readonly sequence: number;
  /** `undefined` when no user has decided yet. */
  readonly answer: 'approved' | 'denied' | undefined;
  /** When the device last polled; `undefined` before its first poll. */
  readonly polledAt: Milliseconds | undefined;
}

/** Stores device authorization requests. */
export interface DeviceCodeStore {
  /**
   * Inserts a request.
   * @throws StorageError when the id or the user code is stored already
   */
  insert(code: DeviceCode): Promise<void>;
  /** Finds a request by the hash of its device code, answered and expired ones included. */
  find(id: string): Promise<DeviceCode | undefined>;
  /** Finds a request by the keyed hash of its user code, answered and expired ones included. */
  findByUserCode(userCodeId: string): Promise<DeviceCode | undefined>;
  /**
   * Records a poll unless one was recorded later than `since`. Of concurrent callers, on any number of nodes, one gets `true`.
   */
  poll(id: string, poll: { readonly at: Milliseconds; readonly since: Milliseconds }): Promise<boolean>;
  /**
   * Answers a request with a new grant and its credential of the kind `device_code`, all of it or nothing. Among all callers of this
   * method and of {@link DeviceCodeStore.deny}, exactly one ever gets `true`.
   *
   * @param credential - a credential whose id is that of the request
   * @param prerequisites - as for `GrantStore.insert`. When one of its rows has been deleted, the request stays without an answer
   * @param now - a request that has expired by this time is not answered
   */
  approve(
    grant: Grant,
    credential: Credential,
    prerequisites: GrantPrerequisites,
    now: Seconds,
  ): Promise<boolean>;
  /** Answers a request with a refusal. */
  deny(id: string, now: Seconds): Promise<boolean>;
}

/** A device authorization request (RFC 8628), with the data that its page shows. */
export interface DeviceRequest {
  /** The code as the device shows it: `WDJB-MJHT`. The user compares it with the code on the device. */
  readonly userCode: string;
  readonly client: Client;
  /** The API that the client asks for; `undefined` for the default, the server's own. */
  readonly resource: NamedResource | undefined;
  /**
   * The requested scopes, to which the client is limited; `undefined`: it gets all permissions of the user. The user is asked for all of
   * them each time, so none is `consented`.
   */
  readonly scopes: readonly InteractionScope[] | undefined;
  /** As in `ConsentForm`. */
  readonly permissions: ConsentForm['permissions'];
  /** As in `ConsentForm`. */
  readonly lifetime: Seconds;
  readonly requestedAt: Seconds;
  /** The IP address that the device's request came from; empty when a proxy sent none. */
  readonly address: string;
  /** Whether this address and the browser's belong to one subscriber, like the addresses of a home. */
  readonly sameNetwork: boolean;
  /** The `User-Agent` of the device's request, shortened: what the program says that it is. Anybody can send any text. */
  readonly userAgent: string | undefined;
}

/** What is wrong with a code. `code_unknown`: it has expired, or was answered, or there was none. */
export type DeviceProblem = 'code_missing' | 'code_unknown' | 'too_many_attempts';

/** What the page for the codes of devices shows. */
export type DevicePage =
  /** The form with the field `user_code`. */
  | {
      readonly kind: 'form';
      readonly status: 200 | 422 | 429;
      /** The URL that the form posts to. */
      readonly action: string;
      /** The code to fill in. It may come from a link: ask the user to compare it with the code on the device. */
      readonly entered: string;
      readonly problems: readonly DeviceProblem[];
      /** With `too_many_attempts`: when the next attempt is possible. */
      readonly retryAfter: Seconds | undefined;
    }
  /**
   * What a device asks for. The forms post to the `action` with `/approve` and the check boxes, and with `/deny`; both have the code as the
   * field `user_code` and the id of the user as `user`.
   */
  | {
      readonly kind: 'request';
      readonly status: 200 | 422;
      readonly action: string;
      readonly user: User;
      readonly request: DeviceRequest;
      readonly problems: readonly 'nothing_granted'[];
    }
  | { readonly kind: 'done'; readonly status: 200; readonly answer: 'approved' | 'denied' };

/**
 * The device authorization grant, for the pages. A request is named by its user code, as the user has typed it: in any case, with any
 * separators.
 *
 * The other methods look for the code, and throw `ERR_TOO_MANY_ATTEMPTS` when the user, or the address, has entered too many wrong codes: show
 * this error with 429 and `Retry-After`.
 */
export interface DeviceFlow {
  /**
   * The page at `/oauth/device`. It reads the URL and the posted form itself, as the pages of `InteractionFlow` do, and resolves to what to
   * show.
   */
  page(this: void, ctx: Context): Promise<PageAnswer<DevicePage>>;
  /** Resolves to `undefined` for a code that is unknown, has expired or was answered. */
  find(ctx: Context, user: User, userCode: string): Promise<DeviceRequest | undefined>;
  /**
   * Stores the consent and authorizes the device.
   *
   * @param chosen - the names of the `optional` scopes that the user grants
   * @returns `false` when the code has expired or was answered meanwhile, or the consent was withdrawn
   * @throws GatehouseError `ERR_CONSENT_INVALID` for a scope that was not requested, and when no scope would be left
   * @throws GatehouseError `ERR_INTERACTION_EXPIRED` when the user is not logged in any more
   */
  approve(ctx: Context, user: User, userCode: string, chosen?: readonly string[]): Promise<boolean>;
  /** Refuses the device, which gets `access_denied`. Resolves to `false` as `approve`. */
  deny(ctx: Context, user: User, userCode: string): Promise<boolean>;
}
