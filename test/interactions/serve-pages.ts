import type { ExecutionContext } from 'ava';
import type { Context } from 'koa';
import { pages } from 'koa-gatehouse/interactions';
import type { PagesOptions } from 'koa-gatehouse/interactions';
import type { PageError } from '../../lib/contracts/index.ts';
import type { FakeFlow } from './fake-flow.ts';
import { serveApp } from '../harness/serve.ts';

/** A response. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly html: string;
  /** The text of the page without tags, with HTML entities. */
  readonly text: string;
}

/** Pages on their own server. */
export interface ServedPages {
  get(path: string, headers?: Record<string, string>): Promise<Answer>;
  /** Sends a form with the headers of the page itself. */
  post(
    path: string,
    form?: string | Record<string, string>,
    headers?: Record<string, string>,
  ): Promise<Answer>;
  /** Requests the error page. */
  fail(error: PageError): Promise<Answer>;
}

/** Serves the pages of a flow, before a host that answers all other requests with 404. */
export async function servePages(
  t: ExecutionContext,
  flow: FakeFlow,
  options: PagesOptions = { brand: { name: 'Acme' } },
): Promise<ServedPages> {
  const made = pages(options)(flow);
  let error: PageError | undefined;
  const origin = await serveApp(t, made.middleware, async (ctx: Context) => {
    if (ctx.path === '/error' && error) await made.error(ctx, error);
  });

  async function request(path: string, init: RequestInit = {}): Promise<Answer> {
    const response = await fetch(origin + path, { redirect: 'manual', ...init });
    const html = await response.text();
    const text = html.replaceAll(/<[^>]+>/g, '').replaceAll(/\s+/g, ' ');
    return { status: response.status, headers: response.headers, html, text };
  }

  return {
    get: async (path, headers = {}) => request(path, { headers }),
    post: async (path, form = {}, headers = {}) =>
      request(path, {
        method: 'POST',
        body: typeof form === 'string' ? form : new URLSearchParams(form),
        headers: { 'sec-fetch-site': 'same-origin', ...headers },
      }),
    fail: async (wanted) => {
      error = wanted;
      return request('/error');
    },
  };
}
