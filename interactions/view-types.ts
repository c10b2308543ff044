/** What views of your own are given, and the sentences of the pages. */
export type { Moment } from './language.ts';
export type { Link } from './navigation.ts';
export type {
  AboutApp,
  Access,
  AuthorizedAppRow,
  AuthorizedAppsView,
  ConnectionRow,
  Connections,
  Detail,
  PageFrame,
  FieldProblem,
  ScopeChoice,
  View,
  ViewName,
  Viewer,
} from './page.ts';
export type { Sentence, SentencePart } from './sentence.ts';
export type { NameKey, TextKey, Texts, TextsByLanguage } from './text.ts';
