import { aboutApp } from '../../../interactions/about-app.ts';
import { checkedBoxes, accessOf, isNothingLeft, nothingLeft } from '../../../interactions/access.ts';
import { queryText, seeOther, withQuery } from '../../../interactions/navigation.ts';
import type { AboutApp, Access, FieldProblem } from '../../../interactions/page.ts';
import type { PageRequest, Step } from '../../../interactions/page-request.ts';
import { plain, printable, sentence } from '../../../interactions/sentence.ts';
import { displayName } from '../../../interactions/viewer.ts';
import { now } from '../../contracts/clock.ts';
import type { User } from '../../contracts/index.ts';
import { InteractionExpiredError, TooManyAttemptsError } from '../../errors.ts';
import { readForm } from '../../http/form.ts';
import type { FeaturePages } from '../../../interactions/feature-pages.ts';
import { de, en } from './texts.ts';
import type { DeviceText } from './texts.ts';
import type { DeviceFlow, DeviceRequest } from './types.ts';
import { views } from './views.ts';

const PATH = '/oauth/device';

/**
 * The page on which users enter the code of a device (RFC 8628 section 3.3).
 *
 * The code is looked for after the user has signed in, and only by a posted form: neither another site nor a link can guess codes in
 * the user's name. The code travels in the forms, so that no page has a URL that would authorize a device.
 */
export function devicePages(devices: DeviceFlow): FeaturePages<DeviceText> {
  return {
    views,
    texts: { en, de },
    addRoutes(router, basePath) {
      const home = basePath + PATH;
      const run =
        (step: (request: CodeRequest) => Promise<void>): Step<DeviceText, DeviceView> =>
        async (request) =>
          step({ ...request, devices, home });
      router
        .page(PATH, run(askForCode))
        .form(PATH, run(submitCode))
        .form(`${PATH}/approve`, run(approve))
        .form(`${PATH}/deny`, run(deny))
        // After a posted form, its URL is in the address bar; it may be opened again by a GET.
        .page([`${PATH}/approve`, `${PATH}/deny`], ({ ctx }) => seeOther(ctx, home));
    },
  };
}

/** The data of the views. */
export type DeviceView =
  /** The form for the code of a device. `entered`: the code in the field, which may be one of a link. */
  | { readonly view: 'device/code'; readonly action: string; readonly entered: string }
  /** What a device asks for, with the forms that post to `/approve` and `/deny`. */
  | (Access & {
      readonly view: 'device/request';
      readonly action: string;
      readonly about: AboutApp | undefined;
      /** The code as the device shows it. It is a hidden field of both forms, as the id of the user is. */
      readonly userCode: string;
      readonly userId: string;
      readonly user: string;
      readonly signOut: string;
      /** The name of the API that the app asks for; `undefined` for the default one. */
      readonly resource: string | undefined;
      /** The IP address that the device's request came from, and whether it is in the network of this browser. */
      readonly address: string;
      readonly isSameNetwork: boolean;
      /** What the device's program says that it is. */
      readonly userAgent: string | undefined;
      /** When the device asked, in words. */
      readonly requested: string;
    });

interface CodeRequest extends PageRequest<DeviceText, DeviceView> {
  readonly devices: DeviceFlow;
  /** URL path of the page. */
  readonly home: string;
}

/**
 * Shows the form for the code, or the notice after an answer. A code in the URL (`verification_uri_complete`, RFC 8628 section 3.3.1)
 * is filled in, and the user is asked to compare it with that of the device.
 */
async function askForCode(request: CodeRequest): Promise<void> {
  const { ctx, flow, homePage, show, text } = request;
  const done = queryText(ctx, 'done');
  if (done !== 'approved' && done !== 'denied') {
    return showForm(request, { entered: queryText(ctx, 'user_code').slice(0, 20) });
  }
  return show({
    view: 'notice',
    heading: sentence(text[`device.${done}Heading`]),
    lead: sentence(text[`device.${done}Lead`]),
    details: [],
    next:
      done === 'approved' && flow.accountPath !== undefined
        ? [{ href: flow.basePath + flow.accountPath, label: text['page.authorizedApps'] }]
        : [homePage],
  });
}

/** Shows what the device asks for, or the form again with 422. A user who is not signed in is sent to the login page first. */
async function submitCode(request: CodeRequest): Promise<void> {
  const { ctx, flow, home, text } = request;
  const entered = printable((await readForm(ctx))['user_code'] ?? '').trim();
  if (entered === '') return showProblem(request, entered, text['device.codeMissing']);
  const user = await flow.currentUser(ctx);
  if (!user) return seeOther(ctx, flow.loginUrl(withQuery(home, { user_code: entered.slice(0, 20) })));
  return lookingFor(request, entered, async (found) => {
    showRequest(request, user, found, { status: 200, isChecked: true, problems: [] });
  });
}

async function approve(request: CodeRequest): Promise<void> {
  const { ctx, devices, home } = request;
  const posted = await readForm(ctx);
  const { entered, user } = await answererOf(request, posted);
  const checked = checkedBoxes(posted);
  return lookingFor(request, entered, async (found) => {
    if (isNothingLeft(found.scopes, checked)) {
      const problems = [nothingLeft(request)];
      return showRequest(request, user, found, { status: 422, isChecked: false, problems });
    }
    return (await devices.approve(ctx, user, entered, checked))
      ? seeOther(ctx, `${home}?done=approved`)
      : showUnknown(request, entered);
  });
}

async function deny(request: CodeRequest): Promise<void> {
  const { ctx, devices, home } = request;
  const { entered, user } = await answererOf(request, await readForm(ctx));
  return lookingFor(request, entered, async () =>
    (await devices.deny(ctx, user, entered))
      ? seeOther(ctx, `${home}?done=denied`)
      : showUnknown(request, entered),
  );
}

/** Finds the request with a code. Without one, and after too many wrong codes, shows the form with the problem. */
async function lookingFor(
  request: CodeRequest,
  entered: string,
  next: (found: DeviceRequest) => Promise<void> | void,
): Promise<void> {
  const { count, ctx, devices, flow } = request;
  const user = await flow.currentUser(ctx);
  try {
    const found = user && (await devices.find(ctx, user, entered));
    await (found ? next(found) : showUnknown(request, entered));
  } catch (error) {
    if (!(error instanceof TooManyAttemptsError)) throw error;
    ctx.set('Retry-After', String(error.retryAfter));
    const message = plain(count('device.throttled', Math.ceil(error.retryAfter / 60)));
    await showForm(request, { entered: '', status: 429, problems: [{ message }] });
  }
}

/**
 * The user who answers, and the code. The form was made for one user; in another tab, another one may have signed in since.
 *
 * @throws InteractionExpiredError when the signed-in user is not the one of the form
 */
async function answererOf(
  { ctx, flow }: CodeRequest,
  { user: asked, user_code: entered = '' }: Readonly<Record<string, string>>,
): Promise<{ readonly user: User; readonly entered: string }> {
  const user = await flow.currentUser(ctx);
  if (!user || user.id !== asked) throw new InteractionExpiredError();
  return { user, entered };
}

/** The page of the form, with a code that is not open. */
async function showUnknown(request: CodeRequest, entered: string): Promise<void> {
  return showProblem(request, entered, request.text['device.codeUnknown']);
}

async function showProblem(request: CodeRequest, entered: string, message: string): Promise<void> {
  return showForm(request, { entered, status: 422, problems: [{ field: 'user_code', message }] });
}

async function showForm(
  { flow, home, show, text }: CodeRequest,
  page: { entered: string; status?: number; problems?: readonly FieldProblem[] },
): Promise<void> {
  const isFilledIn = page.entered !== '' && page.problems === undefined;
  show({
    view: 'device/code',
    heading: sentence(text['device.heading']),
    lead: sentence(text[isFilledIn ? 'device.leadFilledIn' : 'device.lead']),
    action: home,
    // The form may be redirected to a login page of the host, which the CSP directive `form-action 'self'` would block.
    formsStayHere: new URL(flow.loginUrl(home), flow.origin).origin === flow.origin,
    ...page,
  });
}

/** Shows who asks, from where and for what. The two buttons look alike: neither answer is proposed. */
function showRequest(
  request: CodeRequest,
  user: User,
  found: DeviceRequest,
  page: { status: number; isChecked: boolean; problems: readonly FieldProblem[] },
): void {
  const { brand, count, flow, home, show, text } = request;
  const { address, client, isSameNetwork, requestedAt, resource, userAgent, userCode } = found;
  const { isChecked, problems, status } = page;
  const minutes = Math.max(now() - requestedAt, 0) / 60;
  show({
    view: 'device/request',
    status,
    problems,
    heading: sentence(text['device.requestHeading'], { client: client.name }),
    lead: sentence(text['device.requestLead'], { client: client.name, brand }),
    action: home,
    about: aboutApp(client, request),
    userCode,
    userId: user.id,
    user: displayName(user),
    signOut: `${flow.basePath}/oauth/logout`,
    ...accessOf(found, request, isChecked),
    resource: resource?.name,
    address: printable(address),
    isSameNetwork,
    userAgent: userAgent === undefined ? undefined : printable(userAgent),
    requested: minutes < 1 ? text['device.now'] : plain(count('device.ago', Math.round(minutes))),
  });
}
