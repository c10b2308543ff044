import type { InteractionFlow, Interactions } from '../lib/contracts/index.ts';
import { bundledAsset, publishAssets } from './assets.ts';
import type { Assets } from './assets.ts';
import { showError } from './error.ts';
import { chooseLanguage } from './language.ts';
import { resolveSettings } from './options.ts';
import type { PagesOptions, Settings } from './options.ts';
import { pageRoutes } from './routes.ts';
import { createShowPage, makePageContext } from './page-context.ts';
import type { Frame, PageContextFor } from './page-context.ts';
import type { Language } from './text.ts';
import { brandVariables } from './theme.ts';
import { compileViews } from './views.ts';
import type { Views } from './views.ts';

/**
 * The bundled pages with your brand: login, consent, logout, errors, the developer area and the list of authorized apps.
 *
 * They are plain HTML, work without JavaScript, and have a light and a dark theme.
 *
 * @throws ConfigError for an option that is not as documented; the message says which one and what to do
 */
export function pages(options: PagesOptions = {}): Interactions {
  const settings = resolveSettings(options);
  const assets = publishAssets(filesOf(settings));
  const views = compileViews(settings.views);

  return function makePages(flow) {
    const pageContextFor = makePageContexts(settings, { assets, flow, views });
    return {
      brand: brandOf(settings, flow),
      middleware: pageRoutes(flow, pageContextFor, assets),
      error: async (ctx, error) => showError(ctx, error, pageContextFor(ctx)),
    };
  };
}

function filesOf({ accent, accentDark, logo, stylesheet }: Settings): Parameters<typeof publishAssets>[0] {
  const theme = bundledAsset('theme.css', 'text/css');
  return [
    {
      ...theme,
      content: Buffer.concat([theme.content, Buffer.from(brandVariables({ accent, accentDark }))]),
    },
    bundledAsset('page.css', 'text/css'),
    bundledAsset('signed-in.css', 'text/css'),
    bundledAsset('mark.svg', 'image/svg+xml'),
    bundledAsset('copy.js', 'text/javascript'),
    bundledAsset('send-once.js', 'text/javascript'),
    ...(logo?.kind === 'image' ? [logo] : []),
    ...(stylesheet ? [stylesheet] : []),
  ];
}

interface PageContextParts {
  readonly assets: Assets;
  readonly flow: InteractionFlow;
  readonly views: Views;
}

/** Creates the page context of each language. The returned function chooses the one for a request. */
function makePageContexts(settings: Settings, { assets, flow, views }: PageContextParts): PageContextFor {
  const { languages, texts } = settings;
  const contexts = new Map(
    languages.map((language) => {
      const frame = makeFrame(language, settings, { assets, flow });
      const parts = {
        flow,
        show: createShowPage(views, frame),
        text: texts.get(language)!,
        brand: frame.brand,
      };
      return [language, makePageContext(language, parts)];
    }),
  );
  return (ctx, uiLocales) => contexts.get(chooseLanguage(ctx, languages, uiLocales))!;
}

function makeFrame(
  language: Language,
  { languages, logo, name, privacy, stylesheet, terms, texts }: Settings,
  { assets, flow: { basePath, origin } }: Omit<PageContextParts, 'views'>,
): Frame {
  const ownLogo = logo?.kind === 'image' ? logo.name : 'mark.svg';
  const stylesheets = (files: readonly string[]): readonly string[] =>
    [...files, ...(stylesheet ? [stylesheet.name] : [])].map((file) => basePath + assets.path(file));
  const signedOut = stylesheets(['theme.css', 'page.css']);
  const signedIn = stylesheets(['theme.css', 'page.css', 'signed-in.css']);
  return {
    language,
    text: texts.get(language)!,
    terms,
    privacy,
    brand: brandOf({ name }, { origin }),
    logo: logo?.kind === 'remote' ? logo.url.href : basePath + assets.path(ownLogo),
    logoIsMark: logo === undefined,
    stylesheetsOf: ({ isSignedIn }) => (isSignedIn ? signedIn : signedOut),
    scriptUrl: (file) => origin + basePath + assets.path(file),
    imageOrigins: logo?.kind === 'remote' ? [logo.url.origin] : [],
    isNegotiated: languages.length > 1,
  };
}

function brandOf({ name }: Pick<Settings, 'name'>, { origin }: Pick<InteractionFlow, 'origin'>): string {
  return name ?? new URL(origin).host;
}
