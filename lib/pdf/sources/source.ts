/** The bytes of a PDF. */
export interface Source {
  /** What the service is told that the file is called. */
  readonly filename: string | undefined;
  /** In bytes; `undefined` when it is not known in advance. */
  readonly size: number | undefined;
  /** Whether the bytes can be read again, for another try. */
  readonly repeatable: boolean;
  /** Reads it from its beginning. Throws a `PdfError` when that does not work. */
  read(): AsyncIterable<Uint8Array>;
  close(): Promise<void>;
}

/** How much is read at a time, in bytes. */
export const CHUNK: number = 64 * 1024;
