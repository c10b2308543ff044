/** Gives the class of Koa's apps its name: for what a module exports by `export =`, TypeDoc has none. */
import { Converter, makeRecursiveVisitor } from 'typedoc';

/** @param {import('typedoc').Application} app */
export function load(app) {
  const visitor = makeRecursiveVisitor({
    reference(type) {
      if (type.package === '@types/koa' && type.name === '__module') type.name = 'Koa';
    },
  });
  app.converter.on(Converter.EVENT_RESOLVE_END, ({ project }) => {
    for (const reflection of Object.values(project.reflections)) {
      if ('type' in reflection) reflection.type?.visit(visitor);
    }
  });
}
