import { ACCESS_TOKEN, LEMONLDAP, prepareLemonldap } from './relying-lemonldap.ts';
import { ACTUAL, DIRECTUS, prepareActual, prepareDirectus } from './relying-sites.ts';
import type { Given, Prepared, Site } from './relying-sites.ts';

/** An application, and what it can do with its library besides to sign a user in. */
export interface RelyingParty {
  readonly library: string;
  /** The package of Debian that the library is in, with a file of it. @default one of npm */
  readonly debian?: { readonly name: string; readonly file: string };
  /** The folder of a product, in relying-parties/. */
  readonly product?: string;
  readonly program: string;
  /** What has to be there before it starts, such as its configuration. */
  readonly prepare?: (folder: string, given: Given) => Promise<Prepared>;
  /** @default the pages of the programs in relying-parties/ */
  readonly site?: Site;
  /** How the program is run, with its file and with what it has to know. @default with Node.js, as an argument each */
  readonly run?: (file: string, given: readonly string[]) => readonly [string, ...string[]];
  /** The path that its library redirects the user back to. */
  readonly callback?: string;
  /** The path that the user comes back to after a logout at the server. @default '/left' */
  readonly left?: string;
  readonly isPublic?: boolean;
  /** The lifetime of its access tokens, in seconds. @default that of the server */
  readonly accessToken?: number;
  readonly refreshes?: boolean;
  /** Whether it sends the user to the server to log out. */
  readonly logsOut?: boolean;
  /** The path of its back-channel logout. */
  readonly backChannel?: string;
}

/** Those of the trial. */
export const ALL: readonly RelyingParty[] = [
  { library: 'openid-client', program: 'openid-client.js', refreshes: true, logsOut: true },
  { library: 'openid-client-5', program: 'openid-client-5.js', refreshes: true, logsOut: true },
  { library: 'oauth4webapi', program: 'oauth4webapi.js', refreshes: true, logsOut: true },
  { library: 'oidc-client-ts', program: 'oidc-client-ts.js', isPublic: true, refreshes: true, logsOut: true },
  {
    library: 'angular-oauth2-oidc',
    program: 'angular-oauth2-oidc.js',
    isPublic: true,
    refreshes: true,
    logsOut: true,
  },
  {
    library: 'express-openid-connect',
    program: 'express-openid-connect.js',
    logsOut: true,
    backChannel: '/backchannel-logout',
  },
  { library: 'passport-openidconnect', program: 'passport-openidconnect.js' },
  { library: '@auth/core', program: 'auth-core.js', callback: '/auth/callback/gatehouse' },
  { library: 'better-auth', program: 'better-auth.js', callback: '/api/auth/callback/gatehouse' },
  {
    library: 'Authlib',
    debian: { name: 'python3-authlib python3-flask', file: '/usr/lib/python3/dist-packages/authlib' },
    program: 'flask-authlib.py',
    run: (file, given) => ['/usr/bin/python3', file, ...given],
  },
  {
    library: 'python-social-auth',
    debian: {
      name: 'python3-social-django python3-jose',
      file: '/usr/lib/python3/dist-packages/social_django',
    },
    program: 'django-social.py',
    run: (file, given) => ['/usr/bin/python3', file, ...given],
    callback: '/complete/oidc/',
    refreshes: true,
  },
  {
    library: 'mod_auth_openidc',
    debian: {
      name: 'libapache2-mod-auth-openidc',
      file: '/usr/lib/apache2/modules/mod_auth_openidc.so',
    },
    program: 'mod_auth_openidc.conf',
    logsOut: true,
    // It takes them from the environment.
    run: (file) => ['/usr/sbin/apache2', '-X', '-f', file],
  },
  {
    library: 'LemonLDAP::NG',
    debian: {
      name: 'lemonldap-ng libgd-securityimage-perl libimage-magick-perl',
      file: '/usr/share/perl5/Lemonldap/NG/Portal.pm',
    },
    program: 'lemonldap.psgi',
    run: (file, [, , , port = '']) => ['/usr/bin/plackup', '-o', '127.0.0.1', '-p', port, file],
    prepare: prepareLemonldap,
    site: LEMONLDAP,
    callback: '/?openidconnectcallback=1',
    left: '/?logout=1',
    accessToken: ACCESS_TOKEN,
    refreshes: true,
    logsOut: true,
  },
  {
    library: '@actual-app/sync-server',
    product: 'actual',
    program: 'node_modules/@actual-app/sync-server/build/bin/actual-server.js',
    run: (file) => [process.execPath, file],
    prepare: prepareActual,
    site: ACTUAL,
    callback: '/openid/callback',
  },
  {
    library: 'directus',
    product: 'directus',
    program: 'node_modules/directus/cli.js',
    run: (file) => [process.execPath, file, 'start'],
    prepare: prepareDirectus,
    site: DIRECTUS,
    callback: '/auth/login/gatehouse/callback',
    refreshes: true,
  },
];
