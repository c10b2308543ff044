import type { Context, Middleware } from 'koa';
import Router from 'koa-router';
import type { PageAnswer, PageRedirect, RefusedPage, LoggedOutPage } from '../lib/contracts/index.ts';
import { showRefusal } from './error.ts';
import type { PageRequest, RequestFor } from './page-request.ts';
import { askToLogInAgain } from './viewer.ts';

/** What a page shows. */
interface Shown {
  readonly kind: string;
  /** The languages that the app of an authorization asks for. */
  readonly uiLocales?: readonly string[] | undefined;
}

/** The routes of pages and of the forms on them. The requests of a feature have the texts and the views of the feature too. */
export class PageRouter {
  readonly #router = new Router();
  readonly #requestFor: RequestFor;

  constructor(requestFor: RequestFor) {
    this.#requestFor = requestFor;
  }

  /**
   * A page of the flow, which reads the request itself and is asked once for each: a request that is redirected needs no language.
   *
   * @param paths.get - paths of pages @param paths.post - paths that forms post to
   */
  answered<A extends Shown, Key extends string = never>(
    paths: { readonly get: string[]; readonly post: string[] },
    ask: (ctx: Context) => Promise<PageAnswer<A | LoggedOutPage>>,
    show: (request: PageRequest<Key>, shown: A) => Promise<void> | void,
  ): this {
    const answer: Middleware = async (ctx, next) => {
      const page = await ask(ctx);
      if (page === undefined) return next();
      if (isRedirect(page)) return ctx.redirect(page.url);
      if (isPrevented(page)) return showPrevented(this.#requestFor(ctx), page);
      return show(this.#requestFor(ctx, page.uiLocales) as PageRequest<Key>, page);
    };
    this.#router.get(paths.get, answer).post(paths.post, answer);
    return this;
  }

  /** A file that pages load. */
  file(path: string, serve: Middleware): this {
    this.#router.get(path, serve);
    return this;
  }

  routes(): Middleware {
    // The router's type requires a context with members that the router adds itself.
    return this.#router.routes() as Middleware;
  }
}

function isRedirect(page: { readonly kind: string }): page is PageRedirect {
  return page.kind === 'redirect';
}

function isPrevented(page: { readonly kind: string }): page is RefusedPage | LoggedOutPage {
  return page.kind === 'error' || page.kind === 'logged_out';
}

async function showPrevented(request: PageRequest, page: RefusedPage | LoggedOutPage): Promise<void> {
  return page.kind === 'error' ? showRefusal(request, page) : askToLogInAgain(request, page.loginUrl);
}
