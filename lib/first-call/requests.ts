import type { ClientGrantType } from '../contracts/index.ts';

/** What the examples need to know of an app. */
export interface ConnectedApp {
  readonly issuer: string;
  readonly clientId: string;
  readonly grantType: ClientGrantType;
  /** How it authenticates (RFC 6749 section 2.3, RFC 7523). */
  readonly proof: 'secret' | 'assertion' | 'none';
  /** `''` without the authorization code grant. */
  readonly redirectUri: string;
  /** The API that the token is for (RFC 8707); `undefined` for the default one. */
  readonly resource?: string | undefined;
  /** URL of the API that is called with the token; `undefined` when the server does not know one. */
  readonly apiUrl: string | undefined;
}

/** A value that is known when the lines are run. */
export type Variable = 'secret' | 'assertion' | 'code' | 'verifier' | 'challenge' | 'deviceCode';

export type Parameters = Readonly<Record<string, string | { readonly variable: Variable }>>;

/** The requests with which an app gets a token and makes its first call. */
export function requestsOf(app: ConnectedApp) {
  const { apiUrl, clientId, grantType, issuer, redirectUri, resource } = app;
  const access = resource === undefined ? {} : { resource };
  const client = { client_id: clientId, ...PROOFS[app.proof] };
  const tokens: Readonly<Record<ClientGrantType, Parameters>> = {
    client_credentials: { grant_type: 'client_credentials', ...access },
    authorization_code: {
      grant_type: 'authorization_code',
      code: { variable: 'code' },
      code_verifier: { variable: 'verifier' },
      redirect_uri: redirectUri,
    },
    device_code: {
      grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
      device_code: { variable: 'deviceCode' },
    },
  };
  const authorization: Parameters = {
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    ...access,
    code_challenge_method: 'S256',
    code_challenge: { variable: 'challenge' },
  };
  return {
    app,
    tokenUrl: `${issuer}/oauth/token`,
    token: { ...tokens[grantType], ...client },
    /** The authorization request in the browser; `undefined` with other grants. */
    authorize:
      grantType === 'authorization_code'
        ? { url: `${issuer}/oauth/authorize`, parameters: authorization }
        : undefined,
    /** The device authorization request; `undefined` with other grants. */
    device:
      grantType === 'device_code'
        ? { url: `${issuer}/oauth/device_authorization`, parameters: { ...access, ...client } }
        : undefined,
    /** The URL of the first call. */
    identityUrl: apiUrl === undefined ? undefined : `${apiUrl}/identity`,
  };
}

/** The requests of an app: each has the parameters by their names. */
export type Requests = ReturnType<typeof requestsOf>;

const PROOFS: Readonly<Record<ConnectedApp['proof'], Parameters>> = {
  secret: { client_secret: { variable: 'secret' } },
  assertion: {
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: { variable: 'assertion' },
  },
  none: {},
};
