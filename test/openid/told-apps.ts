import { generateKeyPairSync } from 'node:crypto';
import type { KeyPairKeyObjectResult } from 'node:crypto';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';

import type { ExecutionContext } from 'ava';
import { SignJWT } from 'jose';
import type { Client, Storage } from 'koa-gatehouse';

import { createPublicPost } from '../../lib/http/public-post.ts';
import { ANSWER_TIMEOUT } from '../../lib/outbox/delivery-sender.ts';
import type { DeliverySender } from '../../lib/outbox/delivery-sender.ts';
import { createLogoutSender } from '../../lib/features/openid/logout-sender.ts';
import type { LogoutOutcome, LogoutStore } from '../../lib/features/openid/types.ts';
import { logoutReader } from '../../lib/features/openid/store.ts';
import { logoutsOf } from './logouts-of.ts';
import { completeClient } from '../harness/client.ts';
import { recordingLogger } from '../harness/platform.ts';
import { aSession } from '../storage/rows.ts';
import { servePublic } from '../harness/public-server.ts';
import { serve } from '../harness/serve.ts';

export const KEYS: KeyPairKeyObjectResult = generateKeyPairSync('rsa', { modulusLength: 2048 });
export const ISSUER: string = 'https://platform.example';
export const HOUR: number = 3600;

/** Apps, each at a path of its own, and the logout tokens that they were sent. */
export interface Apps extends AsyncDisposable {
  readonly origin: string;
  readonly received: { readonly path: string; readonly token: string; readonly at: number }[];
  tokensOf(path: string): readonly string[];
}

export type Answer = (path: string, response: ServerResponse, count: number) => unknown;

export function receiver(
  answer: Answer,
): Pick<Apps, 'received' | 'tokensOf'> & { listener: RequestListener } {
  const received: Apps['received'] = [];
  async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks = await Array.fromAsync(request as AsyncIterable<Buffer>);
    const form = new URLSearchParams(Buffer.concat(chunks).toString());
    const path = request.url!;
    received.push({ path, token: form.get('logout_token') ?? '', at: performance.now() });
    answer(path, response, tokensOf(path).length);
  }
  const tokensOf = (path: string): string[] =>
    received.filter((one) => one.path === path).map(({ token }) => token);
  return { received, tokensOf, listener: (request, response) => void receive(request, response) };
}

/** Apps on loopback. */
export async function startApps(answer: Answer): Promise<Apps> {
  const { listener, ...apps } = receiver(answer);
  return { ...apps, ...(await serve(() => listener)) };
}

/** Apps that pass for public ones, see `ON_LOOPBACK`. */
export async function startPublicApps(answer: Answer = confirm): Promise<Apps> {
  const { listener, ...apps } = receiver(answer);
  const server = await servePublic(listener);
  const stop = async (): Promise<void> => server[Symbol.asyncDispose]();
  return { ...apps, origin: server.at('told.apps.example'), [Symbol.asyncDispose]: stop };
}

export const confirm: Answer = (_path, response) => void response.writeHead(200).end();

export interface Node extends DeliverySender {
  readonly logger: ReturnType<typeof recordingLogger>;
  readonly outcomes: LogoutOutcome[];
  readonly events: object[];
}

/** A node that sends. */
export function startNode(
  t: ExecutionContext,
  storage: Storage,
  network: Parameters<typeof createPublicPost>[0] = { loopback: true },
): Node {
  const logger = recordingLogger();
  const outcomes: LogoutOutcome[] = [];
  const events: object[] = [];
  const logouts = logoutsOf(storage);
  const sender = createLogoutSender({
    audit: {
      record(event) {
        if (event.type !== 'logout_told') events.push(event);
        else outcomes.push(event);
      },
    },
    issuer: ISSUER,
    logger,
    ends: logoutReader(storage.ends, logouts),
    deliveries: logouts,
    post: createPublicPost(network, ANSWER_TIMEOUT),
    sign: async (claims, type) =>
      new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: 'k', typ: type }).sign(KEYS.privateKey),
    users: { find: async (id) => (id === 'ann' ? { id, name: 'Ann' } : undefined) },
  });
  t.teardown(sender.stop);
  return { ...sender, logger, outcomes, events };
}

/**
 * Signs Ann in at apps in one session, and out of all of them.
 *
 * @param options.fields - of the apps that are not stored yet
 */
export async function signOut(
  storage: Storage,
  { origin }: Pick<Apps, 'origin'>,
  paths: readonly string[],
  session = 's',
  { fields = {}, userId = 'ann' }: { fields?: Partial<Client>; userId?: string } = {},
): Promise<void> {
  const at = seconds();
  const sequence = Number.MAX_SAFE_INTEGER;
  const expiresAt = at + HOUR;
  const uid = `uid of ${session}`;
  await storage.sessions.insert(aSession({ id: session, uid, userId, expiresAt, sequence }));
  for (const path of paths) {
    const client = completeClient({ id: path, name: path, backchannelLogoutUri: origin + path, ...fields });
    if (!(await storage.clients.find(path))) await storage.clients.insert(client, []);
    const grant = {
      id: `${session} ${path}`,
      userId,
      clientId: path,
      scopes: [],
      createdAt: at,
      expiresAt,
    };
    await storage.grants.insert(
      { ...grant, revokedAt: undefined, sequence, origin: undefined, sessionUid: uid },
      {
        kind: 'code',
        id: `code ${grant.id}`,
        grantId: grant.id,
        payload: {},
        expiresAt,
        consumedAt: undefined,
        sealedSuccessor: undefined,
      },
    );
  }
  // As a server does before it takes requests.
  await storage.ends.read('openid', ['sign_in', 'grant', 'user', 'client', 'all'], at + 48 * HOUR);
  await storage.sessions.end(session);
}

const seconds = (): number => Math.floor(Date.now() / 1000);

/** What a node would take now. */
export async function takeDue(storage: Storage): ReturnType<LogoutStore['take']> {
  const now = seconds();
  const ends = await storage.ends.take('openid', { now, leasedUntil: now + 15, limit: 256 });
  const logouts = logoutsOf(storage);
  if (ends.length > 0) await logouts.add(ends);
  const except = { receiverIds: [], ownerIds: [], owned: false };
  const due = await logouts.listDue({ now, limit: 10, except });
  return logouts.take(
    'test',
    due.map(({ id }) => id),
    { now, leasedUntil: now + 15 },
  );
}
