import type { Context } from 'koa';

import type { FeaturePages } from '../../../interactions/feature-pages.ts';
import type { FeaturePage } from '../../../interactions/page.ts';
import { askToConfirm } from '../../../interactions/page-request.ts';
import type { PageRequest } from '../../../interactions/page-request.ts';
import { sentence } from '../../../interactions/sentence.ts';
import { titleOfApp } from '../../../interactions/unregistered.ts';
import { describeViewer } from '../../../interactions/viewer.ts';
import type { User } from '../../contracts/index.ts';
import { PermissionMissingError } from '../../errors.ts';
import { createDeveloperPage, pathsOf } from './page.ts';
import type { DeveloperPage, DeveloperPageParts } from './page.ts';
import type { ConfirmPage } from './page/request.ts';
import { showActivity } from './pages/activity.ts';
import { showCreated, showList, showNewApp } from './pages/apps.ts';
import { showKeys, showNewSecret, showSecrets } from './pages/credentials.ts';
import { showOverview } from './pages/overview.ts';
import { showPermissions } from './pages/permissions.ts';
import { nameOfArea } from './pages/request.ts';
import type { Shown } from './pages/request.ts';
import { showSettings } from './pages/settings.ts';
import { de, en } from './texts.ts';
import type { DeveloperText } from './texts.ts';
import type { Developer } from './types.ts';
import { views } from './views.ts';

/** The pages on which users register and manage their apps. */
export function developerPages(parts: DeveloperPageParts): FeaturePages<DeveloperText> {
  const { areaOf: findArea, path } = parts;
  // The header of every page has the link, that of these pages too: one lookup of what the user may do serves both.
  const found = new WeakMap<Context, { readonly userId: string; readonly area: Promise<Developer> }>();
  const areaOf = async (ctx: Context, user: User): Promise<Developer> => {
    const known = found.get(ctx);
    if (known?.userId === user.id) return known.area;
    const area = findArea(ctx, user);
    found.set(ctx, { userId: user.id, area });
    return area;
  };
  return {
    views,
    texts: { en, de },
    async link(ctx, user) {
      try {
        return { path, text: nameOfArea(await areaOf(ctx, user)) };
      } catch (error) {
        if (error instanceof PermissionMissingError) return undefined;
        throw error;
      }
    },
    addRoutes(router) {
      router.answered<DeveloperPage, DeveloperText>(
        pathsOf(path),
        createDeveloperPage({ ...parts, areaOf }),
        showDeveloperPage,
      );
    },
  };
}

async function showDeveloperPage(asked: PageRequest<DeveloperText>, page: DeveloperPage): Promise<void> {
  const viewer = await describeViewer(asked, page.developer.user);
  const show = (shown: FeaturePage): void => asked.show({ viewer, wide: true, ...shown });
  const request = { ...asked, show, ...page };
  switch (request.kind) {
    case 'list':
      return showList(request);
    case 'new':
      return showNewApp(request);
    case 'created':
      return showCreated(request);
    case 'overview':
      return showOverview(request);
    case 'settings':
      return showSettings(request);
    case 'permissions':
      return showPermissions(request);
    case 'secrets':
      return showSecrets(request);
    case 'new secret':
      return showNewSecret(request);
    case 'keys':
      return showKeys(request);
    case 'activity':
      return showActivity(request);
    case 'confirm':
      return askBefore(request);
    default:
      return request satisfies never;
  }
}

const CONFIRMED = {
  delete: { text: 'apps.delete', page: '/settings' },
  disable: { text: 'apps.disable', page: '/settings' },
  revoke: { text: 'apps.revoke', page: '/settings' },
  'remove keys': { text: 'keys.remove', page: '/keys' },
  'delete secret': { text: 'secrets.delete', page: '/secrets' },
} as const;

/** Asks for confirmation before an app is changed for good. */
function askBefore(request: Shown<ConfirmPage>): void {
  const { change, client, ctx, path, secret, server, text } = request;
  const { page, text: name } = CONFIRMED[change];
  askToConfirm(request, {
    heading: sentence(text[`${name}Heading`], {
      client: titleOfApp(client, text),
      label: secret?.label || text['secrets.unnamed'],
    }),
    lead: sentence(text[`${name}Lead`], { client: client.name, hint: secret?.hint ?? '' }),
    action: server.basePath + ctx.path,
    button: text[name],
    cancel: path + page,
  });
}
