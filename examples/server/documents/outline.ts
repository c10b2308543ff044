import { walkPdf } from 'koa-gatehouse/pdf';
import type { PdfDocument } from 'koa-gatehouse/pdf';

/** A heading with its subheadings. */
export interface Heading {
  readonly title: string;
  readonly page: number;
  readonly below: readonly Heading[];
}

/** The maximum number of headings. */
const MOST = 500;

/** Makes an outline of a document's headings: each one is below the last preceding heading of a higher level. */
export function outlineOf(document: PdfDocument): readonly Heading[] {
  const top: Heading[] = [];
  const open: { readonly level: number; readonly below: Heading[] }[] = [];
  const headings = walkPdf(document).filter(({ type, content }) => type === 'heading' && content);
  for (const { content = '', 'heading level': level = 1, 'page number': page = 1 } of headings.take(MOST)) {
    while (open.length > 0 && open.at(-1)!.level >= level) open.pop();
    const below: Heading[] = [];
    (open.at(-1)?.below ?? top).push({ title: content, page, below });
    open.push({ level, below });
  }
  return top;
}
