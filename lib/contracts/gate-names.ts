/** The form of the names of permissions and roles: lower-case words joined by underscores, dots or colons. */
export const GATE_NAME: RegExp = /^[a-z][a-z0-9]*([_.:][a-z0-9]+)*$/;
