import { buffer } from 'node:stream/consumers';

import PDFDocument from 'pdfkit';

/** Makes a small PDF: one page per chapter, with a title and a paragraph; the last one has a red box. */
export async function makePdf(
  chapters: readonly string[] = ['Timetable', 'School meals'],
  options: PDFKit.PDFDocumentOptions = {},
): Promise<Buffer<ArrayBuffer>> {
  const document = new PDFDocument({
    size: 'A4',
    info: { Title: 'The school year', Author: 'Ada Okafor' },
    ...options,
  });
  for (const [index, chapter] of chapters.entries()) {
    if (index > 0) document.addPage();
    document.fontSize(24).text(chapter).moveDown();
    document.fontSize(12).text('Everybody is welcome, and lessons begin at eight. '.repeat(8)).moveDown();
    document.fontSize(16).text(`About ${chapter.toLowerCase()}`).moveDown();
    document.fontSize(12).text('It is as it was last year.');
  }
  document.rect(72, 600, 200, 100).fill('#c00');
  document.end();
  return Buffer.from(await buffer(document));
}
