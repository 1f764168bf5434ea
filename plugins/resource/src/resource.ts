import type { Shape } from '@plinth/table'
import { auditedOf, messagesOf, permissionsOf, retentionOf } from './declarations.ts'
import { type AnyOptions, definitionOf, type Row } from './definition.ts'
import type { AnyShape, Permission, Resource, ResourceOptions } from './options.ts'
import { pagesOf } from './pages.ts'
import { routesOf } from './routes.ts'
import { RowStore, type Store } from './store.ts'

/** Declares a permission with its name in English and Chinese. */
export const permission = (code: string, en: string, zh: string): Permission => ({ code, title: [en, zh] })

/**
 * Declares operations on a table. Operations that are not declared do not exist. See `pluginWith` for the services that
 * hooks receive.
 *
 * @throws TypeError for an operation with `access: 'user'` or `scope: 'caller'` on a table without an owner
 */
export function resource<S extends AnyShape, P, B>(shape: S, options: ResourceOptions<S, P, B>): Resource<S, P> {
  const definition = definitionOf(shape as unknown as Shape<Row, Row, Row, Row>, options as unknown as AnyOptions)
  const operations = routesOf(definition)
  return {
    shape,
    operations,
    routes: Object.values(operations),
    permissions: permissionsOf(definition),
    businessErrors: definition.error,
    messages: messagesOf(definition),
    ...retentionOf(definition),
    audited: auditedOf(definition),
    pages: pagesOf(definition, operations),
    personalTables: shape.of.personalTables,
    store: (services, operator) =>
      new RowStore(
        definition,
        { services, parts: undefined },
        { operator, reach: 'caller' },
      ) as unknown as Store<AnyShape>,
  } satisfies Resource<AnyShape, unknown> as unknown as Resource<S, P>
}
