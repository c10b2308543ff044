import type { Context, Next } from 'koa';
import type { FlowParts } from '../lib/contracts/bundled-pages.ts';
import type { Client, InteractionFlow } from '../lib/contracts/index.ts';
import { setAssetHeaders } from '../lib/http/headers.ts';
import type { AboutApp } from './page.ts';
import type { PageRequest } from './page-request.ts';
import { plain, sentence } from './sentence.ts';

/*
 * What pages show of an app besides its name. The logo and a link are shown where the platform vouches for them; of any other homepage
 * users see the host, and that it was not verified: a developer can choose the picture of another app, and the homepage too.
 */

/** `undefined`: there is nothing to show, as of an app that nobody registered. */
export function aboutApp(
  client: Client,
  { brand, server, text }: Pick<PageRequest, 'brand' | 'server' | 'text'>,
): AboutApp | undefined {
  const { clientUri } = client;
  const isVerified = client.verified || client.firstParty;
  if (!isVerified && clientUri === undefined) return undefined;
  return {
    logo: isVerified ? logoUrl(client, server) : undefined,
    host: clientUri === undefined ? undefined : URL.parse(clientUri)?.host,
    homepage: isVerified ? clientUri : undefined,
    whoseWord: plain(sentence(text[isVerified ? 'app.verified' : 'app.notVerified'], { brand })),
  };
}

const PATH = '/oauth/logos';

/** The URL of an app's logo, which changes with the picture. */
export function logoUrl(
  { id, logoHash }: Pick<Client, 'id' | 'logoHash'>,
  { basePath }: Pick<FlowParts, 'basePath'>,
): string | undefined {
  return logoHash && `${basePath}${PATH}/${encodeURIComponent(id)}/${logoHash}`;
}

/** The route of {@link serveLogo}. */
export const LOGO_ROUTE = `${PATH}/:id/:hash`;

/** Serves the logo of an app from this server: the app's own would learn who is about to authorize it. */
export function serveLogo({
  logo,
}: Pick<InteractionFlow, 'logo'>): (ctx: Context, next: Next) => Promise<void> {
  return async function serve(ctx, next) {
    const found = await logo(ctx);
    if (!found) {
      await next();
      return;
    }
    setAssetHeaders(ctx, true);
    ctx.type = found.type;
    ctx.body = Buffer.from(found.picture);
  };
}
