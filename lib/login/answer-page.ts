import type { Context } from 'koa';

import type { PageAnswer, PageRedirect, RefusedPage, User } from '../contracts/index.ts';
import { BodyError, GatehouseError, InteractionExpiredError, TooManyAttemptsError } from '../errors.ts';
import { requireSameOrigin } from '../http/headers.ts';
import { requestIdOf } from '../http/request.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';
import { refusalReason } from './origin-mistakes.ts';

/** What a page of the flow is made of. */
export interface AnsweredPage<Place, Page, Given> {
  /** What a request names. `undefined`: it is for another page. */
  placeOf(this: void, ctx: Context, given: Given | undefined): Place | undefined;
  /** Resolves to `undefined` for a request that is for another page nevertheless. */
  answer(
    this: void,
    ctx: Context,
    place: Place,
    given: Given,
  ): Promise<Page | PageRedirect | RefusedPage | undefined>;
}

/** The {@link AnsweredPage.placeOf} of a page with one path. */
export function at(own: string): (ctx: Context) => true | undefined {
  return ({ path }) => path.toLowerCase().replace(/\/$/, '') === own || undefined;
}

/** The text of a part of a path, which may be of any form. */
export function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function redirectTo(url: string): PageRedirect {
  return { kind: 'redirect', url };
}

/** What each page that is shown says of its response. */
export interface ShownPage {
  readonly status: number;
  readonly retryAfter?: number | undefined;
}

/** Makes a page into the function that is called with each request; `InteractionFlow` says what all of these do. */
export type AnswerPage = <Place, Page extends ShownPage, Given = undefined>(
  page: AnsweredPage<Place, Page, Given>,
) => (ctx: Context, given?: Given) => Promise<PageAnswer<Page>>;

const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST']);

/** The options of what is logged of a refusal. */
type RefusalOptions = Pick<ResolvedOptions, 'logger' | 'origin'>;

export function createAnswerPage(options: RefusalOptions): AnswerPage {
  return ({ answer, placeOf }) =>
    async function answerPage(ctx, given) {
      const place = METHODS.has(ctx.method) ? placeOf(ctx, given) : undefined;
      if (place === undefined) return undefined;
      let page;
      try {
        if (ctx.method === 'POST') requireSameOrigin(ctx, options.origin);
        page = await answer(ctx, place, given!);
      } catch (error) {
        page = refusedPage(ctx, error, options);
      }
      if (page) setResponse(ctx, page);
      return page;
    };
}

function setResponse(ctx: Context, page: ShownPage | PageRedirect | RefusedPage): void {
  ctx.set('Cache-Control', 'no-store');
  ctx.status = 'url' in page ? 303 : page.status;
  const says = 'cause' in page ? page.cause : page;
  if ('retryAfter' in says && says.retryAfter !== undefined) ctx.set('Retry-After', String(says.retryAfter));
}

/**
 * The page for an error that the request has caused, which is written to the log. Throws every other error again.
 *
 * @param user - the signed-in user, of a page that only signed-in users have
 */
export function refusedPage(
  ctx: Context,
  cause: unknown,
  options: RefusalOptions & { readonly user?: User },
): RefusedPage {
  if (!(cause instanceof GatehouseError)) throw cause;
  // No memory for a body at the moment is no failure.
  if (cause.status >= 500 && !(cause instanceof BodyError)) throw cause;
  const { message: description, status } = cause;
  const reference = logRefusal(ctx, cause, options);
  return { kind: 'error', status, error: errorOf(cause), description, reference, user: options.user, cause };
}

/**
 * Writes to the log that a page has refused a request. Of an error that is not of this server, such as of a body parser, it takes the status
 * alone: the message may repeat what was sent.
 *
 * @returns the id of the request, by which the page can name the line
 */
export function logRefusal(
  ctx: Context,
  error: GatehouseError | { readonly status: number; readonly code?: undefined },
  { logger, origin }: RefusalOptions,
): string {
  const { code, status } = error;
  const reference = requestIdOf(ctx);
  const why = code === undefined ? {} : { error: code, reason: refusalReason(ctx, error, origin) };
  logger.info({ request_id: reference, outcome: 'refused', status, ...why }, 'page refused');
  return reference;
}

function errorOf(cause: GatehouseError): string {
  if (cause instanceof InteractionExpiredError) return 'interaction_expired';
  if (cause.code === 'ERR_LOGIN_REFUSED') return 'login_refused';
  return cause instanceof TooManyAttemptsError ? 'too_many_attempts' : 'invalid_request';
}
