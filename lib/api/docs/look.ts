import type { Pages } from '../../contracts/index.ts';
import { html } from './html.ts';
import type { Html } from './html.ts';

/** Whose page the description of an API is. */
export interface Platform {
  readonly issuer: string;
  /** The URL of the API. */
  readonly baseUrl: string;
  readonly pages: Pick<Pages, 'brand' | 'look'>;
}

/** The head of the page: the brand, as on the pages of the platform, and the way back to them. */
export function platformHeader(platform: Platform): Html {
  const { issuer, pages } = platform;
  const { brand = new URL(issuer).host, look } = pages;
  const logo = logoOf(platform);
  return html`<header class="platform">
    <p class="brand">
      ${logo === undefined ? html`${brand}` : html`<img src="${logo.href}" alt="${brand}" />`}
    </p>
    <p><a href="${look?.home ?? issuer}">Go to ${brand}</a></p>
  </header>`;
}

/** The other origins from which the page loads images. */
export function imageOriginsOf(platform: Platform): readonly string[] {
  const logo = logoOf(platform);
  return logo === undefined || logo.origin === new URL(platform.baseUrl).origin ? [] : [logo.origin];
}

/** This server lets no other origin show the files of its pages, so an API with an origin of its own has the name alone. */
function logoOf({ baseUrl, issuer, pages: { look } }: Platform): URL | undefined {
  const logo = look?.logo === undefined ? null : URL.parse(look.logo);
  const isOfPages = logo?.origin === new URL(issuer).origin;
  return logo === null || (isOfPages && logo.origin !== new URL(baseUrl).origin) ? undefined : logo;
}

/** The variables of the look: those of the pages, or neutral ones. The numbers in comments are contrast ratios (WCAG 2.2). */
export function variablesOf({ pages: { look } }: Platform): string {
  return look?.theme ?? NEUTRAL;
}

const NEUTRAL = `
:root {
  color-scheme: light dark;
  --page: #ffffff;
  --text: #1b1b1f; /* 17.2 */
  --muted: #5a5d66; /* 6.6 */
  --border: #767a85; /* 4.3 */
  --accent: #0b57d0; /* 6.4 */
  --on-accent: #ffffff;
  --line: #e4e5ea;
  --wash: #f6f6f8;
  --error: #b3261e; /* 6.5 */
  --radius: 0.625rem;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #131316;
    --text: #ececf1; /* 15.8 */
    --muted: #a9acb8; /* 8.2 */
    --border: #868a96; /* 5.4 */
    --accent: #8ab4f8; /* 8.8 */
    --on-accent: #131316;
    --line: #2c2d33;
    --wash: #1c1c21;
    --error: #f2b8b5; /* 10.9 */
  }
}
`;

export const FONT = `system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'Liberation Sans', sans-serif`;

/** The style of the head, and of what both pages have. */
export const LOOK_STYLE: string = `
html { font: 100%/1.5 ${FONT}; text-size-adjust: none; color: var(--text); background: var(--page); }
.platform {
  display: flex; flex-wrap: wrap; gap: 0 2rem; align-items: center; justify-content: space-between;
  font-size: 0.9375rem; border-bottom: 1px solid var(--line);
}
.platform p { margin: 0; }
.platform img { display: block; max-width: 100%; height: 2.25rem; }
.platform a { display: inline-flex; align-items: center; min-height: 2.75rem; }
.brand { font-weight: 600; }
h1 { font-size: 1.75rem; font-weight: 650; line-height: 1.2; letter-spacing: -0.02em; }
a { color: var(--accent); text-underline-offset: 0.2em; }
:is(a, pre, summary):focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
`;
