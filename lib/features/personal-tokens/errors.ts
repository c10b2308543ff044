import type { FieldError } from '../../contracts/field-errors.ts';
import { ValidationError } from '../../errors.ts';

/** The fields of a personal access token are invalid, or its user has as many as allowed. */
export class PersonalTokenInvalidError extends ValidationError {
  constructor(fields: readonly FieldError[]) {
    super('ERR_PERSONAL_TOKEN_INVALID', fields);
  }
}
