import { stripVTControlCharacters, styleText } from 'node:util';

import type { AnnouncedApp, Announcement } from './announcement.ts';
import { authorizationUrl, curlCommands } from './curl.ts';
import { COMMAND_WITH_OPTIONS } from './program.ts';

export interface AnnounceOptions {
  /** The file with the portal's copy of its secret. */
  readonly portalFile: string;
}

/** The announcement as text, in colour on a terminal. */
export function announceAsText(announcement: Announcement, { portalFile }: AnnounceOptions): string {
  const { baseUrl, fresh } = announcement;
  const sections = [
    [bold('Larkfield Schools'), ...addresses(baseUrl)],
    people(announcement),
    apps(announcement, portalFile),
    ...(fresh ? [browser(announcement), commands(announcement), [savingHint()]] : [[newSecretsHint()]]),
  ];
  return `\n${sections.map((lines) => lines.join('\n')).join('\n\n')}\n`;
}

function addresses(baseUrl: string): readonly string[] {
  return [
    `  ${baseUrl}/         the start page`,
    `  ${baseUrl}/portal   the Partner portal, a third-party app: start here`,
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

function savingHint(): string {
  return `Passwords and secrets are shown only once. ${bold(`${COMMAND_WITH_OPTIONS} --new-secrets`)} creates new ones.`;
}

function newSecretsHint(): string {
  return [
    'Passwords and secrets were shown on the first start; only their hashes are stored.',
    `${bold(`${COMMAND_WITH_OPTIONS} --new-secrets`)} creates new ones and shows them with curl commands.`,
  ].join('\n');
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
