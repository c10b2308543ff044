import { StorageError } from '../errors.ts';

/** Why a request was refused. */
export interface OAuthError {
  /** The OAuth error code that the client gets, such as `invalid_grant`. */
  readonly error: string;
  /** Why, for the client's developer; more than the client is told. */
  readonly reason: string;
}

interface Refused extends OAuthError {
  /** In seconds: when a client that is refused for now may try again. */
  readonly retryAfter?: number | undefined;
}

type Ending =
  | { readonly kind: 'answered' }
  | { readonly kind: 'refused'; readonly by: Refused }
  /** @property refused - why it was refused before the server failed */
  | { readonly kind: 'failed'; readonly failure: unknown; readonly refused: Refused | undefined }
  | { readonly kind: 'to be sent again'; readonly failure: unknown };

const ANSWERED: Ending = { kind: 'answered' };

/** How a request to the engine ended: what the log line, the record of events and the error page tell. */
export class Outcome {
  #ending = ANSWERED;
  #revokedGrantId: string | undefined;
  #hasPage = false;

  /** The engine, or a check beside it, refuses the request. Of several reasons the last counts. */
  refuse(by: Refused): void {
    if (this.#ending.kind === 'failed') this.#ending = { ...this.#ending, refused: by };
    else if (this.#ending.kind !== 'to be sent again') this.#ending = { kind: 'refused', by };
  }

  /** Something went wrong inside the server. */
  fail(failure: unknown): void {
    this.#ending =
      this.#ending.kind === 'to be sent again'
        ? { ...this.#ending, failure }
        : { kind: 'failed', failure, refused: this.oauthError };
  }

  /**
   * What the authorization rests on has ended meanwhile: the browser is to send the request again, and what becomes of it then is
   * told.
   */
  beginAgain(): void {
    if (this.#ending.kind !== 'to be sent again')
      this.#ending = { kind: 'to be sent again', failure: this.failure };
  }

  /** The tokens of a grant stop working by this request: it was given back, or something of it was presented twice. */
  revokeGrant(grantId: string): void {
    this.#revokedGrantId = grantId;
  }

  /** A page for a person has been put on the host's context. */
  showPage(): void {
    this.#hasPage = true;
  }

  get oauthError(): Refused | undefined {
    if (this.#ending.kind === 'refused') return this.#ending.by;
    return this.#ending.kind === 'failed' ? this.#ending.refused : undefined;
  }

  get failure(): unknown {
    return 'failure' in this.#ending ? this.#ending.failure : undefined;
  }

  /** The error code that the client gets. */
  get error(): string | undefined {
    return this.failure === undefined ? this.oauthError?.error : errorOfFailure(this.failure);
  }

  get mustBeginAgain(): boolean {
    return this.#ending.kind === 'to be sent again';
  }

  get revokedGrantId(): string | undefined {
    return this.#revokedGrantId;
  }

  get hasPage(): boolean {
    return this.#hasPage;
  }
}

/** The code of what a client is told about a fault of the server. */
export function errorOfFailure(failure: unknown): 'temporarily_unavailable' | 'server_error' {
  return failure instanceof StorageError ? 'temporarily_unavailable' : 'server_error';
}
