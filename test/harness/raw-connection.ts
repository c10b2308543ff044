import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';

/** A response on a connection. */
export interface RawResponse {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/** A TCP connection, for requests that HTTP clients do not send, and for tests of the connection itself. */
export class RawConnection {
  readonly #socket: Socket;
  #received = Buffer.alloc(0);
  #change = Promise.withResolvers<void>();

  private constructor(socket: Socket) {
    this.#socket = socket;
    const notify = (): void => {
      this.#change.resolve();
      this.#change = Promise.withResolvers();
    };
    socket.on('data', (bytes) => {
      this.#received = Buffer.concat([this.#received, bytes]);
      notify();
    });
    socket.on('error', notify);
    socket.on('close', notify);
  }

  static async open(origin: string): Promise<RawConnection> {
    const { hostname, port } = new URL(origin);
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    return new RawConnection(socket);
  }

  write(bytes: string | Uint8Array): void {
    this.#socket.write(bytes);
  }

  /** A POST with a body of known length. */
  post(path: string, body: string | Uint8Array, headers: Record<string, string> = {}): void {
    const fields = { Host: 'localhost', 'Content-Length': String(Buffer.byteLength(body)), ...headers };
    const head = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
    this.write(`POST ${path} HTTP/1.1\r\n${head.join('')}\r\n`);
    this.write(body);
  }

  /** The next response; it must have a `Content-Length`. */
  async answer(): Promise<RawResponse> {
    const head = await this.#until(() => {
      const end = this.#received.indexOf('\r\n\r\n');
      return end === -1 ? undefined : end;
    });
    const [statusLine = '', ...fields] = this.#received.subarray(0, head).toString('latin1').split('\r\n');
    const headers = new Map(
      fields.map((field) => {
        const [name = '', ...value] = field.split(':');
        return [name.toLowerCase(), value.join(':').trim()] as const;
      }),
    );
    const end = head + 4 + Number(headers.get('content-length') ?? 0);
    await this.#until(() => (this.#received.length >= end ? end : undefined));
    const body = this.#received.subarray(head + 4, end).toString();
    this.#received = this.#received.subarray(end);
    return { status: Number(statusLine.split(' ')[1]), headers, body };
  }

  /** Resolves when the server has closed the connection; rejects after an error of the connection. */
  async closed(): Promise<void> {
    while (!this.#socket.closed) await this.#change.promise;
    if (this.#socket.errored) throw this.#socket.errored;
  }

  /** Ends the connection as the system of a program does that was killed. */
  reset(): void {
    this.#socket.resetAndDestroy();
  }

  close(): void {
    this.#socket.destroy();
  }

  async #until(find: () => number | undefined): Promise<number> {
    for (;;) {
      const found = find();
      if (found !== undefined) return found;
      if (this.#socket.closed) {
        throw new Error(`The connection was closed after: ${this.#received.toString('latin1')}`);
      }
      await this.#change.promise;
    }
  }
}
