import { stripVTControlCharacters, styleText } from 'node:util';

import type { AnnouncedApp, Announcement } from './announcement.ts';
import { authorizationUrl, curlCommands } from './curl.ts';
import { COMMAND_WITH_OPTIONS } from './program.ts';

export interface AnnounceOptions {
  /** Also the apps, and `curl` commands for each grant type. */
  readonly curl: boolean;
  /** The file with the portal's copy of its secret. */
  readonly portalFile: string;
}

/** The announcement as text, in colour on a terminal. What is needed first comes last, where a small terminal shows it. */
export function announceAsText(announcement: Announcement, { curl, portalFile }: AnnounceOptions): string {
  const { baseUrl, fresh } = announcement;
  const sections = [
    [bold('Larkfield Schools'), ...addresses(baseUrl)],
    ...(curl ? [apps(announcement, portalFile)] : []),
    ...(curl && fresh ? [browser(announcement), commands(announcement)] : []),
    people(announcement),
    hints(announcement, curl),
    [firstStep(announcement)],
  ];
  return `\n${sections.map((lines) => lines.join('\n')).join('\n\n')}\n`;
}

function addresses(baseUrl: string): readonly string[] {
  return [
    `  ${baseUrl}/         the start page`,
    `  ${baseUrl}/portal   the Partner portal, a third-party app`,
    `  ${baseUrl}/mcp      for AI agents: claude mcp add --transport http schools ${baseUrl}/mcp`,
  ];
}

function people({ users }: Announcement): readonly string[] {
  const rows = users.map(({ login, password, permissions }) => [
    login,
    password ?? dim('password not shown'),
    permissions.join(', ') || dim('no permissions'),
  ]);
  return [bold('Users'), ...columns(rows)];
}

function apps({ apps: all }: Announcement, portalFile: string): readonly string[] {
  return [
    bold('Apps'),
    ...all.flatMap((app, index) => [...(index > 0 ? [''] : []), ...describe(app, portalFile)]),
  ];
}

function describe(app: AnnouncedApp, portalFile: string): readonly string[] {
  const secret =
    app.clientSecret ?? dim(app.confidential ? 'not shown' : 'none: a public app, PKCE required');
  const facts = [
    ['grant_type', app.grantType],
    ['client_id', app.clientId],
    ['client_secret', secret],
    ...app.redirectUris.map((uri, index) => [index === 0 ? 'redirect_uri' : '', uri]),
    ...(app.grantType === 'client_credentials'
      ? [['permissions', app.permissions.join(', ') || dim('none')]]
      : []),
    ...(app.app === 'portal' ? [['', dim(`the portal has its own copy in ${portalFile}`)]] : []),
  ];
  return [`  ${app.name}`, ...columns(facts).map((line) => `  ${line}`)];
}

function browser({ baseUrl, apps: all }: Announcement): readonly string[] {
  const app = all.find((one) => one.app === 'command-line');
  if (!app) return [];
  return [
    bold('In a browser'),
    `  ${authorizationUrl(baseUrl, app)}`,
    `  shows a code for ${app.name}: set it with ${bold('code=…')} and continue below with “Exchange the code”`,
  ];
}

function commands(announcement: Announcement): readonly string[] {
  const blocks = curlCommands(announcement).map(({ about, lines }) =>
    [dim(`# ${about}`), ...lines].join('\n'),
  );
  return [bold('In a terminal'), blocks.join('\n\n')];
}

function hints({ fresh }: Announcement, curl: boolean): readonly string[] {
  return [
    fresh
      ? `Passwords and secrets are shown only once. ${command('--new-secrets')} creates new ones.`
      : `Passwords and secrets were shown once; only their hashes are stored. ${command('--new-secrets')} creates new ones.`,
    ...(curl && fresh
      ? []
      : [
          `${command('--curl --new-secrets')} shows the apps with new secrets, and curl commands for each grant type.`,
        ]),
    "Access tokens of /api/v1 live a year, those of /mcp and /statistics an hour. For an hour too, set tokens: { lifetimes: 'short' }.",
  ];
}

function command(options: string): string {
  return bold(`${COMMAND_WITH_OPTIONS} ${options}`);
}

/** The page to open, and a user who may use all of it. */
function firstStep({ baseUrl, users: [user] }: Announcement): string {
  const { login, password } = user!;
  const credentials = password === null ? login : `${login} and the password ${password}`;
  return `Open ${bold(`${baseUrl}/portal`)}, press Connect, and sign in with ${credentials}.`;
}

function columns(rows: readonly (readonly string[])[]): readonly string[] {
  const width = (column: number) => Math.max(...rows.map((row) => visibleLength(row[column] ?? '')));
  const pad = (cell: string, column: number) => cell + ' '.repeat(width(column) - visibleLength(cell));
  return rows.map((row) => `  ${row.map(pad).join('   ')}`.trimEnd());
}

function visibleLength(text: string): number {
  return stripVTControlCharacters(text).length;
}

function bold(text: string): string {
  return styleText('bold', text, { stream: process.stdout });
}

function dim(text: string): string {
  return styleText('dim', text, { stream: process.stdout });
}
