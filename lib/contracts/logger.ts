/**
 * A pino-shaped logger. Gatehouse never hands it a credential.
 *
 * What its methods throw is dropped: a log that cannot be written stops no request.
 *
 * A line about a request has its id as `request_id`, and a line about an error has the error as `err`.
 */
export interface Logger {
  /** What helps to find a fault in an app that is being set up. */
  debug(fields: object, message: string): void;
  /** What happens in the course of things. */
  info(fields: object, message: string): void;
  /** What somebody should look at when it goes on. */
  warn(fields: object, message: string): void;
  /** A fault: of the server, of what the host handed in, or of the storage. */
  error(fields: object, message: string): void;
}
