import type { Milliseconds, Seconds } from './duration.ts';
import type { Credential, Grant, GrantPrerequisites } from './grants.ts';

/** The grant type of a token request with a device code (RFC 8628 section 3.4). */
export const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';

/** A device authorization request (RFC 8628 section 3.1), which waits for a user to enter its code. */
export interface DeviceCode {
  /** SHA-256 of the device code, base64url. */
  readonly id: string;
  /** A keyed hash of the user code: a plain hash of eight letters can be reversed by trying all of them. */
  readonly userCodeId: string;
  readonly clientId: string;
  /** What was requested, and what is known of the device. JSON; holds no credential. */
  readonly payload: Readonly<Record<string, unknown>>;
  readonly createdAt: Seconds;
  readonly expiresAt: Seconds;
  /** Until when the row is stored, so that a device that polls late learns that its code has expired. */
  readonly keptUntil: Seconds;
  /** The `StoredClient.sequence` of the client at the request. */
  readonly sequence: number;
  /** `undefined`: no user has decided yet. */
  readonly answer: 'approved' | 'denied' | undefined;
  /** When the device last polled; `undefined` before its first poll. */
  readonly polledAt: Milliseconds | undefined;
}

/** Stores device authorization requests: the `deviceCodes` of a {@link Storage}. */
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
   * Answers a request with a new grant and its credential of the kind `device_code`: all of it or nothing. Of all callers of this
   * method and of {@link DeviceCodeStore.deny} exactly one ever gets `true`.
   *
   * @param credential - its id is that of the request
   * @param prerequisites - as for `GrantStore.insert`. When one of its rows has been deleted, the request stays without an answer
   * @param now - a request that has expired by then is not answered
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

/** Whether an error is the response to a device that polls before its user has decided (RFC 8628 section 3.5). */
export function isPollAnswer(error: string): boolean {
  return error === 'authorization_pending' || error === 'slow_down';
}
