/** The form of a page that continues the flow: the one with the primary button, or the only one. */
export function readForm(html: string): { action: string; fields: Record<string, string> } {
  const forms = [...html.matchAll(/<form\b([^>]*)>([^]*?)<\/form>/g)];
  const [, attributes = '', inside = ''] =
    forms.find(([, , content = '']) => content.includes('class="primary"')) ?? forms[0] ?? [];
  const action = /\baction="([^"]*)"/.exec(attributes)?.[1];
  if (action === undefined) throw new Error(`There is no form on this page: ${html.slice(0, 500)}`);
  const fields: Record<string, string> = {};
  for (const [input] of inside.matchAll(/<input\b[^>]*>/g)) {
    const name = /\bname="([^"]*)"/.exec(input)?.[1];
    if (name !== undefined) fields[name] = /\bvalue="([^"]*)"/.exec(input)?.[1] ?? '';
  }
  return { action: action.replaceAll('&amp;', '&'), fields };
}
