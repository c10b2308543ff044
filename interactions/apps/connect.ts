import type { Client, InteractionFlow } from '../../lib/contracts/index.ts';
import type { Connect } from './views.ts';

/** The URLs that an app needs, and a `curl` command to try it. */
export function connectOf(client: Client, { basePath, origin }: InteractionFlow): Connect {
  const issuer = origin + basePath;
  const tokenUrl = `${issuer}/oauth/token`;
  const isCode = client.grantType === 'authorization_code';
  const redirectUri = quoted(`redirect_uri=${client.redirectUris[0] ?? ''}`);
  const fields: Readonly<Record<Client['grantType'], readonly string[]>> = {
    client_credentials: ["-d 'grant_type=client_credentials'"],
    authorization_code: [
      "-d 'grant_type=authorization_code'",
      '-d code="$CODE"',
      `--data-urlencode ${redirectUri}`,
    ],
    device_code: [
      "-d 'grant_type=urn:ietf:params:oauth:grant-type:device_code'",
      '-d device_code="$DEVICE_CODE"',
    ],
  };
  const verifier = isCode ? ['-d code_verifier="$CODE_VERIFIER"'] : [];
  const proof = client.confidential
    ? client.keys
      ? [`-d ${quoted(`client_assertion_type=${ASSERTION_TYPE}`)}`, '-d client_assertion="$CLIENT_ASSERTION"']
      : ['-d client_secret="$CLIENT_SECRET"']
    : verifier;
  return {
    authorizeUrl: isCode ? `${issuer}/oauth/authorize` : undefined,
    deviceUrl: client.grantType === 'device_code' ? `${issuer}/oauth/device_authorization` : undefined,
    tokenUrl,
    curl: [
      `curl ${quoted(tokenUrl)}`,
      ...fields[client.grantType],
      `-d ${quoted(`client_id=${client.id}`)}`,
      ...proof,
    ].join(' \\\n  '),
  };
}

// RFC 7523 section 2.2.
const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

/** A quoted word of a POSIX shell, because a redirect URI may contain characters with a meaning in a shell. */
function quoted(word: string): string {
  return `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
