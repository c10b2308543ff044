import { Browser } from '../harness/browser.ts';
import { runCodeFlow } from '../harness/platform.ts';
import type { Platform, RegisteredApp } from '../harness/platform.ts';
import { exchangeRefreshToken, requestClientToken } from '../harness/tokens.ts';

/** The tokens of one authorization. */
export interface Family {
  readonly access: string;
  readonly refresh: string;
}

/** Functions with which tests of revocation get tokens and check them. */
export interface Families {
  readonly family: (of?: RegisteredApp, browser?: Browser) => Promise<Family>;
  readonly serviceToken: () => Promise<{ service: RegisteredApp; token: string }>;
  /** The status 200 of a request with the token, or the code of its error. */
  readonly guard: (token: string) => Promise<unknown>;
  readonly canRefresh: (token: string, by?: RegisteredApp) => Promise<boolean>;
}

/** @param app - the default client of the tokens */
export function familiesOf(platform: Platform, app: RegisteredApp): Families {
  return {
    async family(of = app, browser = new Browser()) {
      const { body } = await runCodeFlow(platform, of, { browser });
      return { access: body.access_token, refresh: body.refresh_token };
    },
    async serviceToken() {
      const service = await platform.registerService();
      const { body } = await requestClientToken(platform, service);
      return { service, token: body.access_token };
    },
    async guard(token) {
      const { status, body } = await platform.api('/identity', token);
      return status === 200 ? 200 : body['code'];
    },
    async canRefresh(token, by = app) {
      const { status, body } = await exchangeRefreshToken(platform, by, token);
      if (status !== 200 && body.error !== 'invalid_grant') throw new Error(`${status} ${body.error}`);
      return status === 200;
    },
  };
}
