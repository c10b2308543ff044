/**
 * A command line that signs in with the device authorization grant (RFC 8628): it shows an address and a code, waits until its user
 * has entered the code there, and calls the API. It needs no browser, no redirect URI and no secret.
 *
 * Register it once, and start it with the issuer and its client id:
 *
 *     npx gatehouse client create --name "School CLI" --grant-type device_code --public
 *     node device.ts https://platform.example CLIENT_ID
 */
import { setTimeout as wait } from 'node:timers/promises';

/** The responses that are used here, of all endpoints. */
interface Answer {
  readonly device_authorization_endpoint: string;
  readonly token_endpoint: string;
  readonly device_code: string;
  readonly user_code: string;
  readonly verification_uri: string;
  readonly expires_in: number;
  readonly interval: number;
  readonly access_token: string;
  readonly error?: string;
  readonly error_description?: string;
  readonly data: { readonly name: string };
}

/** Signs a user in. Resolves to the access token. @param print - shows a line to the user */
export async function signIn(
  issuer: string,
  clientId: string,
  print: (line: string) => void,
): Promise<string> {
  // RFC 8414 section 3.1: the path of the issuer comes after the well-known one.
  const { origin, pathname } = new URL(issuer);
  const metadata = `${origin}/.well-known/oauth-authorization-server${pathname.replace(/\/$/, '')}`;
  const server = await fetchJson(metadata);

  const device = await post(server.device_authorization_endpoint, { client_id: clientId });
  if (device.error !== undefined) throw new Error(device.error_description ?? device.error);
  print(`Open ${device.verification_uri} and enter the code ${device.user_code}`);

  let { interval } = device;
  const end = Date.now() + device.expires_in * 1000;
  while (Date.now() < end) {
    await wait(interval * 1000);
    const answer = await post(server.token_endpoint, {
      grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
      client_id: clientId,
      device_code: device.device_code,
    });
    if (answer.error === undefined) return answer.access_token;
    // RFC 8628 section 3.5: wait, or wait longer. Every other error is the end.
    if (answer.error === 'slow_down') interval += 5;
    else if (answer.error !== 'authorization_pending')
      throw new Error(answer.error_description ?? answer.error);
  }
  throw new Error('The code has expired.');
}

/** The name of the user whom an access token acts for. */
export async function nameOf(issuer: string, accessToken: string): Promise<string> {
  const headers = { authorization: `Bearer ${accessToken}` };
  const { data } = await fetchJson(`${issuer}/api/v1/identity`, { headers });
  return data.name;
}

async function post(url: string, parameters: Readonly<Record<string, string>>): Promise<Answer> {
  return fetchJson(url, { method: 'POST', body: new URLSearchParams(parameters) });
}

async function fetchJson(url: string, init: RequestInit = {}): Promise<Answer> {
  const response = await fetch(url, init);
  return (await response.json()) as Answer;
}

if (process.argv[1] === import.meta.filename) {
  const [issuer = 'http://localhost:3000', clientId] = process.argv.slice(2);
  if (clientId === undefined) {
    console.error('Usage: node device.ts ISSUER CLIENT_ID');
    process.exit(2);
  }
  const token = await signIn(issuer, clientId, (line) => console.log(line));
  console.log(`You are signed in as ${await nameOf(issuer, token)}.`);
}
