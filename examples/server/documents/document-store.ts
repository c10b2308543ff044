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

/** How long documents are stored, in milliseconds. */
const RETENTION = 60 * 60 * 1000;

/** Stores uploaded PDFs for an hour, as files in the data directory, so that they survive a restart and are shared by nodes. */
export class DocumentStore {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Creates and returns the folder for uploads; `add()` moves them from there. */
  async uploadFolder(): Promise<string> {
    const incoming = join(this.#folder, 'incoming');
    await mkdir(incoming, { recursive: true });
    return incoming;
  }

  async add(file: string, document: Document): Promise<void> {
    await this.#removeOld();
    await rename(file, this.pathOf(document));
    // Written last, because a document exists when its description exists.
    await writeFile(this.#descriptionOf(document), JSON.stringify(document));
  }

  /** `undefined` when it does not exist. */
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
      // Another node may be removing it at the same time.
      const found = entry.isFile() ? await stat(path).catch(() => undefined) : undefined;
      if (found && found.mtimeMs < Date.now() - RETENTION) await rm(path, { force: true });
    }
  }
}
