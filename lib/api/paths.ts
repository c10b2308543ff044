import { ConfigError } from '../errors.ts';

/** The path in this app for a URL, without the part of the issuer's path that a proxy removes from requests. */
export function pathOf(
  resource: string,
  { issuer, mountPath }: { readonly issuer: string; readonly mountPath: string },
): string {
  if (resource.startsWith(`${issuer}/`)) return mountPath + resource.slice(issuer.length);
  return new URL(resource).pathname;
}

/** The public URL for a path in this app. It includes the part of the issuer's path that a proxy removes from requests. */
export function baseUrlOf(
  { issuer, mountPath }: { readonly issuer: string; readonly mountPath: string },
  path: string,
): string {
  return path.startsWith(`${mountPath}/`)
    ? issuer + path.slice(mountPath.length)
    : new URL(issuer).origin + path;
}

// koa-router interprets some of the other characters as parameters or wildcards.
const PLAIN_PATH = /^(\/[\w.~%@-]+)+$/;

/** @throws ConfigError for a path with parameters or a trailing slash */
export function checkPath(option: string, path: unknown, example: string): void {
  if (typeof path !== 'string' || !PLAIN_PATH.test(path)) {
    throw new ConfigError(option, `give a path with a leading and no trailing slash, such as '${example}'`);
  }
}
