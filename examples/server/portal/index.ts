/**
 * The Partner portal: a third-party app that shows users their schools.
 *
 * It runs in the process of the platform only so that one command starts both. It knows the platform's base URL and its own
 * client id and secret, and calls the platform over HTTP. It uses no client library, so that every step can be read here.
 */
import Router from 'koa-router';

import type { DocumentsState } from '../documents/index.ts';
import { COMMAND_WITH_OPTIONS } from '../program.ts';
import type { Render } from '../views.ts';
import { finishConnecting, refresh, startConnecting } from './connection.ts';
import type { CredentialsFile } from './credentials.ts';
import { readOverview } from './overview.ts';
import { PlatformError, readLetter, revokeTokens } from './platform.ts';
import type { Registration } from './platform.ts';
import { sameOrigin } from './same-origin.ts';
import { Sessions } from './session.ts';

export interface PortalOptions {
  /** The platform's base URL. */
  readonly baseUrl: string;
  readonly credentials: CredentialsFile;
  readonly render: Render;
  /** The routes of the documents. */
  readonly documents: Router<PortalState>;
}

/** The `ctx.state` of its routes. */
export interface PortalState extends DocumentsState {
  registration: Registration;
}

/** Makes the portal's routes, below `/portal`. */
export function createPortal({
  baseUrl,
  credentials,
  render,
  documents,
}: PortalOptions): Router<PortalState> {
  const router = new Router<PortalState>({ prefix: '/portal' });
  const home = `${baseUrl}/portal`;

  router.use(async (ctx, next) => {
    ctx.set('Cache-Control', 'no-store');
    // Read each time, so that new credentials work without a restart.
    const known = await credentials.read();
    if (!known) {
      ctx.status = 503;
      render(ctx, 'portal-closed', { title: 'Partner portal', command: COMMAND_WITH_OPTIONS });
      return;
    }
    const { clientId, clientSecret, cookieKey } = known;
    ctx.state.registration = { baseUrl, clientId, clientSecret, redirectUri: `${home}/callback` };
    ctx.state.sessions = new Sessions(cookieKey, baseUrl.startsWith('https:'));
    await next();
  });

  router.get('/', async (ctx) => {
    const { registration, sessions } = ctx.state;
    const { notice, ...session } = sessions.read(ctx);
    if (notice) sessions.write(ctx, session);
    const overview = session.tokens && (await readOverview(registration, session.tokens));
    render(ctx, 'portal', {
      title: 'Partner portal',
      baseUrl,
      connected: overview !== undefined,
      notice,
      overview,
      tokens: session.tokens,
      formatTime,
    });
  });

  router.get('/connect', (ctx) => {
    const { registration, sessions } = ctx.state;
    const { url, session } = startConnecting(registration, sessions.read(ctx));
    sessions.write(ctx, session);
    ctx.redirect(url);
  });

  router.get('/callback', async (ctx) => {
    const { registration, sessions } = ctx.state;
    const answer = new URLSearchParams(ctx.querystring);
    sessions.write(ctx, await finishConnecting(registration, sessions.read(ctx), answer));
    ctx.redirect(home);
  });

  router.post('/refresh', sameOrigin(baseUrl), async (ctx) => {
    const { registration, sessions } = ctx.state;
    sessions.write(ctx, await refresh(registration, sessions.read(ctx)));
    ctx.status = 303;
    ctx.redirect(home);
  });

  router.post('/disconnect', sameOrigin(baseUrl), async (ctx) => {
    const { registration, sessions } = ctx.state;
    const { tokens, pending } = sessions.read(ctx);
    // The portal deletes the tokens also if the revocation request fails.
    if (tokens) await revokeTokens(registration, tokens).catch(() => undefined);
    sessions.write(ctx, {
      pending,
      notice: { kind: 'success', text: 'Disconnected. The portal has deleted its tokens.' },
    });
    ctx.status = 303;
    ctx.redirect(home);
  });

  router.get('/schools/:id/letter', async (ctx) => {
    const { registration, sessions } = ctx.state;
    const session = sessions.read(ctx);
    try {
      if (!session.tokens) throw new PlatformError('Connect your account first to read letters here.', 401);
      const id = ctx.params['id']!;
      const letter = await readLetter(registration, id, session.tokens.accessToken);
      ctx.attachment('enrolment-letter.pdf', { type: 'inline' });
      ctx.set('X-Content-Type-Options', 'nosniff');
      ctx.body = letter;
    } catch (error) {
      if (!(error instanceof PlatformError)) throw error;
      sessions.write(ctx, { ...session, notice: { kind: 'problem', text: error.message } });
      ctx.redirect(home);
    }
  });

  router.use(documents.routes());

  return router;
}

const TIME = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium', timeZone: 'UTC' });

function formatTime(time: number): string {
  return `${TIME.format(time)} UTC`;
}
