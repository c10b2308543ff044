import { mkdir, readFile, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { Heading } from './outline.ts';

/** An uploaded document, as its page shows it. */
export interface Document {
  readonly id: string;
  readonly name: string;
  readonly pages: number;
  readonly outline: readonly Heading[];
}

/** How long documents are kept, in milliseconds. */
const KEPT = 60 * 60 * 1000;

/** Keeps uploaded PDFs for an hour: files in the data directory, so that a restart and a second node find them. */
export class Shelf {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Where uploads are received; `add()` moves them. */
  async open(): Promise<string> {
    const incoming = join(this.#folder, 'incoming');
    await mkdir(incoming, { recursive: true });
    return incoming;
  }

  async add(file: string, document: Document): Promise<void> {
    await this.#removeOld();
    await rename(file, this.pathOf(document));
    // Last, because a document is there when its description is.
    await writeFile(this.#descriptionOf(document), JSON.stringify(document));
  }

  /** `undefined` when it is gone. */
  async find(id: string): Promise<Document | undefined> {
    try {
      const document: Document = JSON.parse(await readFile(this.#descriptionOf({ id }), 'utf8'));
      return document;
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
      throw error;
    }
  }

  pathOf({ id }: Pick<Document, 'id'>): string {
    return join(this.#folder, `${id}.pdf`);
  }

  #descriptionOf({ id }: Pick<Document, 'id'>): string {
    return join(this.#folder, `${id}.json`);
  }

  async #removeOld(): Promise<void> {
    for (const entry of await readdir(this.#folder, { recursive: true, withFileTypes: true })) {
      const path = join(entry.parentPath, entry.name);
      // Another node may be removing it, too.
      const found = entry.isFile() ? await stat(path).catch(() => undefined) : undefined;
      if (found && found.mtimeMs < Date.now() - KEPT) await rm(path, { force: true });
    }
  }
}
