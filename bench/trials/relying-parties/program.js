// What the programs share: each is an application at a port that signs users in at a discovery URL with an id and a secret. It answers
// /login, /refresh and /logout, as far as its library can, and /user with what it knows of the user.
import express from 'express';

const [, , issuer, clientId, clientSecret, port] = process.argv;

/** Its own origin, with another host name than the server, so that the two share no cookies. */
export const origin = `http://localhost:${port}`;
export const settings = {
  issuer,
  clientId,
  clientSecret,
  redirectUri: `${origin}/callback`,
  scope: 'openid profile email',
};

export function createApp() {
  return express();
}

/** Prints that the program listens. */
export function listen(app) {
  app.use((error, _request, response, _next) => {
    response.status(500).send(String(error.stack));
  });
  app.listen(port, '127.0.0.1', () => console.log('listening'));
}
