import type { RequestCounter } from '../contracts/server-parts.ts';
import type { LoggedEndpoint } from '../contracts/operation.ts';

/** The paths of the server's own endpoints, below the mount path. */
export const PATHS = {
  authorization: '/oauth/authorize',
  token: '/oauth/token',
  revocation: '/oauth/revoke',
  introspection: '/oauth/introspect',
  jwks: '/oauth/jwks',
  interaction: '/oauth/interaction',
  login: '/oauth/login',
  end_session: '/oauth/logout',
} as const;

/** The endpoints of the core. Those of features are rows of the same type. */
export type Endpoint =
  | 'authorization'
  | 'token'
  | 'revocation'
  | 'introspection'
  | 'logos'
  | 'sessionPages'
  | 'jwks'
  | 'discovery'
  | 'unknown';

/** What an endpoint is: all that depends on which one a request is for. A member that has no value is written as `undefined`. */
export interface EndpointRule extends LoggedEndpoint {
  /** The path in traces, below the mount path. `undefined`: it has more paths than can be listed. */
  readonly path: string | undefined;
  /** The name of the engine's route, which is at `path`. `undefined`: the engine has none, or has named its paths itself. */
  readonly engineRoute: string | undefined;
  /** Who answers. `itself`: the function of its row. */
  readonly answeredBy: 'engine' | 'pages' | 'pages or engine' | 'itself';
  /** Whether the engine may not know the path either, so that the request is the host's. */
  readonly mayBeHosts?: true;
  /** Whether its requests are traced and take places of the limit `requests`. */
  readonly isLimited: boolean;
  /** The parameters that are read, and adapted, before the engine gets them. */
  readonly reads: ReadParameters | undefined;
  /** Who may read the responses in a browser (Fetch standard). `undefined`: what answers decides. */
  readonly readableFrom: 'origins of the client' | 'nowhere' | undefined;
  /** Whether a request may begin with a client that is not stored. */
  readonly findsUnstoredClients: boolean;
  /** The engine's event of a refusal, and the audit record of it. */
  readonly refusals:
    | {
        readonly event: `${string}.error`;
        readonly record: 'token_refused' | 'authorization_refused' | undefined;
      }
    | undefined;
  /** The grant type of its requests, or where they name it. */
  readonly grantType: GrantTypeOfRequests | undefined;
  /** Whether a client ends a token by a request. */
  readonly endsTokens: boolean;
  /** Members of the engine's response of a success, which it leaves out or has other values for. */
  readonly adds?: Readonly<Record<string, unknown>>;
  /** The metric of its requests. */
  readonly counter?: RequestCounter;
}

interface ReadParameters {
  readonly from: 'query' | 'form';
  /**
   * The kind of the request. `authorization`: RFC 6749 section 4.1.1. `authorization_without_redirect`: the same without a response to a
   * redirect URI, and without a login. `token`: RFC 6749 section 3.2. `issued_token`: about a token that was issued.
   */
  readonly kind: 'authorization' | 'authorization_without_redirect' | 'token' | 'issued_token';
}

type GrantTypeOfRequests = { readonly isSent: true } | { readonly isSent: false; readonly name: string };

/** What an endpoint is at which the engine does nothing that is changed here, and nothing is refused or ended. */
const PLAIN = {
  engineRoute: undefined,
  reads: undefined,
  readableFrom: undefined,
  findsUnstoredClients: false,
  refusals: undefined,
  grantType: undefined,
  endsTokens: false,
} as const;

/** A page. Its requests are limited and traced; it logs what it refuses itself. */
export const PAGE = {
  ...PLAIN,
  name: 'page',
  path: undefined,
  callers: 'browsers',
  answeredBy: 'pages',
  isLimited: true,
  isLogged: false,
  success: undefined,
} as const satisfies EndpointRule;

/** The metadata and the keys, which are neither traced nor limited. */
export const METADATA = {
  ...PLAIN,
  name: 'metadata',
  path: undefined,
  callers: 'clients',
  answeredBy: 'pages or engine',
  isLimited: false,
  isLogged: false,
  success: undefined,
} as const satisfies EndpointRule;

/** An endpoint for clients that its feature answers itself. */
export const OWN = {
  ...PLAIN,
  callers: 'clients',
  answeredBy: 'itself',
  isLimited: true,
  isLogged: true,
} as const;

/** An endpoint of the engine whose requests are logged. */
const OF_ENGINE = { answeredBy: 'engine', isLimited: true, isLogged: true } as const;

/** All endpoints of the core: a new one does not compile without its row. */
export const ENDPOINTS = {
  authorization: {
    ...OF_ENGINE,
    name: 'authorization',
    path: PATHS.authorization,
    engineRoute: 'authorization',
    callers: 'browsers',
    reads: { from: 'query', kind: 'authorization' },
    readableFrom: undefined,
    findsUnstoredClients: true,
    success: undefined,
    refusals: { event: 'authorization.error', record: 'authorization_refused' },
    grantType: undefined,
    endsTokens: false,
  },
  token: {
    ...OF_ENGINE,
    name: 'token',
    path: PATHS.token,
    engineRoute: 'token',
    callers: 'clients',
    reads: { from: 'form', kind: 'token' },
    readableFrom: 'origins of the client',
    findsUnstoredClients: false,
    success: { level: 'info', outcome: 'issued' },
    refusals: { event: 'grant.error', record: 'token_refused' },
    grantType: { isSent: true },
    endsTokens: false,
  },
  revocation: {
    ...OF_ENGINE,
    name: 'revocation',
    path: PATHS.revocation,
    engineRoute: 'revocation',
    callers: 'clients',
    reads: { from: 'form', kind: 'issued_token' },
    readableFrom: 'nowhere',
    findsUnstoredClients: false,
    success: { level: 'info', outcome: 'answered' },
    refusals: { event: 'revocation.error', record: undefined },
    grantType: undefined,
    endsTokens: true,
    // The engine's body is empty (actions/revocation.js), and RFC 7009 defines none; clients that parse each response as JSON fail on that.
    adds: {},
  },
  introspection: {
    ...OF_ENGINE,
    name: 'introspection',
    path: PATHS.introspection,
    engineRoute: 'introspection',
    callers: 'clients',
    reads: { from: 'form', kind: 'issued_token' },
    readableFrom: 'nowhere',
    findsUnstoredClients: false,
    success: { level: 'debug', outcome: 'answered' },
    refusals: { event: 'introspection.error', record: undefined },
    grantType: undefined,
    endsTokens: false,
  },
  logos: PAGE,
  sessionPages: { ...PAGE, answeredBy: 'pages or engine' },
  jwks: METADATA,
  discovery: METADATA,
  unknown: { ...METADATA, mayBeHosts: true },
} as const satisfies Record<Endpoint, EndpointRule>;
