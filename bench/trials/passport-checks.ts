/** The checks of a move: what the nodes answer to the tokens and the users of the old server. */
import { setTimeout as delay } from 'node:timers/promises';

import type { Knex } from 'knex';

import { Browser } from '../../test/harness/browser.ts';
import { signIn } from '../../test/harness/platform.ts';
import type { Nodes } from './nodes.ts';
import { callApi, refreshAt } from './passport-clients.ts';
import { REDIRECT_URI, STATES } from './passport-database.ts';
import type { PassportDatabase, Sample, StateName } from './passport-database.ts';
import type { Finding } from './report.ts';
import { inParallel } from './token-load.ts';

// In milliseconds, a bit more than the `revocationLag` of the nodes.
const LAG = 2100;

/** Both nodes know the tokens, and the old server revokes them. */
export async function revoke(
  nodes: Nodes,
  database: Knex,
  { samples, title }: { readonly samples: readonly Sample[]; readonly title: string },
): Promise<Finding> {
  const broken: string[] = [];
  const texts = samples.map(({ tokens }) => tokens.accessToken());
  const statuses = async (): Promise<readonly number[]> =>
    Promise.all(
      texts.flatMap((text) => [0, 1].map(async (node) => (await callApi(nodes, node, text)).status)),
    );
  const refused = (await statuses()).filter((status) => status !== 200);
  if (refused.length > 0)
    broken.push(
      `${refused.length} live tokens that are first used at both nodes at once: ${refused.join(', ')}`,
    );
  await database('oauth_access_tokens')
    .whereIn(
      'id',
      samples.map(({ tokens }) => tokens.id),
    )
    .update({ revoked: true });
  await delay(LAG);
  const later = (await statuses()).filter((status) => status !== 401);
  if (later.length > 0) broken.push(`${later.length} revoked tokens are accepted after the lag`);
  return {
    what: `${title}: used at both nodes, then revoked at the old server`,
    count: 2 * samples.length,
    broken,
  };
}

/** Presents the tokens of each state: the access token at one node, the refresh token at both at once. */
export async function tryStates(
  nodes: Nodes,
  { samples }: PassportDatabase,
  {
    exchanged,
    most,
    title,
  }: { readonly exchanged: Set<string>; readonly most: number; readonly title: string },
): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  for (const [name, all] of samples) {
    const expected = STATES[name];
    const broken: string[] = [];
    const tried = all.slice(0, most);
    await inParallel(tried.entries(), async ([index, { app, tokens }]) => {
      const access = tokens.accessToken();
      const { status } = await callApi(nodes, index % 2, access);
      if (status !== (expected.access ? 200 : 401)) broken.push(`the access token: ${status}`);
      const token = tokens.refreshToken();
      const answers = await Promise.all([0, 1].map(async (node) => refreshAt(nodes, node, { app, token })));
      for (const answer of answers) {
        if (expected.refresh ? answer.status !== 200 : answer.status !== 400 && answer.status !== 401)
          broken.push(`the refresh token: ${answer.status} ${String(answer.body?.['error_description'])}`);
      }
      if (!expected.refresh) return;
      exchanged.add(tokens.refreshId);
      if (new Set(answers.map(({ body }) => body?.['refresh_token'])).size !== 1)
        broken.push('two requests got two refresh tokens');
    });
    if (expected.refresh) await checkExchanged(nodes, tried, broken);
    findings.push({ what: `${title}: ${name}`, count: tried.length, broken, note: answersOf(name) });
  }
  return findings;
}

/** What was exchanged has ended the access token too. */
async function checkExchanged(nodes: Nodes, tried: readonly Sample[], broken: string[]): Promise<void> {
  await delay(LAG);
  await inParallel(tried, async ({ tokens }) => {
    for (const node of [0, 1]) {
      const { status } = await callApi(nodes, node, tokens.accessToken());
      if (status !== 401) broken.push(`the access token after the exchange: ${status}`);
    }
  });
}

function answersOf(name: StateName): string {
  const { access, refresh } = STATES[name];
  return `access token ${access ? 'accepted' : 'refused'}, refresh token ${refresh ? 'exchanged' : 'refused'}`;
}

/**
 * Users who have consented at the old server go straight through; one who has not is asked.
 *
 * @param newUser - the id of a user without tokens
 */
export async function consents(
  nodes: Nodes,
  {
    newUser,
    samples,
    title,
  }: { readonly newUser: number; readonly samples: readonly Sample[]; readonly title: string },
): Promise<Finding> {
  const broken: string[] = [];
  let count = 0;
  async function isAsked({ app, userId }: Pick<Sample, 'app' | 'userId'>, scope: string): Promise<boolean> {
    const browser = new Browser((url) => nodes.at(url, count % 2));
    const url = new URL(`${nodes.issuer}/oauth/authorize`);
    const parameters = {
      response_type: 'code',
      client_id: app.id,
      redirect_uri: REDIRECT_URI,
      state: 'x',
      scope,
    };
    // Apps without a secret have to use PKCE.
    const pkce = {
      code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
      code_challenge_method: 'S256',
    };
    url.search = String(new URLSearchParams({ ...parameters, ...pkce }));
    const page = await signIn(browser, await browser.open(url), `${userId}@school.example`, 'password');
    if (page.location?.href.startsWith(`${REDIRECT_URI}?code=`)) return false;
    if (!page.html.includes('Authorize</button>')) broken.push(`neither a code nor a page: ${page.text}`);
    return true;
  }
  const ofApps = samples.filter(({ app: { kind } }) => kind !== 'password');
  for (const sample of ofApps) {
    count += 1;
    const scopes = JSON.parse(String(sample.tokens.accessRow['scopes'])) as readonly string[];
    if (await isAsked(sample, scopes.filter((scope) => scope !== '*').join(' ')))
      broken.push(`user ${sample.userId} is asked again`);
  }
  if (!(await isAsked({ app: ofApps[0]!.app, userId: newUser }, 'orders:read')))
    broken.push('a user who has not consented is not asked');
  return { what: `${title}: authorizations of users who have consented`, count, broken };
}

/** Each refresh token that was exchanged has one family, with one unspent refresh token, and is marked at the old server. */
export async function families(
  database: Knex,
  laravel: Knex,
  { exchanged, title }: { readonly exchanged: ReadonlySet<string>; readonly title: string },
): Promise<Finding> {
  const broken: string[] = [];
  const rows: readonly { readonly grant_id: string; readonly unspent: unknown }[] = await database(
    'gatehouse_credentials',
  )
    .select('grant_id', database.raw('sum(case when consumed_at is null then 1 else 0 end) as unspent'))
    .where('kind', 'refresh_token')
    .where('grant_id', 'like', 'passport-refresh-%')
    .groupBy('grant_id');
  const unspent = new Map(
    rows.map((row) => [row.grant_id.replace('passport-refresh-', ''), Number(row.unspent)]),
  );
  for (const id of exchanged)
    if (unspent.get(id) !== 1) broken.push(`a family with ${unspent.get(id) ?? 'no'} unspent refresh tokens`);
  const others = [...unspent.keys()].filter((id) => !exchanged.has(id)).length;
  if (others > 0) broken.push(`${others} families of refresh tokens that were not exchanged`);
  for (const id of exchanged) {
    const [row] = await laravel('oauth_refresh_tokens').where({ id });
    if (!row?.revoked) broken.push('a refresh token that was exchanged is not marked at the old server');
  }
  return { what: `${title}: families`, count: exchanged.size, broken };
}
