import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import type { Page } from 'playwright-core';

import type { Given, Prepared, Site } from './relying-sites.ts';

/** In seconds: LemonLDAP::NG refreshes when nine tenths of it are over, and its user asks for it. */
export const ACCESS_TOKEN = 10;

interface Session {
  readonly cn: string;
  readonly mail: string;
  /** The `sub` of the ID token. */
  readonly _user: string;
  /** When the access token is refreshed. */
  readonly _oidc_access_token_eol: number;
}

/** The portal of LemonLDAP::NG. */
export const LEMONLDAP: Site = {
  logIn: async (page, origin) => void (await page.goto(`${origin}/`)),
  arrives: async (page) => page.getByText('Your applications').waitFor(),
  async userOn(page, origin) {
    const { cn, mail, _user: sub } = await sessionOn(page, origin);
    return { claims: { sub }, userinfo: { name: cn, email: mail } };
  },
  async refresh(page, origin) {
    const { _oidc_access_token_eol: before } = await sessionOn(page, origin);
    const deadline = performance.now() + 2000 * ACCESS_TOKEN;
    for (;;) {
      await page.goto(`${origin}/refresh`);
      if ((await sessionOn(page, origin))._oidc_access_token_eol > before) return;
      if (performance.now() > deadline) throw new Error('LemonLDAP::NG has not refreshed the access token');
      await delay(500);
    }
  },
  async logOut(page, origin) {
    await page.goto(`${origin}/?logout=1`);
    await page.getByText('Go to portal').waitFor();
  },
};

async function sessionOn(page: Page, origin: string): Promise<Session> {
  await page.goto(`${origin}/session/my/global`);
  return JSON.parse(await page.locator('body').innerText()) as Session;
}

/** Configures LemonLDAP::NG with one provider, of which it keeps the metadata and the keys as its manager gets them. */
export async function prepareLemonldap(folder: string, given: Given): Promise<Prepared> {
  const home = join(folder, 'lemonldap');
  for (const name of ['conf', 'sessions/lock', 'psessions/lock', 'notifications'])
    await mkdir(join(home, name), { recursive: true });
  const metadataUrl = `${given.ISSUER}/.well-known/openid-configuration`;
  const metadata = await textOf(metadataUrl);
  const { jwks_uri: keysUrl } = JSON.parse(metadata) as { jwks_uri: string };
  const storage = (name: string): object => ({
    Directory: join(home, name),
    LockDirectory: join(home, name, 'lock'),
  });
  const configuration = {
    cfgNum: 1,
    cfgDate: Math.floor(Date.now() / 1000),
    portal: `http://localhost:${given.PORT}/`,
    domain: 'localhost',
    locationRules: { localhost: { default: 'accept' } },
    authentication: 'OpenIDConnect',
    userDB: 'Same',
    passwordDB: 'Null',
    registerDB: 'Null',
    whatToTrace: '_user',
    // What the session says of the user to the user.
    restSessionServer: 1,
    exportedAttr: '+ _user cn mail _oidc_access_token_eol',
    globalStorage: 'Apache::Session::File',
    globalStorageOptions: storage('sessions'),
    persistentStorage: 'Apache::Session::File',
    persistentStorageOptions: storage('psessions'),
    oidcOPMetaDataJSON: { gatehouse: metadata },
    oidcOPMetaDataJWKS: { gatehouse: await textOf(keysUrl) },
    oidcOPMetaDataExportedVars: { gatehouse: { cn: 'name', mail: 'email' } },
    oidcOPMetaDataOptions: {
      gatehouse: {
        oidcOPMetaDataOptionsConfigurationURI: metadataUrl,
        oidcOPMetaDataOptionsClientID: given.CLIENT_ID,
        oidcOPMetaDataOptionsClientSecret: given.CLIENT_SECRET,
        oidcOPMetaDataOptionsScope: 'openid profile email',
        oidcOPMetaDataOptionsCheckJWTSignature: 1,
        oidcOPMetaDataOptionsUseNonce: 1,
        oidcOPMetaDataOptionsStoreIDToken: 1,
      },
    },
  };
  await writeFile(join(home, 'conf/lmConf-1.json'), JSON.stringify(configuration));
  const settings = join(home, 'lemonldap-ng.ini');
  await writeFile(
    settings,
    [
      '[all]',
      'logLevel=warn',
      '[configuration]',
      'type=File',
      `dirName=${join(home, 'conf')}`,
      '[portal]',
      'staticPrefix=/static',
      'templateDir=/usr/share/lemonldap-ng/portal/templates',
      'languages=en',
      '',
    ].join('\n'),
  );
  return { environment: { LLNG_DEFAULTCONFFILE: settings }, async [Symbol.asyncDispose]() {} };
}

async function textOf(url: string): Promise<string> {
  return (await fetch(url)).text();
}
