import { execFile } from 'node:child_process';

/** Runs a command of poppler on a PDF. */
export async function poppler(command: string, pdf: Uint8Array, ...words: string[]): Promise<string> {
  return new Promise((done, fail) => {
    const { stdin } = execFile(
      command,
      [...words, '-', ...(command === 'pdftotext' ? ['-'] : [])],
      (error, stdout) => {
        if (error) fail(error);
        else done(stdout);
      },
    );
    // A command that fails does not read its input.
    stdin!.on('error', () => {}).end(pdf);
  });
}

/** What `pdfinfo` says about a PDF. */
export interface PdfInfo {
  readonly title: string | undefined;
  readonly tagged: string | undefined;
  readonly pages: number;
  /** Of each page, in points. */
  readonly sizes: readonly (readonly [width: number, height: number])[];
}

export async function pdfInfo(pdf: Uint8Array): Promise<PdfInfo> {
  const output = await poppler('pdfinfo', pdf, '-f', '1', '-l', '99');
  const field = (name: string): string | undefined => new RegExp(`^${name}: +(.*)$`, 'm').exec(output)?.[1];
  return {
    title: field('Title'),
    tagged: field('Tagged'),
    pages: Number(field('Pages')),
    sizes: Array.from(output.matchAll(/^Page +\d+ size: +([\d.]+) x ([\d.]+)/gm), ([, width, height]) => [
      Number(width),
      Number(height),
    ]),
  };
}

export async function pdfText(pdf: Uint8Array): Promise<string> {
  return (await poppler('pdftotext', pdf, '-layout')).replaceAll(/\s+/g, ' ').trim();
}
