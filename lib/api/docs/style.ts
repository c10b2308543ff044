/** The page's style. The ratios in comments are contrast ratios with the page (WCAG 2.2). */
export const STYLE = `
:root {
  color-scheme: light dark;
  --page: #ffffff;
  --text: #1b1b1f; /* 17.2 */
  --muted: #5a5d66; /* 6.6 */
  --accent: #0b57d0; /* 6.4 */
  --line: #e4e5ea;
  --wash: #f6f6f8;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #131316;
    --text: #ececf1; /* 15.8 */
    --muted: #a9acb8; /* 8.2 */
    --accent: #8ab4f8; /* 8.8 */
    --line: #2c2d33;
    --wash: #1c1c21;
  }
}
*, ::before, ::after { box-sizing: border-box; margin: 0; }
html {
  font: 100%/1.5 system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'Liberation Sans', sans-serif;
  text-size-adjust: none;
  scroll-padding-top: 1rem;
  overflow-wrap: anywhere;
  color: var(--text);
  background: var(--page);
}
body { max-width: 52rem; margin: 0 auto; padding: clamp(2rem, 8vh, 5rem) 1.25rem 4rem; }
h1 { font-size: 2rem; font-weight: 650; line-height: 1.2; letter-spacing: -0.02em; }
h2 { margin-top: 3.5rem; padding-top: 1.5rem; font-size: 1.375rem; font-weight: 650; border-top: 1px solid var(--line); }
h3 { margin-top: 2.5rem; font-size: 1.125rem; font-weight: 600; }
h4 { margin-top: 1.5rem; font-size: 1rem; font-weight: 600; }
p, pre, ul, details { margin-top: 0.75rem; }
.muted { color: var(--muted); }
a { color: var(--accent); text-underline-offset: 0.2em; }
a:focus-visible, summary:focus-visible, pre:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
code, pre { font: 0.875rem/1.6 ui-monospace, 'SF Mono', Menlo, Consolas, 'Liberation Mono', monospace; }
pre { padding: 0.875rem 1rem; overflow-x: auto; overflow-wrap: normal; background: var(--wash); border-radius: 0.5rem; }
.address { display: block; margin-top: 0.25rem; }
.address b { color: var(--accent); }
nav { margin-top: 2rem; }
nav ul { padding: 0; list-style: none; }
nav li { margin-top: 0.25rem; }
nav ul ul { margin: 0; padding-left: 1.25rem; }
dl { margin-top: 0.75rem; border-top: 1px solid var(--line); }
dt { padding-top: 0.5rem; }
dd { padding-bottom: 0.5rem; border-bottom: 1px solid var(--line); }
p:empty { display: none; }
summary { cursor: pointer; color: var(--accent); }
`;
