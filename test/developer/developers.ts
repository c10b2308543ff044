import type { Context } from 'koa';
import { defineGate, developer } from 'koa-gatehouse';
import type { AuthServerOptions, ClientFields, Developer, Gate, InteractionFlow, User } from 'koa-gatehouse';

import { pages } from 'koa-gatehouse/interactions';
import type { WithDeveloper } from 'koa-gatehouse/types';

import { Browser } from '../harness/browser.ts';
import { people, signIn, startPlatform } from '../harness/platform.ts';
import type { PlatformOptions } from '../harness/platform.ts';
import type { Mounting, Platform, RegisteredApp } from '../harness/platform.ts';
import { endWith } from '../harness/serve.ts';
import type { Owner } from '../harness/serve.ts';

type Permission = 'view_schools' | 'edit_schools' | 'close_schools' | 'manage_apps' | 'manage_all_apps';

export const gate: Gate<Permission, 'reader' | 'registrar' | 'headmaster' | 'janitor'> = defineGate({
  permissions: {
    view_schools: 'View schools',
    edit_schools: 'Edit schools',
    close_schools: 'Close schools',
    manage_apps: 'Register and manage apps',
    manage_all_apps: 'Manage the apps of all users',
  },
  roles: {
    reader: ['view_schools'],
    registrar: ['view_schools', 'edit_schools'],
    headmaster: ['view_schools', 'edit_schools', 'close_schools'],
    janitor: [],
  },
});

/** Two developers, an administrator, and a user without apps. The id of each is the name. */
const MEMBERS = {
  dora: { roles: ['registrar'], permissions: ['manage_apps'] },
  emil: { roles: [], permissions: ['manage_apps', 'close_schools'] },
  root: { roles: [], permissions: ['manage_apps', 'manage_all_apps'] },
  ann: { roles: [], permissions: ['view_schools'] },
} as const;

export type Member = keyof typeof MEMBERS;

/** A platform with a developer area. Its functions can be destructured. */
export interface DeveloperPlatform extends Platform {
  readonly api: Platform['api'];
  readonly token: Platform['token'];
  readonly url: Platform['url'];
  readonly auth: Platform['auth'] & WithDeveloper;
  readonly flow: InteractionFlow;
  /** The developer area of a user, without pages. */
  readonly developer: (member: Member) => Promise<Developer>;
  /** A browser in which a user has signed in. */
  readonly signInAs: (member: Member) => Promise<Browser>;
  /** Registers an app of a user, without pages. @default a client-credentials app */
  readonly registerFor: (
    member: Member | undefined,
    fields?: Partial<ClientFields>,
  ) => Promise<RegisteredApp>;
}

export async function startDeveloperPlatform(
  {
    developer: settings,
    features = [],
    interactions = pages({ brand: { name: 'Acme Schools' } }),
    ...given
  }: Partial<Omit<AuthServerOptions, 'gate'>> &
    Pick<PlatformOptions, 'openid'> & { readonly developer?: Parameters<typeof developer>[0] } = {},
  mounting?: Mounting,
): Promise<DeveloperPlatform> {
  let flow!: InteractionFlow;
  const users = people();
  users.all.length = 0;
  for (const member of Object.keys(MEMBERS) as Member[])
    users.all.push({ ...userOf(member), ...passwordOf(member) } as never);
  const options = {
    users,
    gate,
    ...given,
    features: [...features, developer(settings)],
    interactions(made: InteractionFlow) {
      flow = made;
      return interactions(made);
    },
  };
  // The gate of the harness has fewer permissions.
  const platform = await startPlatform(options as never, mounting);
  const auth = platform.auth as DeveloperPlatform['auth'];
  return {
    ...platform,
    auth,
    flow,
    developer: async (member) => auth.developer(requestFrom('192.0.2.1'), userOf(member)),
    async signInAs(member) {
      const browser = new Browser(platform.reach);
      const page = await browser.open(platform.url('/oauth/login'));
      const { email, password } = passwordOf(member);
      await signIn(browser, page, email, password);
      return browser;
    },
    async registerFor(member, fields = {}) {
      return platform.registerApp({
        name: 'Nightly import',
        grantType: 'client_credentials',
        redirectUris: [],
        ...fields,
        ownerId: member,
      });
    },
  };
}

/** {@link startDeveloperPlatform}, with an owner: what it returns can be destructured. */
export async function openDeveloperPlatform(
  owner: Owner,
  ...options: Parameters<typeof startDeveloperPlatform>
): Promise<DeveloperPlatform> {
  return endWith(owner, await startDeveloperPlatform(...options));
}

/** The credentials of a user. */
export function passwordOf(member: Member): { readonly email: string; readonly password: string } {
  return { email: `${member}@school.example`, password: `password of ${member}` };
}

export function userOf(member: Member): User {
  return { id: member, name: member, email: passwordOf(member).email, ...MEMBERS[member] };
}

/** A request with the fields that the developer area reads. */
export function requestFrom(ip: string): Context {
  return { ip, state: { requestId: 'r-1' } } as unknown as Context;
}
