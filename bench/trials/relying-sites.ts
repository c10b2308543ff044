import { execFile } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

import type { Page } from 'playwright-core';

import { createOwnDatabase } from '../../test/adapters/own-database.ts';
import { connect, findServer, POSTGRESQL } from '../../test/adapters/servers.ts';

/** What a user does at an application, and what the application says of the user. */
export interface Site {
  /** Goes to where the application sends the user to the server. */
  logIn(page: Page, origin: string): Promise<void>;
  /** Waits until the user is back and signed in. */
  arrives(page: Page, origin: string): Promise<void>;
  /** What the application shows. Without `claims`, it shows nothing that only the ID token says. */
  userOn(
    page: Page,
    origin: string,
  ): Promise<{
    readonly claims?: Readonly<Record<string, unknown>>;
    readonly userinfo?: Readonly<Record<string, unknown>>;
  }>;
  refresh(page: Page, origin: string): Promise<void>;
  /** Logs out, and waits until the user is back. */
  logOut(page: Page, origin: string): Promise<void>;
}

/** What an application has to know, by the names of the environment variables of the programs in relying-parties/. */
export interface Given extends Readonly<Record<string, string>> {
  readonly ISSUER: string;
  readonly CLIENT_ID: string;
  readonly CLIENT_SECRET: string;
  readonly PORT: string;
}

/** What an application has been given before it starts. */
export interface Prepared extends AsyncDisposable {
  /** Its configuration, in its own names. */
  readonly environment: Readonly<Record<string, string>>;
}

/** The pages of the programs in relying-parties/. */
export const PROGRAM: Site = {
  logIn: async (page, origin) => void (await page.goto(`${origin}/login`)),
  arrives: async (page) => page.waitForURL('**/user'),
  userOn: async (page) => shownJson(page),
  async refresh(page, origin) {
    await page.goto(`${origin}/refresh`);
    await page.getByText('{"refreshed":true}').waitFor();
  },
  async logOut(page, origin) {
    await page.goto(`${origin}/logout`);
    await page.waitForURL(`${origin}/left**`);
  },
};

/** Actual, which keeps a session of its own, in which a user can only sign in again after leaving. */
export const ACTUAL: Site = {
  ...PROGRAM,
  async logIn(page, origin) {
    await page.goto(origin);
    const logIn = page.getByRole('button', { name: /with OpenID|using OpenID/ });
    await logIn.or(page.getByText('(logged in as:')).waitFor();
    if (!(await logIn.isVisible())) await chooseOfActual(page, 'Sign out');
    await logIn.click();
  },
  arrives: async (page) => page.getByText('(logged in as:').waitFor(),
  async userOn(page) {
    await chooseOfActual(page, 'User Directory');
    const name = await page.getByTestId('displayName').innerText();
    const email = await page.getByTestId('userName').innerText();
    return { userinfo: { name, email } };
  },
};

async function chooseOfActual(page: Page, item: string): Promise<void> {
  await page.getByRole('button', { name: 'Server online' }).click();
  await page.getByRole('button', { name: item }).click();
}

/** Configures Actual as it documents for OpenID Connect. */
export async function prepareActual(folder: string, given: Given): Promise<Prepared> {
  const data = join(folder, 'data');
  await mkdir(data);
  return {
    environment: {
      ACTUAL_DATA_DIR: data,
      ACTUAL_HOSTNAME: '127.0.0.1',
      ACTUAL_PORT: given.PORT,
      ACTUAL_LOGIN_METHOD: 'openid',
      ACTUAL_USER_CREATION_MODE: 'login',
      ACTUAL_OPENID_ENFORCE: 'true',
      ACTUAL_OPENID_DISCOVERY_URL: `${given.ISSUER}/.well-known/openid-configuration`,
      ACTUAL_OPENID_CLIENT_ID: given.CLIENT_ID,
      ACTUAL_OPENID_CLIENT_SECRET: given.CLIENT_SECRET,
      ACTUAL_OPENID_SERVER_HOSTNAME: `http://localhost:${given.PORT}`,
    },
    async [Symbol.asyncDispose]() {},
  };
}

/** Directus, whose studio refreshes the session, and with it the tokens, each time that it is opened. */
export const DIRECTUS: Site = {
  async logIn(page, origin) {
    const redirect = encodeURIComponent(`${origin}/admin/users`);
    await page.goto(`${origin}/auth/login/gatehouse?redirect=${redirect}`);
  },
  arrives: async (page, origin) => page.waitForURL(`${origin}/admin/users`),
  async userOn(page, origin) {
    await page.goto(`${origin}/users/me?fields=email,external_identifier`);
    const { data } = await shownJson<{ data: { email: string; external_identifier: string } }>(page);
    return { claims: { sub: data.external_identifier }, userinfo: { email: data.email } };
  },
  async refresh(page, origin) {
    const answer = page.waitForResponse(`${origin}/auth/refresh`);
    await page.goto(`${origin}/admin/users`);
    const status = (await answer).status();
    if (status !== 200) throw new Error(`Directus has answered its studio's refresh with ${status}`);
  },
  logOut: async (page, origin) => PROGRAM.logOut(page, origin),
};

/** Configures Directus as it documents for OpenID Connect, with a database of its own. */
export async function prepareDirectus(folder: string, given: Given): Promise<Prepared> {
  const server = findServer(POSTGRESQL);
  if ('remedy' in server) throw new Error(`Directus needs a database: ${server.remedy}`);
  const database = await createOwnDatabase(POSTGRESQL, server.address);
  const environment = {
    HOST: '127.0.0.1',
    PORT: given.PORT,
    PUBLIC_URL: `http://localhost:${given.PORT}`,
    SECRET: 'a secret of this site, which has 32 bytes',
    DB_CLIENT: 'pg',
    DB_CONNECTION_STRING: database.address,
    ADMIN_EMAIL: 'operator@example.org',
    ADMIN_PASSWORD: 'a password of the operator',
    TELEMETRY: 'false',
    AUTH_PROVIDERS: 'gatehouse',
    AUTH_GATEHOUSE_DRIVER: 'openid',
    AUTH_GATEHOUSE_CLIENT_ID: given.CLIENT_ID,
    AUTH_GATEHOUSE_CLIENT_SECRET: given.CLIENT_SECRET,
    AUTH_GATEHOUSE_ISSUER_URL: `${given.ISSUER}/.well-known/openid-configuration`,
    AUTH_GATEHOUSE_ALLOW_PUBLIC_REGISTRATION: 'true',
  };
  const bootstrap = [join(folder, 'node_modules/directus/cli.js'), 'bootstrap'];
  const env = { PATH: process.env['PATH'], HOME: folder, ...environment };
  await promisify(execFile)(process.execPath, bootstrap, { cwd: folder, env, timeout: 300_000 });
  const knex = connect(POSTGRESQL, database.address);
  const [role] = await knex('directus_roles').select<{ id: string }[]>('id');
  await knex.destroy();
  return {
    environment: { ...environment, AUTH_GATEHOUSE_DEFAULT_ROLE_ID: role!.id },
    [Symbol.asyncDispose]: async () => database.drop(),
  };
}

async function shownJson<T = object>(page: Page): Promise<T> {
  return JSON.parse(await page.locator('body').innerText()) as T;
}
