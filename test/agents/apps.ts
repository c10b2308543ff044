import { agents } from 'koa-gatehouse';
import type { AgentOptions, AuditRecord } from 'koa-gatehouse';

import { CALLBACK } from './documents.ts';
import { BOTH_SCOPES, startPlatform } from '../harness/platform.ts';
import type { Mounting, Platform, RegisteredApp } from '../harness/platform.ts';
import { postJson, send } from '../harness/requests.ts';
import type { Answer } from '../harness/requests.ts';
import type { DynamicRegistrationOptions } from '../../lib/features/agents/options.ts';
import { endWith } from '../harness/serve.ts';
import type { Owner } from '../harness/serve.ts';

type Options = NonNullable<Parameters<typeof startPlatform>[0]>;

/** Metadata of an app on the web. */
export const AGENT: { client_name: string; redirect_uris: readonly string[]; scope: string } = {
  client_name: 'Agent',
  redirect_uris: [CALLBACK],
  scope: 'schools:read',
};

/** Of one on a device, which has no secret. */
export const PUBLIC: typeof AGENT & { token_endpoint_auth_method: 'none' } = {
  ...AGENT,
  token_endpoint_auth_method: 'none',
};

/** Starts a platform at which apps register themselves. */
export async function startOpen(
  owner: Owner,
  {
    documents = false,
    mounting,
    registration,
    ...given
  }: Options & {
    mounting?: Mounting;
    documents?: AgentOptions['documents'];
    registration?: DynamicRegistrationOptions;
  } = {},
): Promise<Platform> {
  return endWith(
    owner,
    await startPlatform(
      {
        scopes: BOTH_SCOPES,
        ...given,
        features: [
          agents({
            registration: { scopes: ['schools:read'], perAddress: 1000, ...registration },
            documents,
          }),
          ...(given.features ?? []),
        ],
      },
      mounting,
    ),
  );
}

export async function register(
  platform: Pick<Platform, 'url'>,
  metadata: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> {
  return postJson(platform.url('/oauth/register'), metadata, headers);
}

/** The answer to a registration that has to succeed. */
export interface Registration {
  readonly client_id: string;
  readonly client_secret?: string;
  readonly registration_access_token: string;
  readonly registration_client_uri: string;
  readonly redirect_uris: readonly string[];
  readonly [member: string]: unknown;
}

export async function registered(
  platform: Pick<Platform, 'url'>,
  metadata: unknown = AGENT,
  headers?: Record<string, string>,
): Promise<Registration> {
  const { body, status, text } = await register(platform, metadata, headers);
  if (status !== 201) throw new Error(`not registered: ${status} ${text}`);
  return body as unknown as Registration;
}

/** A request to the configuration endpoint of an app (RFC 7592). */
export async function manage(
  { registration_access_token: token, registration_client_uri: uri }: Registration,
  method: string,
  metadata?: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> {
  return send(uri, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(metadata === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(metadata === undefined ? {} : { body: JSON.stringify(metadata) }),
  });
}

/** A registered app for the code flow of the harness. */
export async function appOf(platform: Platform, registration: Registration): Promise<RegisteredApp> {
  const client = await platform.auth.clients.find(registration.client_id);
  if (!client) throw new Error('The app is not registered');
  return { client, secret: registration.client_secret ?? '', redirectUri: registration.redirect_uris[0]! };
}

/** The members of the stored events that matter here, oldest first. */
export async function eventsOf(platform: Platform, clientId: string): Promise<Partial<AuditRecord>[]> {
  const records = await platform.auth.audit.list({ clientId });
  return records.toReversed().map(({ id: _id, at: _at, requestId: _request, ...rest }) => rest);
}
