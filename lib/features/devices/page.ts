import type { Context } from 'koa';

import type { PageRedirect, User } from '../../contracts/index.ts';
import { InteractionExpiredError, TooManyAttemptsError } from '../../errors.ts';
import { readForm } from '../../http/form.ts';
import { queryParameter } from '../../http/query.ts';
import { redirectTo } from '../../login/answer-page.ts';
import type { AnswerPage } from '../../login/answer-page.ts';
import { checkedScopes, isNothingLeft } from '../../login/asked-scopes.ts';
import type { LoginSessions } from '../../login/login-session.ts';
import type { DeviceFlow, DevicePage, DeviceProblem, DeviceRequest } from './types.ts';

/** The path of the page, below the mount path. */
export const DEVICE_PAGE = '/oauth/device';

const PLACE = /^\/oauth\/device(?:\/(approve|deny))?\/?$/i;

/** What a path names: the page, or an answer to a request. */
type Place = 'code' | 'approve' | 'deny';

/** What the page needs. */
interface DevicePageParts {
  readonly answerPage: AnswerPage;
  readonly basePath: string;
  readonly devices: Pick<DeviceFlow, 'approve' | 'deny' | 'find'>;
  readonly sessions: Pick<LoginSessions, 'currentUser' | 'loginUrl'>;
}

type Answered = DevicePage | PageRedirect;

/**
 * Makes the page on which users enter the code of a device (RFC 8628 section 3.3).
 *
 * The code is looked for after the user has signed in, and only by a posted form: neither another site nor a link can guess codes in
 * the user's name. The code travels in the forms, so that no page has a URL that would authorize a device.
 */
export function createDevicePage({
  answerPage,
  basePath,
  devices,
  sessions,
}: DevicePageParts): DeviceFlow['page'] {
  const home = basePath + DEVICE_PAGE;

  return answerPage<Place, DevicePage>({
    placeOf({ path }) {
      const [at, answer = 'code'] = PLACE.exec(path) ?? [];
      return at === undefined ? undefined : (answer.toLowerCase() as Place);
    },
    async answer(ctx, place) {
      const isForm = ctx.method === 'POST';
      if (place === 'code') return isForm ? submitCode(ctx) : askForCode(ctx);
      // After a posted form, its URL is in the address bar; it may be opened again by a GET.
      return isForm ? answerDevice(ctx, place) : redirectTo(home);
    },
  });

  /** A code in the URL (`verification_uri_complete`, RFC 8628 section 3.3.1) is filled in. */
  function askForCode(ctx: Context): DevicePage {
    const done = queryParameter(ctx, 'done');
    if (done === 'approved' || done === 'denied') return { kind: 'done', status: 200, answer: done };
    return form(queryParameter(ctx, 'user_code').slice(0, LONGEST), []);
  }

  async function submitCode(ctx: Context): Promise<Answered> {
    const { user_code: typed = '' } = await readForm(ctx);
    const entered = typed.trim();
    if (entered === '') return form(entered, ['code_missing']);
    const user = await sessions.currentUser(ctx);
    if (user) return looking(async () => shown(user, await devices.find(ctx, user, entered), entered));
    const query = new URLSearchParams({ user_code: entered.slice(0, LONGEST) });
    return redirectTo(sessions.loginUrl(`${home}?${query.toString()}`));
  }

  /** @throws InteractionExpiredError when the signed-in user is not the one of the form: another one may have signed in since */
  async function answerDevice(ctx: Context, answer: 'approve' | 'deny'): Promise<Answered> {
    const posted = await readForm(ctx);
    const { user: asked, user_code: entered = '' } = posted;
    const user = await sessions.currentUser(ctx);
    if (!user || user.id !== asked) throw new InteractionExpiredError();
    const chosen = checkedScopes(posted);
    return looking(async () => {
      const found = await devices.find(ctx, user, entered);
      if (!found) return shown(user, found, entered);
      if (answer === 'deny') {
        const isDenied = await devices.deny(ctx, user, entered);
        return isDenied ? redirectTo(`${home}?done=denied`) : form(entered, ['code_unknown']);
      }
      if (isNothingLeft(found.scopes, chosen))
        return shown(user, withoutChecks(found), entered, 'nothing_granted');
      const isApproved = await devices.approve(ctx, user, entered, chosen);
      return isApproved ? redirectTo(`${home}?done=approved`) : form(entered, ['code_unknown']);
    });
  }

  /** After too many wrong codes, the form says so. */
  async function looking(look: () => Promise<Answered>): Promise<Answered> {
    try {
      return await look();
    } catch (error) {
      if (!(error instanceof TooManyAttemptsError)) throw error;
      return { ...form('', ['too_many_attempts']), status: 429, retryAfter: error.retryAfter };
    }
  }

  function shown(
    user: User,
    request: DeviceRequest | undefined,
    entered: string,
    ...problems: readonly 'nothing_granted'[]
  ): DevicePage {
    if (!request) return form(entered, ['code_unknown']);
    const status = problems.length > 0 ? 422 : 200;
    return { kind: 'request', status, action: home, user, request, problems };
  }

  function form(entered: string, problems: readonly DeviceProblem[]): Extract<DevicePage, { kind: 'form' }> {
    const status = problems.length > 0 ? 422 : 200;
    return { kind: 'form', status, action: home, entered, problems, retryAfter: undefined };
  }
}

const LONGEST = 20;

function withoutChecks(request: DeviceRequest): DeviceRequest {
  return { ...request, scopes: request.scopes?.map((scope) => ({ ...scope, checked: false })) };
}
