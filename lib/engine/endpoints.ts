import type { ClientEndpoint } from '../contracts/index.ts';

/** The paths of the server's own endpoints, below the mount path. */
export const ENDPOINTS = {
  authorization: '/oauth/authorize',
  token: '/oauth/token',
  revocation: '/oauth/revoke',
  introspection: '/oauth/introspect',
  jwks: '/oauth/jwks',
  interaction: '/oauth/interaction',
  login: '/oauth/login',
  end_session: '/oauth/logout',
} as const;

/** An endpoint whose requests are logged. */
export type Endpoint = ClientEndpoint | 'authorization';

/** Where a request goes. */
export interface EndpointPlace {
  /** The name of the trace span. `undefined`: the metadata, the keys and unknown paths, which are neither traced nor limited. */
  readonly work: Endpoint | 'page' | undefined;
  /** Whether the engine gets what the pages do not answer. */
  readonly hasEngine: boolean;
  /** The path in traces. @default that of the core's endpoint */
  readonly route?: string;
  /** Whether the engine may not know the path either, so that the request is the host's. */
  readonly mayBeHosts?: true;
}

/** Whether responses are for programs: JSON, also of an error. */
export function isForClients(work: EndpointPlace['work']): boolean {
  return work !== undefined && work !== 'page' && work !== 'authorization';
}
