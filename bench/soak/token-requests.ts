/** The requests of apps and services: tokens, guarded routes, revocations. */
import { setTimeout } from 'node:timers/promises';

import type { Response, RunningNode } from './nodes.ts';
import type { Answer, Subject } from './operations.ts';
import { REDIRECT_URI } from './platform.ts';
import type { Connection, RegisteredClient, Token, World } from './world.ts';
import { userNumber } from './world.ts';

const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
const JSON_BODY = { 'content-type': 'application/json' };

// In milliseconds.
const PAUSE = 20;
const MOST_ATTEMPTS = 50;

/** A code, and what it takes to exchange it. */
export interface Code {
  readonly number: number;
  readonly value: string;
  readonly verifier: string;
  readonly user: number;
  readonly app: RegisteredClient;
}

interface Tokens {
  readonly access: Token;
  readonly refresh: Token | undefined;
}

/** Repeats an attempt as a client does: while it has no answer, or 503. */
async function untilAnswered(attempt: () => Promise<number>): Promise<void> {
  for (let count = 0; count < MOST_ATTEMPTS; count += 1) {
    const status = await attempt();
    if (status !== 0 && status !== 503) return;
    await setTimeout(PAUSE);
  }
}

/** Exchanges a code, and repeats that while there is no answer. Resolves to the connection, if there is one. */
export async function exchange(world: World, code: Code): Promise<Connection | undefined> {
  let connection: Connection | undefined;
  await untilAnswered(async () => {
    const { status, tokens, answer } = await exchangeOnce(world, code);
    if (tokens?.refresh) {
      connection = {
        code: code.number,
        user: code.user,
        app: code.app,
        grant: answer.owner?.grant ?? '',
        access: tokens.access,
        refresh: tokens.refresh,
        spent: [],
        isRefreshing: false,
      };
      world.connect(connection);
    }
    return status;
  });
  return connection;
}

export async function exchangeOnce(world: World, { app, number, value, verifier }: Code): Promise<Asked> {
  return askForTokens(
    world,
    { kind: 'code exchange', code: number },
    {
      ...asClient(app),
      grant_type: 'authorization_code',
      redirect_uri: REDIRECT_URI,
      code: value,
      code_verifier: verifier,
    },
  );
}

/** Refreshes, and repeats that while there is no answer. Ends the connection when the refresh token is refused. */
export async function refresh(world: World, connection: Connection): Promise<void> {
  if (connection.isRefreshing) return;
  connection.isRefreshing = true;
  const presented = connection.refresh;
  await untilAnswered(async () => {
    const asked = await refreshOnce(world, connection, presented);
    takeRefreshed(world, connection, presented, asked);
    return asked.status;
  });
  connection.isRefreshing = false;
}

/** Two tabs refresh at once. */
export async function refreshTwice(world: World, connection: Connection): Promise<void> {
  if (connection.isRefreshing) return;
  connection.isRefreshing = true;
  const presented = connection.refresh;
  const both = await Promise.all([
    refreshOnce(world, connection, presented),
    refreshOnce(world, connection, presented),
  ]);
  for (const asked of both) takeRefreshed(world, connection, presented, asked);
  connection.isRefreshing = false;
}

/** Presents a refresh token that was used: the client gets the same successor, or the family is revoked. */
export async function refreshAgain(world: World, connection: Connection, spent: Token): Promise<void> {
  if (connection.isRefreshing) return;
  connection.isRefreshing = true;
  const { status } = await refreshOnce(world, connection, spent);
  if (status === 400) world.disconnect(connection);
  connection.isRefreshing = false;
}

function takeRefreshed(
  world: World,
  connection: Connection,
  presented: Token,
  { status, tokens }: Asked,
): void {
  if (tokens?.refresh && connection.refresh === presented) {
    connection.spent = [presented, ...connection.spent].slice(0, 2);
    connection.refresh = tokens.refresh;
  }
  if (tokens) connection.access = tokens.access;
  if (status === 400) world.disconnect(connection);
}

export async function refreshOnce(world: World, { app }: Connection, token: Token): Promise<Asked> {
  return askForTokens(
    world,
    { kind: 'refresh', token: token.number },
    { ...asClient(app), grant_type: 'refresh_token', refresh_token: token.value },
  );
}

export async function clientCredentials(world: World): Promise<void> {
  const service = world.random.pick(world.services);
  const { tokens } = await askForTokens(
    world,
    { kind: 'client credentials', client: service.number },
    { ...asClient(service), grant_type: 'client_credentials' },
  );
  if (tokens) world.keepServiceToken({ ...tokens.access, service });
}

interface Asked {
  readonly status: number;
  readonly answer: Answer;
  readonly tokens: Tokens | undefined;
}

async function askForTokens(world: World, subject: Subject, fields: Record<string, string>): Promise<Asked> {
  const node = await world.nodes.pick();
  // Half of the clients send JSON.
  const isJson = world.random.isOnceIn(2);
  const request = {
    method: 'POST' as const,
    path: '/oauth/token',
    headers: isJson ? JSON_BODY : FORM,
    body: isJson ? JSON.stringify(fields) : String(new URLSearchParams(fields)),
  };
  const begun = world.recorder.begin(node.number, subject);
  const response = await node.send(request);
  const body = membersOf(response);
  let answer = answerOf(response, body);
  let tokens: Tokens | undefined;
  const { access_token: access, refresh_token: refreshed } = body;
  if (response?.status === 200 && typeof access === 'string') {
    tokens = {
      access: { value: access, number: world.numberOf('access', access) },
      refresh:
        typeof refreshed === 'string'
          ? { value: refreshed, number: world.numberOf('refresh', refreshed) }
          : undefined,
    };
    answer = {
      ...answer,
      owner: world.ownerOf(access),
      access: tokens.access.number,
      ...(tokens.refresh ? { refresh: tokens.refresh.number } : {}),
    };
  }
  world.recorder.end(begun, answer);
  return { status: answer.status, answer, tokens };
}

/** Asks a guarded route at every node. */
export async function callApiEverywhere(world: World, token: Token): Promise<void> {
  await Promise.all(world.nodes.running.map(async (node) => callApi(world, token, node)));
}

/** Asks a guarded route whom the token is for. Resolves to the status. */
export async function callApi(world: World, token: Token, asked?: RunningNode): Promise<number> {
  const node = asked ?? (await world.nodes.pick());
  const begun = world.recorder.begin(node.number, { kind: 'guarded request', access: token.number });
  const response = await node.send({
    method: 'GET',
    path: '/api/v1/identity',
    headers: { authorization: `Bearer ${token.value}` },
  });
  const body = membersOf(response);
  const { type, id, client_id: clientId } = (body['data'] ?? {}) as Record<string, unknown>;
  world.recorder.end(begun, {
    ...answerOf(response, body),
    owner: {
      ...(type === 'user' ? { user: userNumber(id) } : {}),
      client: world.clientNumber(clientId),
    },
  });
  return response?.status ?? 0;
}

export async function revokeAccessToken(world: World, token: Token, client: RegisteredClient): Promise<void> {
  return revoke(world, { kind: 'revoke access token', access: token.number }, token, client);
}

export async function revokeRefreshToken(world: World, connection: Connection): Promise<void> {
  const { app, refresh: token } = connection;
  await revoke(world, { kind: 'revoke refresh token', token: token.number }, token, app);
  world.disconnect(connection);
}

async function revoke(world: World, subject: Subject, token: Token, client: RegisteredClient): Promise<void> {
  const body = String(new URLSearchParams({ ...asClient(client), token: token.value }));
  await post(world, subject, { path: '/oauth/revoke', headers: FORM, body });
}

/** Has the host of a node do something, as an administrator does. */
export async function asAdministrator(
  world: World,
  subject: Subject,
  task: 'revoke' | 'rotate-keys' | 'prune',
  details: object = {},
): Promise<void> {
  const request = { path: `/soak/${task}`, headers: JSON_BODY, body: JSON.stringify(details) };
  await post(world, subject, request);
}

async function post(
  world: World,
  subject: Subject,
  request: { readonly path: string; readonly headers: Record<string, string>; readonly body: string },
): Promise<void> {
  await untilAnswered(async () => {
    const node = await world.nodes.pick();
    const begun = world.recorder.begin(node.number, subject);
    const response = await node.send({ method: 'POST', ...request });
    world.recorder.end(begun, answerOf(response, membersOf(response)));
    return response?.status ?? 0;
  });
}

function asClient({ id, secret }: RegisteredClient): { client_id: string; client_secret: string } {
  return { client_id: id, client_secret: secret };
}

function membersOf(response: Response | undefined): Record<string, unknown> {
  try {
    return JSON.parse(response?.text ?? '') as Record<string, unknown>;
  } catch {
    return {};
  }
}

function answerOf(response: Response | undefined, { error, code }: Record<string, unknown>): Answer {
  if (!response) return { status: 0 };
  const said = error ?? code;
  return { status: response.status, ...(typeof said === 'string' ? { error: said } : {}) };
}
