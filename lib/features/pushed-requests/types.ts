import type { Seconds } from '../../contracts/index.ts';

/** The path of the endpoint, below the issuer. */
export const PATH = '/oauth/par';

/** An authorization request that a client has pushed (RFC 9126 section 2.1). */
export interface PushedRequest {
  /** SHA-256 of the end of its `request_uri`, base64url. */
  readonly id: string;
  /** As the engine has checked them, without any credential. */
  readonly parameters: Readonly<Record<string, string>>;
  /** Until when a browser may begin it. */
  readonly expiresAt: Seconds;
  /** Until when one that has begun may go on. The row is stored until then, or until its code was issued. */
  readonly keptUntil: Seconds;
}

/** The result of {@link PushedRequestStore.find}. Its durations are measured by the clock of the storage, which all nodes share. */
export interface FoundRequest {
  readonly parameters: PushedRequest['parameters'];
  /** 0 or less when it has expired. */
  readonly expiresIn: Seconds;
  readonly keptFor: Seconds;
}

/** Stores pushed authorization requests. Each is deleted with the insertion of its grant, see `GrantPrerequisites.spends`. */
export interface PushedRequestStore {
  /** Inserts a request. Its times are by this node's clock, and are converted where the storage's clock differs, as those of codes. */
  insert(request: PushedRequest): Promise<void>;
  find(id: string): Promise<FoundRequest | undefined>;
}
