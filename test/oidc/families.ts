import { Browser } from '../harness/browser.ts';
import { connect } from '../harness/platform.ts';
import type { Platform, RegisteredApp } from '../harness/platform.ts';

/** The tokens that one authorization led to. */
export interface Family {
  readonly access: string;
  readonly refresh: string;
}

/** How tests of revocation get tokens and ask what is left of them. */
export interface Families {
  readonly family: (of?: RegisteredApp, browser?: Browser) => Promise<Family>;
  readonly serviceToken: () => Promise<{ service: RegisteredApp; token: string }>;
  /** What the guard says: 200, or why not. */
  readonly guard: (token: string) => Promise<unknown>;
  readonly canRefresh: (token: string, by?: RegisteredApp) => Promise<boolean>;
}

/** What a client authenticates with at the token endpoint. */
export function asClient({ client, secret }: RegisteredApp): Record<string, string> {
  return { client_id: client.id, ...(client.confidential ? { client_secret: secret } : {}) };
}

/** @param app - whose tokens they are unless a test says otherwise */
export function familiesOf(platform: Platform, app: RegisteredApp): Families {
  return {
    async family(of = app, browser = new Browser()) {
      const { body } = await connect(platform, of, { browser });
      return { access: body.access_token, refresh: body.refresh_token };
    },
    async serviceToken() {
      const service = await platform.registerService();
      const { body } = await platform.token({ grant_type: 'client_credentials', ...asClient(service) });
      return { service, token: body.access_token };
    },
    async guard(token) {
      const { status, body } = await platform.api('/identity', token);
      return status === 200 ? 200 : body['code'];
    },
    async canRefresh(token, by = app) {
      const { status, body } = await platform.token({
        grant_type: 'refresh_token',
        ...asClient(by),
        refresh_token: token,
      });
      if (status !== 200 && body.error !== 'invalid_grant') throw new Error(`${status} ${body.error}`);
      return status === 200;
    },
  };
}
