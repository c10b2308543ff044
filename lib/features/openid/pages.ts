import { linkToSignIn } from '../../../interactions/login.ts';
import { confirmLogout, endSession, notify } from '../../../interactions/logout.ts';
import type { Notice } from '../../../interactions/logout.ts';
import { destination, seeOther } from '../../../interactions/navigation.ts';
import type { Link } from '../../../interactions/navigation.ts';
import type { PageRequest, Step } from '../../../interactions/page-request.ts';
import { plain, sentence } from '../../../interactions/sentence.ts';
import { nameOfApp } from '../../../interactions/unregistered.ts';
import { displayName } from '../../../interactions/viewer.ts';
import type { FeaturePages } from '../../../interactions/feature-pages.ts';
import { discoveryUrl, signIn } from './connect.ts';
import { describeLogout } from './last-logout.ts';
import { OPENID } from './options.ts';
import { de, en } from './texts.ts';
import type { OpenIdText } from './texts.ts';
import type { LogoutRequest, LogoutStore, OpenIdFlow } from './types.ts';

const PATH = '/oauth/logout';

/** The logout that an app asks for, and what the pages of apps say of it. */
export function openIdPages({
  logoutRequest,
  logouts,
}: OpenIdFlow & {
  readonly logouts: Pick<LogoutStore, 'findLatest' | 'listLatest'>;
}): FeaturePages<OpenIdText> {
  return {
    views: {},
    texts: { en, de },
    addRoutes(router) {
      // The user who posts the form has seen which app asks for it, and has pressed the button.
      router
        .page(PATH, withLogoutRequest(logoutRequest, askForLogout))
        .form(PATH, withLogoutRequest(logoutRequest, signOut));
    },
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
        const { flow, text } = request as PageRequest<OpenIdText>;
        const issuer = flow.origin + flow.basePath;
        return {
          label: text['apps.discoveryUrl'],
          url: discoveryUrl(issuer),
          settings: confidential && !keys ? signIn({ issuer, clientId, redirectUri }) : [],
          heading: text['apps.signIn'],
          hint: text['apps.signInHint'],
        };
      },
    },
  };
}

type AskedStep = (request: PageRequest<OpenIdText>, asked: LogoutRequest | undefined) => Promise<void>;

function withLogoutRequest(logoutRequest: OpenIdFlow['logoutRequest'], step: AskedStep): Step<OpenIdText> {
  return async (request) => step(request, await logoutRequest(request.ctx));
}

/**
 * Asks for confirmation of the logout, or shows that no user is signed in. When an app asks for the logout of this session (OpenID Connect
 * RP-Initiated Logout 1.0), the user is signed out at once.
 */
async function askForLogout(
  request: PageRequest<OpenIdText>,
  asked: LogoutRequest | undefined,
): Promise<void> {
  const { ctx, flow, homePage, text } = request;
  if (asked?.isOfSession) return signOut(request, asked);
  const user = await flow.userToSignOut(ctx);
  if (!user) return leave(request, asked, 'logout.notSignedIn', [linkToSignIn(request), homePage]);
  const { client, mayReturn = false, next } = asked ?? {};
  const names = { user: displayName(user), client: client ? nameOfApp(client, text) : '' };
  return confirmLogout(request, user, {
    ...(client && { lead: sentence(text['logout.leadOfApp'], names) }),
    destination: mayReturn ? destination(next!, text) : undefined,
    query: asked ? ctx.search : '',
  });
}

/** Signs the user out, and returns to the app that has asked for it. */
async function signOut(request: PageRequest<OpenIdText>, asked: LogoutRequest | undefined): Promise<void> {
  const { links, notice } = await endSession(request);
  leave(request, asked, notice, links);
}

/** Goes on to the app if that {@link LogoutRequest.mayReturn}; else shows a notice with a link that names where it leads. */
function leave(
  request: PageRequest<OpenIdText>,
  asked: LogoutRequest | undefined,
  notice: Notice,
  links: readonly Link[],
): void {
  const { ctx, text } = request;
  const { mayReturn, next } = asked ?? {};
  if (next === undefined) return notify(request, notice, links);
  if (mayReturn) return seeOther(ctx, next);
  const label = plain(sentence(text['logout.continue'], { name: destination(next, text) }));
  return notify(request, notice, [{ href: next, label }, ...links]);
}
