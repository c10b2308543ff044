import type { Client, InteractionFlow } from '../../lib/contracts/index.ts';
import { kindOf } from './form.ts';
import type { Connect } from './views.ts';

/** The URLs that an app needs, and a `curl` command to try it. */
export function connectOf(client: Client, { basePath, origin }: InteractionFlow): Connect {
  const issuer = origin + basePath;
  const tokenUrl = `${issuer}/oauth/token`;
  const kind = kindOf(client);
  const fields =
    kind === 'service'
      ? ["-d 'grant_type=client_credentials'"]
      : [
          "-d 'grant_type=authorization_code'",
          '-d code="$CODE"',
          `--data-urlencode ${quoted(`redirect_uri=${client.redirectUris[0] ?? ''}`)}`,
        ];
  const proof =
    kind === 'service' || kind === 'server'
      ? '-d client_secret="$CLIENT_SECRET"'
      : '-d code_verifier="$CODE_VERIFIER"';
  return {
    authorizeUrl: kind === 'service' ? undefined : `${issuer}/oauth/authorize`,
    tokenUrl,
    curl: [`curl ${quoted(tokenUrl)}`, ...fields, `-d ${quoted(`client_id=${client.id}`)}`, proof].join(
      ' \\\n  ',
    ),
  };
}

/** A quoted word of a POSIX shell, because a redirect URI may contain characters with a meaning in a shell. */
function quoted(word: string): string {
  return `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
