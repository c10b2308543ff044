// What each of the clients needs of its program: a callback, and an OAuth client provider in memory.
import { once } from 'node:events';
import { createServer } from 'node:http';

/** Starts the callback. `authorized()` resolves to the parameters of the redirect. */
export async function startProvider(name) {
  const listener = createServer().listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const redirectUrl = `http://127.0.0.1:${listener.address().port}/callback`;
  const redirected = once(listener, 'request');
  const stored = {};
  const provider = {
    redirectUrl,
    clientMetadata: {
      client_name: name,
      redirect_uris: [redirectUrl],
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
    },
    clientInformation: () => stored.client,
    saveClientInformation(client) {
      stored.client = client;
    },
    isClientInformationDynamicallyRegistered: () => true,
    tokens: () => stored.tokens,
    saveTokens(tokens) {
      stored.tokens = tokens;
    },
    redirectToAuthorization: (address) => console.log(`Authorize at ${address.href}`),
    saveCodeVerifier(verifier) {
      stored.verifier = verifier;
    },
    codeVerifier: () => stored.verifier,
  };
  async function authorized() {
    const [request, response] = await redirected;
    response.end('done');
    listener.close();
    return new URL(request.url, redirectUrl).searchParams;
  }
  return { provider, authorized, close: () => listener.close() };
}
