import type { Middleware } from 'koa';
import Router from 'koa-router';
import { requireSameOrigin } from '../lib/http/headers.ts';
import { showExpectedError } from './error.ts';
import type { FeatureView } from './page.ts';
import type { RequestFor, Step } from './page-request.ts';

/**
 * The routes of pages and of the forms on them. Errors that users can cause are shown on a page; every other one is thrown. The
 * requests of a feature have the texts and the views of the feature too.
 */
export class PageRouter {
  readonly #router = new Router();
  readonly #requestFor: RequestFor;

  constructor(requestFor: RequestFor) {
    this.#requestFor = requestFor;
  }

  page<Key extends string = never, V extends FeatureView = never>(
    path: string | string[],
    step: Step<Key, V>,
  ): this {
    this.#router.get(path, this.#answer(step as Step));
    return this;
  }

  /** A posted form, which other sites cannot send. */
  form<Key extends string = never, V extends FeatureView = never>(path: string, given: Step<Key, V>): this {
    const step = given as Step;
    this.#router.post(
      path,
      this.#answer((request) => {
        requireSameOrigin(request.ctx, request.flow.origin);
        return step(request);
      }),
    );
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

  #answer(step: Step): Middleware {
    return async (ctx) => {
      try {
        await step(this.#requestFor(ctx));
      } catch (error) {
        showExpectedError(this.#requestFor(ctx), error);
      }
    };
  }
}
