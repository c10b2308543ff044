import { aboutApp } from '../../../interactions/about-app.ts';
import { accessOf, nothingLeft } from '../../../interactions/access.ts';
import { endOfAccess, nameOfApi } from '../../../interactions/consent.ts';
import type { FieldProblem } from '../../../interactions/page.ts';
import type { PageRequest } from '../../../interactions/page-request.ts';
import { plain, printable, sentence } from '../../../interactions/sentence.ts';
import { displayName } from '../../../interactions/viewer.ts';
import { now } from '../../contracts/clock.ts';
import type { FeaturePages } from '../../../interactions/feature-pages.ts';
import { DEVICE_PAGE } from './page.ts';
import { de, en } from './texts.ts';
import type { DeviceText } from './texts.ts';
import type { DeviceFlow, DevicePage, DeviceProblem } from './types.ts';
import { views } from './views.ts';

/** The page on which users enter the code of a device (RFC 8628 section 3.3). */
export function devicePages(ask: DeviceFlow['page']): FeaturePages<DeviceText> {
  return {
    views,
    texts: { en, de },
    addRoutes(router) {
      const answers = [`${DEVICE_PAGE}/approve`, `${DEVICE_PAGE}/deny`];
      const all = [DEVICE_PAGE, ...answers];
      router.answered<DevicePage, DeviceText>({ get: all, post: all }, ask, showDevicePage);
    },
  };
}

type CodeRequest = PageRequest<DeviceText>;

function showDevicePage(request: CodeRequest, page: DevicePage): void {
  switch (page.kind) {
    case 'form':
      return showForm(request, page);
    case 'request':
      return showRequest(request, page);
    case 'done':
      return showEnd(request, page);
    default:
      return page satisfies never;
  }
}

/** Shows the form for the code. The user is asked to compare one of a link with that of the device. */
function showForm(
  request: CodeRequest,
  { action, entered, problems, retryAfter, status }: Extract<DevicePage, { kind: 'form' }>,
): void {
  const { flow, server, show, text } = request;
  const isFilledIn = entered !== '' && problems.length === 0;
  show({
    view: 'device/code',
    status,
    problems: problems.map((problem) => describeProblem(problem, retryAfter ?? 0, request)),
    heading: sentence(text['device.heading']),
    lead: sentence(text[isFilledIn ? 'device.leadFilledIn' : 'device.lead']),
    action,
    entered: printable(entered),
    // The form may be redirected to a login page of the host, which the CSP directive `form-action 'self'` would block.
    formsStayHere: new URL(flow.loginUrl(action), server.origin).origin === server.origin,
  });
}

function describeProblem(
  problem: DeviceProblem,
  retryAfter: number,
  { count, text }: CodeRequest,
): FieldProblem {
  switch (problem) {
    case 'code_missing':
      return { field: 'user_code', message: text['device.codeMissing'] };
    case 'code_unknown':
      return { field: 'user_code', message: text['device.codeUnknown'] };
    case 'too_many_attempts':
      return { message: plain(count('device.throttled', Math.ceil(retryAfter / 60))) };
    default:
      return problem satisfies never;
  }
}

/** Shows who asks, from where and for what. */
function showRequest(request: CodeRequest, page: Extract<DevicePage, { kind: 'request' }>): void {
  const { brand, count, server, show, text } = request;
  const { action, problems, request: found, status, user } = page;
  const { address, client, sameNetwork, requestedAt, resource, userAgent, userCode } = found;
  const minutes = Math.max(now() - requestedAt, 0) / 60;
  show({
    view: 'device/request',
    status,
    problems: problems.map(() => nothingLeft(found, request)),
    heading: sentence(text['device.requestHeading'], { client: client.name }),
    lead: sentence(text['device.requestLead'], { client: client.name, brand }),
    action,
    about: aboutApp(client, request),
    userCode,
    userId: user.id,
    user: displayName(user),
    logout: `${server.basePath}/oauth/logout`,
    ...accessOf(found, request),
    resource: nameOfApi(resource, request),
    notes: endOfAccess(found, request),
    address: printable(address),
    sameNetwork,
    userAgent: userAgent === undefined ? undefined : printable(userAgent),
    requested: minutes < 1 ? text['device.now'] : plain(count('device.ago', Math.round(minutes))),
  });
}

/** Shows the notice after an answer. */
function showEnd(
  { homePage, server, show, text }: CodeRequest,
  { answer }: Extract<DevicePage, { kind: 'done' }>,
): void {
  const { accountPath, basePath } = server;
  show({
    view: 'notice',
    heading: sentence(text[`device.${answer}Heading`]),
    lead: sentence(text[`device.${answer}Lead`]),
    details: [],
    next:
      answer === 'approved' && accountPath !== undefined
        ? [{ href: basePath + accountPath, label: text['page.authorizedApps'] }]
        : [homePage],
  });
}
