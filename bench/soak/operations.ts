/** What the driver records of each operation: its begin, its end and its answer, with the times of one clock. */

/** What an operation is about. Users, clients, codes and tokens are numbered: a log has no credential. */
export type Subject =
  /** Of a browser, from the authorization request to the redirect to the client. */
  | {
      readonly kind: 'authorization';
      readonly user: number;
      readonly client: number;
      /** The login session that the browser has. */
      readonly session?: number | undefined;
    }
  | { readonly kind: 'code exchange'; readonly code: number }
  | { readonly kind: 'refresh'; readonly token: number }
  | { readonly kind: 'client credentials'; readonly client: number }
  | { readonly kind: 'guarded request'; readonly access: number }
  /** `POST /oauth/revoke` with an access token. */
  | { readonly kind: 'revoke access token'; readonly access: number }
  /** The same with a refresh token, which revokes the whole family. */
  | { readonly kind: 'revoke refresh token'; readonly token: number }
  | { readonly kind: 'revoke grant'; readonly code: number }
  | { readonly kind: 'revoke user'; readonly user: number }
  | { readonly kind: 'revoke client'; readonly client: number }
  | {
      readonly kind: 'disconnect app';
      readonly user: number;
      readonly client: number;
      readonly session: number;
    }
  | { readonly kind: 'rotate keys' }
  | { readonly kind: 'prune' };

export type Kind = Subject['kind'];

export type Begun = Subject & {
  readonly number: number;
  /** In milliseconds, as `Ended.at`. */
  readonly at: number;
  /** The number of the node that was asked; -1 for an authorization, whose requests go to any. */
  readonly node: number;
};

/** Whom an access token is for, as its claims or the guarded route say. `undefined`: not one that exists. */
export interface Owner {
  readonly user?: number | undefined;
  readonly client?: number | undefined;
  /** The claim `grant_id`. */
  readonly grant?: string | undefined;
}

export interface Answer {
  /** 0: there was no answer, so that it is not known whether the operation took place. */
  readonly status: number;
  /** The `error` or `code` of the body. */
  readonly error?: string | undefined;
  readonly owner?: Owner;
  /** The number of the access token of the answer. */
  readonly access?: number;
  /** The number of the refresh token of the answer. */
  readonly refresh?: number;
  /** How an authorization, or the page of the authorized apps, went. */
  readonly walk?: Walk;
}

export interface Walk {
  /** The code of the redirect to the client. */
  readonly code?: number;
  /** When the request began that was answered with the code. */
  readonly requestedAt?: number;
  readonly askedToLogIn: boolean;
  readonly askedToConsent: boolean;
  /** The session of a login of this walk, and when its form was sent. */
  readonly session?: number;
  readonly loggedInAt?: number;
  /** Whether `state` and `iss` of the redirect were those of the request and the issuer. */
  readonly isForRequest?: boolean;
}

export type Ended = Answer & { readonly number: number; readonly at: number };

/** A line of the log of answers. */
export type Line = { readonly begun: Begun } | { readonly ended: Ended };
