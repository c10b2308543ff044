import type { FlowParts } from '../lib/contracts/bundled-pages.ts';
import type { Interactions, Pages } from '../lib/contracts/index.ts';
import { beginStackAt } from '../lib/errors.ts';
import { bundledAsset, publishAssets } from './assets.ts';
import type { Assets } from './assets.ts';
import { showErrorPage } from './error.ts';
import { showPostedResponse } from './posted-response.ts';
import { readText } from './files.ts';
import { chooseLanguage } from './language.ts';
import { resolveSettings } from './options.ts';
import type { PagesOptions, PageSettings } from './options.ts';
import { brandOf, requestsIn } from './page-request.ts';
import type { PageParts, RequestFor } from './page-request.ts';
import { pageRoutes } from './routes.ts';
import { resolveTexts } from './text.ts';
import type { Language } from './text.ts';
import { brandVariables } from './theme.ts';
import { compileViews } from './views.ts';

/**
 * The bundled pages with your brand: login, consent, logout, errors and the list of authorized apps, and those of features.
 *
 * They are plain HTML, work without JavaScript, and have a light and a dark theme.
 *
 * @throws ConfigError for an option that is not as documented; the message says which one and what to do
 */
export function pages(options: PagesOptions = {}): Interactions {
  const settings = resolveSettings(options);
  const { languages } = settings;
  const theme = readText('public/theme.css') + brandVariables(settings);
  const assets = publishAssets(filesOf(settings, theme));
  return function makePages(flow) {
    const { parts: server } = flow;
    const views = compileViews(settings.views, server.features);
    const texts = resolveTexts(languages, settings.text, server);
    const parts = { assets, flow, settings, texts, views };
    const byLanguage = new Map(languages.map((language) => [language, requestsIn(language, parts)]));
    const requestFor: RequestFor = (ctx, uiLocales) =>
      byLanguage.get(chooseLanguage(ctx, languages, uiLocales))!(ctx);
    return {
      brand: brandOf(settings, server),
      look: lookOf(settings, server, { assets, theme }),
      middleware: pageRoutes(flow, requestFor, assets),
      untranslated: (labels) => untranslated({ languages, texts }, labels),
      error: async (ctx, error) => showErrorPage(requestFor(ctx), error),
      formPost: async (ctx, response) => showPostedResponse(requestFor(ctx), response),
    };
  };
}
beginStackAt(pages);

/** The look of the pages, for the page that describes an API. */
function lookOf(
  { home = '/', logo }: PageSettings,
  { basePath, origin }: Pick<FlowParts, 'basePath' | 'origin'>,
  { assets, theme }: { readonly assets: Pick<Assets, 'path'>; readonly theme: string },
): Pages['look'] {
  return {
    home: new URL(home, origin).href,
    logo: logo?.kind === 'image' ? origin + basePath + assets.path(logo.name) : logo?.url.href,
    theme,
  };
}

/** The descriptions of the scopes are in the first language. */
function untranslated(
  { languages: [, ...others], texts }: Pick<PageSettings, 'languages'> & Pick<PageParts, 'texts'>,
  labels: readonly string[],
): ReadonlyMap<Language, readonly string[]> {
  const missing = others.map((language): [Language, readonly string[]] => [
    language,
    // Of a scope about the user, a feature may have the text.
    labels.filter(
      (label) =>
        ![label, label.replace(/^scope\./, 'aboutUser.')].some((name) =>
          Object.hasOwn(texts.get(language)!, name),
        ),
    ),
  ]);
  return new Map(missing.filter(([, names]) => names.length > 0));
}

function filesOf({ logo, stylesheet }: PageSettings, theme: string): Parameters<typeof publishAssets>[0] {
  return [
    { ...bundledAsset('theme.css', 'text/css'), content: Buffer.from(theme) },
    bundledAsset('page.css', 'text/css'),
    bundledAsset('signed-in.css', 'text/css'),
    bundledAsset('mark.svg', 'image/svg+xml'),
    bundledAsset('copy.js', 'text/javascript'),
    bundledAsset('send-once.js', 'text/javascript'),
    bundledAsset('post.js', 'text/javascript'),
    ...(logo?.kind === 'image' ? [logo] : []),
    ...(stylesheet ? [stylesheet] : []),
  ];
}
