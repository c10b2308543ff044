import { serve } from '../harness/serve.ts';

/** An app that people come back to. */
export interface ClientApp extends AsyncDisposable {
  readonly redirectUri: string;
  /** Where people end up. */
  readonly home: string;
  /** What it was called back with, in order. */
  readonly callbacks: readonly URLSearchParams[];
}

/**
 * Serves an app on an origin of its own, whose callback sends people on to a third one, as apps behind a sign-on service
 * do. Chromium applies the `form-action` of the page that a form was on to every redirect that follows.
 */
export async function startClientApp(): Promise<ClientApp> {
  const callbacks: URLSearchParams[] = [];
  const home = await serve(() => (_request, response) => {
    response.setHeader('Content-Type', 'text/html; charset=utf-8');
    response.end('<!doctype html><link rel="icon" href="data:,"><title>Home</title><h1>Welcome back</h1>');
  });
  // Another origin by its name, too.
  const homeUrl = `${home.origin.replace('127.0.0.1', 'localhost')}/home`;
  const client = await serve((origin) => (request, response) => {
    callbacks.push(new URL(request.url!, origin).searchParams);
    response.writeHead(302, { Location: homeUrl }).end();
  });
  return {
    redirectUri: `${client.origin}/callback`,
    home: homeUrl,
    callbacks,
    async [Symbol.asyncDispose]() {
      await client[Symbol.asyncDispose]();
      await home[Symbol.asyncDispose]();
    },
  };
}
