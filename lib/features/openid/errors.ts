import { GatehouseError } from '../../errors.ts';

/** The request of an app to sign a user out is wrong (OpenID Connect RP-Initiated Logout 1.0 section 4). Nobody was signed out. */
export class LogoutRequestError extends GatehouseError {
  constructor(message: string, options?: ErrorOptions) {
    super('ERR_LOGOUT_REQUEST', message, options);
  }
}
