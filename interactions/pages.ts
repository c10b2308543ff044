import type { InteractionFlow, Interactions } from '../lib/contracts.ts';
import { bundledAsset, publishAssets } from './assets.ts';
import type { Assets } from './assets.ts';
import { showError } from './error.ts';
import { resolveSettings } from './options.ts';
import type { PagesOptions, Settings } from './options.ts';
import { compileViews } from './page.ts';
import type { Frame } from './page.ts';
import { pageRoutes } from './routes.ts';
import type { Site } from './site.ts';
import { clockIn } from './time.ts';
import { brandVariables } from './theme.ts';

/**
 * The bundled pages: login, consent, logout and errors, the developer area and people's connected apps, under your brand.
 *
 * They are plain HTML and work without JavaScript, in light and dark.
 *
 * @throws ConfigError - an option that is not as documented; the message says which one and what to do
 */
export function pages(options: PagesOptions = {}): Interactions {
  const settings = resolveSettings(options);
  const theme = bundledAsset('theme.css', 'text/css');
  const assets = publishAssets([
    { ...theme, content: Buffer.concat([theme.content, Buffer.from(brandVariables(settings.colours))]) },
    bundledAsset('page.css', 'text/css'),
    bundledAsset('signed-in.css', 'text/css'),
    bundledAsset('mark.svg', 'image/svg+xml'),
    bundledAsset('copy.js', 'text/javascript'),
    bundledAsset('send-once.js', 'text/javascript'),
    ...(settings.logo.kind === 'image' ? [settings.logo] : []),
  ]);
  const fitViews = compileViews();

  return function makePages(flow) {
    const frame = makeFrame(settings, assets, flow);
    const site: Site = {
      flow,
      show: fitViews(frame),
      text: frame.text,
      brand: frame.brand,
      clock: clockIn(settings.language),
    };
    return {
      middleware: pageRoutes(site, assets),
      error: async (ctx, error) => showError(ctx, error, site),
    };
  };
}

function makeFrame(settings: Settings, assets: Assets, { basePath, origin }: InteractionFlow): Frame {
  const { name, logo, language, text, terms, privacy } = settings;
  const ownLogo = logo.kind === 'image' ? logo.name : 'mark.svg';
  return {
    language,
    text,
    terms,
    privacy,
    brand: name ?? new URL(origin).host,
    logo: logo.kind === 'remote' ? logo.url.href : basePath + assets.path(ownLogo),
    logoIsMark: logo.kind === 'mark',
    stylesheets: ['theme.css', 'page.css'].map((file) => basePath + assets.path(file)),
    signedInStylesheet: basePath + assets.path('signed-in.css'),
    scriptUrl: (file) => origin + basePath + assets.path(file),
    imageOrigins: logo.kind === 'remote' ? [logo.url.origin] : [],
  };
}
