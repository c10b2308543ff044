import { startPlatform } from '../harness/platform.ts';
import type { Platform, RegisteredApp } from '../harness/platform.ts';
import type { Answer } from '../harness/requests.ts';
import { asClient } from '../harness/tokens.ts';

export const FORM = 'application/x-www-form-urlencoded';

/** A platform with a client of each kind, for requests to its token endpoint. */
export interface TokenPlatform extends AsyncDisposable {
  readonly platform: Platform;
  readonly endpoint: string;
  readonly app: RegisteredApp;
  readonly other: RegisteredApp;
  readonly service: RegisteredApp;
  readonly publicApp: RegisteredApp;
  readonly disabled: RegisteredApp;
  /** The credentials of the app and of the service. */
  readonly asApp: ClientCredentials;
  readonly asService: ClientCredentials;
  /** A client-credentials request that gets a token, as parameters and as a form. */
  readonly good: ClientCredentials & { readonly grant_type: string };
  readonly goodForm: string;
}

// A type and not an interface, so that it can be assigned to a record of strings.
// oxlint-disable-next-line typescript/consistent-type-definitions
type ClientCredentials = Readonly<Record<string, string>>;

export async function startTokenPlatform(): Promise<TokenPlatform> {
  // Throttling would refuse most of the failures that the tests cause.
  const platform = await startPlatform({ limits: { attempts: false } });
  const app = await platform.registerApp();
  const service = await platform.registerService(['view_schools']);
  const disabled = await platform.registerService();
  await platform.auth.clients.disable(disabled.client.id);
  const good = { grant_type: 'client_credentials', ...asClient(service) };
  return {
    platform,
    endpoint: `${platform.origin}/oauth/token`,
    app,
    other: await platform.registerApp({ name: 'Other' }),
    service,
    publicApp: await platform.registerApp({ name: 'Public', confidential: false }),
    disabled,
    asApp: asClient(app),
    asService: asClient(service),
    good,
    goodForm: new URLSearchParams(good).toString(),
    [Symbol.asyncDispose]: () => platform[Symbol.asyncDispose](),
  };
}

/** What a client is told whose credential is wrong: status, `error`, description. */
export const UNAUTHENTICATED = [401, 'invalid_client', 'client authentication failed'] as const;

/** What a request without any client is told. */
export const WITHOUT_AUTHENTICATION = [
  400,
  'invalid_request',
  'no client authentication mechanism provided',
] as const;

export function invalid(description: string): object {
  return { status: 400, body: { error: 'invalid_request', error_description: description } };
}

/** Status and members of a response; tokens are replaced by their types. */
export function outline({ status, body }: Answer): object {
  const members = Object.entries(body ?? {}).map(([name, value]) => [
    name,
    name.endsWith('_token') ? typeof value : value,
  ]);
  return { status, body: Object.fromEntries(members) };
}
