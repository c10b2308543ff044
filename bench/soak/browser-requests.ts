/** The requests of browsers: authorization with login and consent, and the page of the authorized apps. */
import { createHash, randomBytes } from 'node:crypto';

import { Cookies } from '../client/cookies.ts';
import { readForm } from '../client/form.ts';
import type { Request, Response } from './nodes.ts';
import type { Answer, Walk } from './operations.ts';
import { ISSUER, PASSWORD, REDIRECT_URI, userId } from './platform.ts';
import type { Code } from './token-requests.ts';
import type { Browser, RegisteredClient, World } from './world.ts';

const MOST_STEPS = 16;
const MOST_ATTEMPTS = 20;

/** Authorizes an app. Resolves to the code, if there is one; else the browser has lost its cookies. */
export async function authorize(
  world: World,
  browser: Browser,
  app: RegisteredClient,
): Promise<Code | undefined> {
  const { recorder } = world;
  const verifier = randomBytes(32).toString('base64url');
  const { session, user } = browser;
  const begun = recorder.begin(-1, { kind: 'authorization', user, client: app.number, session });
  const { answer, code } = await walk(world, browser, app, verifier);
  recorder.end(begun, answer);
  if (answer.walk?.session !== undefined) browser.session = answer.walk.session;
  if (code === undefined) leave(browser);
  return code === undefined ? undefined : { number: answer.walk!.code!, value: code, verifier, user, app };
}

/** Closes the browser's window: it has no session any more. */
export function leave(browser: Browser): void {
  browser.cookies = new Cookies();
  browser.session = undefined;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** Follows redirects and sends forms, each to another node, until the redirect to the app. */
async function walk(
  world: World,
  browser: Browser,
  app: RegisteredClient,
  verifier: string,
): Promise<{ answer: Answer; code?: string }> {
  const { recorder } = world;
  const state = randomBytes(9).toString('base64url');
  const done: Mutable<Walk> = { askedToLogIn: false, askedToConsent: false };
  let request = get(authorizationPath(app, verifier, state));
  let wasLost = false;
  for (let step = 0; step < MOST_STEPS; step += 1) {
    const at = recorder.now();
    const response = await send(world, browser, request);
    // What was not answered may have taken place, and then the next answer is an error page: nothing is known of that.
    if (!response && request.method === 'POST') return { answer: { status: 0, walk: done } };
    wasLost ||= !response;
    if (!response) continue;
    if (response.status >= 400) {
      return { answer: { status: wasLost ? 0 : response.status, walk: done } };
    }
    const { location } = response;
    if (location?.startsWith(REDIRECT_URI)) {
      const { searchParams } = new URL(location);
      const code = searchParams.get('code');
      const isForRequest = searchParams.get('state') === state && searchParams.get('iss') === ISSUER;
      if (code === null) {
        const error = searchParams.get('error') ?? 'none';
        return { answer: { status: wasLost ? 0 : 400, error, walk: done } };
      }
      Object.assign(done, { code: world.numberOf('code', code), requestedAt: at, isForRequest });
      return { answer: { status: response.status, walk: done }, code };
    }
    if (location !== undefined) {
      request = get(pathOf(location));
      continue;
    }
    const { action, fields } = readForm(response.text);
    if (action.endsWith('/login')) {
      Object.assign(fields, { login: userId(browser.user), password: PASSWORD });
      const session = world.newSession();
      Object.assign(done, { askedToLogIn: true, session, loggedInAt: recorder.now() });
    } else {
      done.askedToConsent = true;
    }
    request = post(pathOf(action), fields);
  }
  return { answer: { status: 0, walk: done } };
}

/** Disconnects an app on the page of the authorized apps, and repeats that while there is no answer. */
export async function disconnectApp(world: World, browser: Browser, app: RegisteredClient): Promise<void> {
  for (let attempt = 0; attempt < MOST_ATTEMPTS && browser.session !== undefined; attempt += 1) {
    const { session, user } = browser;
    const node = await world.nodes.pick();
    const subject = { kind: 'disconnect app' as const, user, client: app.number, session };
    const begun = world.recorder.begin(node.number, subject);
    const request = post(`/account/apps/${app.id}/revoke`, {});
    const response = await node.send(withCookies(request, browser));
    // A form that is sent without a session is not lost by a redirect.
    const askedToLogIn = response?.status === 403;
    const isDone = response?.location?.includes('done=client_revoked') ?? false;
    world.recorder.end(begun, {
      status: response?.status ?? 0,
      ...(askedToLogIn || isDone ? { walk: { askedToLogIn, askedToConsent: false } } : {}),
    });
    if (askedToLogIn) leave(browser);
    if (response && response.status !== 503) return;
  }
}

async function send(world: World, browser: Browser, request: Request): Promise<Response | undefined> {
  const node = await world.nodes.pick();
  const response = await node.send(withCookies(request, browser));
  browser.cookies.store(response?.setCookie);
  return response;
}

function withCookies(request: Request, { cookies }: Browser): Request {
  return { ...request, headers: { ...request.headers, ...cookies.headerFor(request.path) } };
}

function get(path: string): Request {
  return { method: 'GET', path, headers: { accept: 'text/html' } };
}

function post(path: string, fields: Record<string, string>): Request {
  return {
    method: 'POST',
    path,
    headers: {
      accept: 'text/html',
      'content-type': 'application/x-www-form-urlencoded',
      origin: ISSUER,
      'sec-fetch-site': 'same-origin',
    },
    body: String(new URLSearchParams(fields)),
  };
}

function authorizationPath({ id }: RegisteredClient, verifier: string, state: string): string {
  const parameters = new URLSearchParams({
    client_id: id,
    redirect_uri: REDIRECT_URI,
    response_type: 'code',
    state,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  });
  return `/oauth/authorize?${String(parameters)}`;
}

function pathOf(location: string): string {
  const { pathname, search } = new URL(location, ISSUER);
  return pathname + search;
}
