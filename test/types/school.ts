import type { User } from 'koa-gatehouse';

/** A host's own type of user. */
export interface Person extends User {
  readonly schoolIds: readonly string[];
}

export interface School {
  readonly id: string;
  readonly registrarId: string;
}

export interface Pupil {
  readonly schoolId: string;
  readonly grade: number;
}

export declare const school: School;
export declare const pupil: Pupil;
