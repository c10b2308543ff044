import { StorageError } from '../errors.ts';

/** The OAuth error that a request was refused with. */
export interface OAuthError {
  /** The OAuth error code that the client gets, such as `invalid_grant`. */
  readonly error: string;
  /** The reason for the log and the audit record, in more detail than the response gives. */
  readonly reason: string;
}

interface Refused extends OAuthError {
  /** In seconds. The `Retry-After` of a client that is throttled. */
  readonly retryAfter?: number | undefined;
}

type Ending =
  | { readonly kind: 'answered' }
  | { readonly kind: 'refused'; readonly by: Refused }
  /** @property refused - the OAuth error before the failure */
  | { readonly kind: 'failed'; readonly failure: unknown; readonly refused: Refused | undefined }
  | { readonly kind: 'restarted'; readonly failure: unknown };

const ANSWERED: Ending = { kind: 'answered' };

/** How a request to the engine ended, for the response, the log line, the audit record and the error page. */
export class Outcome {
  #ending = ANSWERED;
  #revokedGrantId: string | undefined;
  #hasPage = false;

  /** Records an OAuth error of the engine or of this server. The last one counts. */
  refuse(by: Refused): void {
    if (this.#ending.kind === 'failed') this.#ending = { ...this.#ending, refused: by };
    else if (this.#ending.kind !== 'restarted') this.#ending = { kind: 'refused', by };
  }

  /** Records a failure of the server. */
  fail(failure: unknown): void {
    this.#ending =
      this.#ending.kind === 'restarted'
        ? { ...this.#ending, failure }
        : { kind: 'failed', failure, refused: this.oauthError };
  }

  /**
   * The session or the consent of the authorization ended during the request. The browser is redirected to send the request
   * again, and that one is logged and recorded instead.
   */
  restartAuthorization(): void {
    if (this.#ending.kind !== 'restarted') this.#ending = { kind: 'restarted', failure: this.failure };
  }

  /** Records that this request revoked a grant: its client revoked it, or presented a spent code or refresh token. */
  revokeGrant(grantId: string): void {
    this.#revokedGrantId = grantId;
  }

  /** Records that an error page was rendered on the host's context. */
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

  /** The OAuth error code of the response. */
  get error(): string | undefined {
    return this.failure === undefined ? this.oauthError?.error : errorOfFailure(this.failure);
  }

  get mustRestart(): boolean {
    return this.#ending.kind === 'restarted';
  }

  get revokedGrantId(): string | undefined {
    return this.#revokedGrantId;
  }

  get hasPage(): boolean {
    return this.#hasPage;
  }
}

/** The OAuth error code of a response to a failure of the server. */
export function errorOfFailure(failure: unknown): 'temporarily_unavailable' | 'server_error' {
  return failure instanceof StorageError ? 'temporarily_unavailable' : 'server_error';
}
