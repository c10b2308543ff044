import type { Client, InteractionFlow } from '../../lib/contracts/index.ts';
import { kindOf } from './form.ts';
import type { Connect } from './views.ts';

/** The addresses that an app needs, and a line to try it with. */
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

/** A word of a POSIX shell: a redirect URI may hold what a shell would act on. */
function quoted(word: string): string {
  return `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
