import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';

import { servePublic } from '../../harness/public-server.ts';
import { serve } from '../../harness/serve.ts';

/** A client app at its own origin. */
export interface ClientApp extends AsyncDisposable {
  /** On a host that no other program on the user's device can take. */
  readonly redirectUri: string;
  /** The page after the callback. */
  readonly home: string;
  /** The parameters of its callbacks, in order. */
  readonly callbacks: readonly URLSearchParams[];
}

/**
 * Serves a client app at its own origin, whose callback redirects to a third origin, as apps behind a sign-on service do.
 * Chromium applies a page's `form-action` to all redirects after its form.
 */
export async function startClientApp(): Promise<ClientApp> {
  const callbacks: URLSearchParams[] = [];
  const home = await serve(() => (_request, response) => {
    response.setHeader('Content-Type', 'text/html; charset=utf-8');
    response.end('<!doctype html><link rel="icon" href="data:,"><title>Home</title><h1>Welcome back</h1>');
  });
  // Another host name makes it another origin.
  const homeUrl = `${home.origin.replace('127.0.0.1', 'localhost')}/home`;
  async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const posted = request.method === 'POST' ? new URLSearchParams(await text(request)) : undefined;
    callbacks.push(posted ?? new URL(request.url!, homeUrl).searchParams);
    response.writeHead(302, { Location: homeUrl }).end();
  }
  const client = await servePublic((request, response) => void receive(request, response));
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
