import type { AnnouncedApp, AnnouncedUser, Announcement } from './announcement.ts';

/** Commands for bash, to be run in order. */
export interface Commands {
  /** Printed as a comment. */
  readonly about: string;
  readonly lines: readonly string[];
}

const JSON_BODY = "-H 'Content-Type: application/json'";
// The JSON has no trailing line break; this puts the prompt on a new line.
const NEW_LINE = String.raw`-w '\n'`;
// Makes the Authorization header from a token response. curl reads it from standard input (`-H @-`), so that the token is
// not in the process list.
const AS_HEADER = String.raw`sed 's/.*"access_token":"\([^"]*\)".*/Authorization: Bearer \1/'`;

/** Complete `curl` commands for the three grant types and the API. */
export function curlCommands({ baseUrl, users, apps }: Announcement): readonly Commands[] {
  const byName = new Map(apps.map((app) => [app.app, app]));
  const importer = byName.get('import');
  const monitor = byName.get('monitor');
  const person = byName.get('command-line');
  const user = users.find(({ permissions }) => permissions.join(' ') === 'view_schools');
  return [
    ...(importer ? clientCredentials(baseUrl, importer) : []),
    ...(monitor ? schools(baseUrl, monitor, 'does not have the permission view_schools: 403') : []),
    ...(person && user ? authorizationCode(baseUrl, person, user) : []),
  ];
}

function clientCredentials(baseUrl: string, app: AnnouncedApp): readonly Commands[] {
  const line = `${machineToken(baseUrl, app)} ${NEW_LINE}`;
  return [
    { about: `Client credentials: a token for ${app.name}`, lines: [line] },
    ...schools(baseUrl, app, 'reads the schools'),
  ];
}

function schools(baseUrl: string, app: AnnouncedApp, outcome: string): readonly Commands[] {
  const line = `${machineToken(baseUrl, app)} | ${AS_HEADER} | ${apiCall(baseUrl, 'schools')}`;
  return [{ about: `${app.name} ${outcome}`, lines: [line] }];
}

function authorizationCode(baseUrl: string, app: AnnouncedApp, user: AnnouncedUser): readonly Commands[] {
  const exchange = {
    grant_type: 'authorization_code',
    ...credentials(app),
    redirect_uri: app.redirectUri!,
    code: shellVariable('code'),
  };
  const refresh = {
    grant_type: 'refresh_token',
    ...credentials(app),
    refresh_token: shellVariable('refresh_token'),
    scope: '',
  };
  const callApi = `echo "$answer" | ${AS_HEADER} | ${apiCall(baseUrl, 'identity')}`;
  return [
    {
      about: `Authorization code: a code for ${app.name}, by sending the forms of the pages as ${user.login}`,
      lines: [
        'cookies=$(mktemp)',
        `visit() { curl -sSL -b "$cookies" -c "$cookies" -H ${quote(`Origin: ${baseUrl}`)} -o /dev/null -w '%{url_effective}' "$@"; }`,
        `login=$(visit ${quote(authorizationUrl(baseUrl, app))})`,
        `consent=$(visit --data-urlencode ${quote(`login=${user.login}`)} --data-urlencode ${quote(`password=${user.password ?? ''}`)} "$login/login")`,
        `code=$(visit -d '' "$consent/consent" | sed 's/.*[?&]code=//; s/&.*//')`,
      ],
    },
    {
      about: 'Exchange the code, and call the API for this user',
      lines: [`answer=$(${tokenRequest(baseUrl, exchange)}); echo "$answer"`, callApi],
    },
    {
      about: 'Refresh: new tokens without the user',
      lines: [
        String.raw`refresh_token=$(echo "$answer" | sed 's/.*"refresh_token":"\([^"]*\)".*/\1/')`,
        `answer=$(${tokenRequest(baseUrl, refresh)}); echo "$answer"`,
        callApi,
      ],
    },
  ];
}

/** The authorization request of an app. */
export function authorizationUrl(baseUrl: string, app: AnnouncedApp): string {
  const url = new URL('/oauth/authorize', baseUrl);
  url.search = new URLSearchParams({
    client_id: app.clientId,
    redirect_uri: app.redirectUri!,
    response_type: 'code',
    scope: '',
    state: 'from-the-terminal',
  }).toString();
  return url.href;
}

function machineToken(baseUrl: string, app: AnnouncedApp): string {
  return tokenRequest(baseUrl, { grant_type: 'client_credentials', ...credentials(app), scope: '' });
}

function credentials(app: AnnouncedApp): Record<string, string> {
  return { client_id: app.clientId, client_secret: app.clientSecret ?? '' };
}

function tokenRequest(baseUrl: string, body: Record<string, string>): string {
  return `curl -sS ${baseUrl}/oauth/token ${JSON_BODY} -d ${quote(JSON.stringify(body))}`;
}

function apiCall(baseUrl: string, resource: string): string {
  return `curl -sS ${baseUrl}/api/v1/${resource} -H @- ${NEW_LINE}`;
}

/** A placeholder that `quote()` replaces by a shell variable. */
function shellVariable(name: string): string {
  return `\${${name}}`;
}

function quote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`).replaceAll(/\$\{(\w+)\}/g, (_, name) => `'"$${name}"'`)}'`;
}
