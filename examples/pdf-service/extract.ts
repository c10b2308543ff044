import type { PdfDocument, PdfNode } from 'koa-gatehouse/pdf';
import type { PDFDocumentProxy } from 'pdfjs-dist/legacy/build/pdf.mjs';

import { linesOf, paragraphsOf } from './lines.ts';
import type { Paragraph } from './lines.ts';

/** Extracts a PDF as JSON: a tree of headings and paragraphs with the member names of OpenDataLoader PDF. */
export async function extract(pdf: PDFDocumentProxy, filename: string | null): Promise<string> {
  const paragraphs: Paragraph[] = [];
  for (let number = 1; number <= pdf.numPages; number += 1) {
    const page = await pdf.getPage(number);
    const { items } = await page.getTextContent();
    paragraphs.push(...paragraphsOf(linesOf(items), number));
    page.cleanup();
  }
  const document: PdfDocument = {
    'file name': filename ?? 'document.pdf',
    'number of pages': pdf.numPages,
    ...(await metadata(pdf)),
    kids: nodesOf(paragraphs),
  };
  return JSON.stringify(document);
}

async function metadata(pdf: PDFDocumentProxy): Promise<Record<string, string | null>> {
  const { info } = await pdf.getMetadata();
  const field = (name: string): string | null => {
    const value: unknown = (info as Record<string, unknown>)[name];
    return typeof value === 'string' && value !== '' ? value : null;
  };
  return {
    author: field('Author'),
    title: field('Title'),
    'creation date': field('CreationDate'),
    'modification date': field('ModDate'),
  };
}

/** Text that is clearly larger than the body text is a heading; larger text has a higher level. */
function nodesOf(paragraphs: readonly Paragraph[]): PdfNode[] {
  const bodySize = commonSize(paragraphs);
  const isHeading = ({ size, content }: Paragraph): boolean => size > bodySize * 1.15 && content.length < 200;
  const sizes = [...new Set(paragraphs.filter(isHeading).map(({ size }) => size))].toSorted((a, b) => b - a);
  return paragraphs.map((paragraph, index) => ({
    type: isHeading(paragraph) ? 'heading' : 'paragraph',
    id: index + 1,
    ...(isHeading(paragraph) ? { 'heading level': Math.min(sizes.indexOf(paragraph.size) + 1, 6) } : {}),
    'page number': paragraph.page,
    'bounding box': rounded(paragraph.box),
    'font size': paragraph.size,
    content: paragraph.content,
  }));
}

function rounded([left, bottom, right, top]: Paragraph['box']): Paragraph['box'] {
  return [round(left), round(bottom), round(right), round(top)];
}

function round(points: number): number {
  return Math.round(points * 100) / 100;
}

/** The most common font size of the text. */
function commonSize(paragraphs: readonly Paragraph[]): number {
  const lengths = new Map<number, number>();
  for (const { size, content } of paragraphs) lengths.set(size, (lengths.get(size) ?? 0) + content.length);
  return [...lengths].toSorted(([, a], [, b]) => b - a)[0]?.[0] ?? 0;
}
