import type { PageRequest } from '../../../interactions/page-request.ts';
import { plain } from '../../../interactions/sentence.ts';
import type { FeaturePages } from '../../../interactions/feature-pages.ts';
import { discoveryUrl, signIn } from './connect.ts';
import { describeLogout } from './last-logout.ts';
import { OPENID } from './options.ts';
import { de, en } from './texts.ts';
import type { OpenIdText } from './texts.ts';
import type { LogoutStore } from './types.ts';

/** What the pages of apps say of logouts, and how apps sign users in. */
export function openIdPages(
  logouts: Pick<LogoutStore, 'findLatest' | 'listLatest'>,
): FeaturePages<OpenIdText> {
  return {
    views: {},
    texts: { en, de },
    facts: {
      async ofUser(request, { id }) {
        const latest = await logouts.listLatest(id);
        return new Map(
          latest.map((one) => [
            one.clientId,
            describeLogout(one, 'user', request as PageRequest<OpenIdText>),
          ]),
        );
      },
      async ofApp(request, { id }) {
        const latest = await logouts.findLatest(id);
        if (!latest) return undefined;
        const own = request as PageRequest<OpenIdText>;
        return { label: own.text['apps.lastLogout'], value: plain(describeLogout(latest, 'developer', own)) };
      },
      connect(
        request,
        { confidential, grantType, id: clientId, keys, redirectUris: [redirectUri = ''], scopes },
      ) {
        if (grantType !== 'authorization_code' || scopes?.includes(OPENID) === false) return undefined;
        const { brand, server, text } = request as PageRequest<OpenIdText>;
        const issuer = server.origin + server.basePath;
        return {
          label: text['apps.discoveryUrl'],
          url: discoveryUrl(issuer),
          ...(confidential &&
            !keys && {
              products: {
                heading: text['apps.signIn'],
                hint: text['apps.signInHint'],
                settings: signIn({ brand, issuer, clientId, redirectUri }),
              },
            }),
        };
      },
    },
  };
}
