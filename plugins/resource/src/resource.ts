import type { Shape } from '@plinth/table'
import { auditedOf, messagesOf, permissionsOf, retentionOf } from './declarations.ts'
import { type AnyOptions, definitionOf, type Row } from './definition.ts'
import type { AnyShape, Query, ReadOnlyResource, ReadOptions, Resource, ResourceOptions } from './options.ts'
import { pagesOf } from './pages.ts'
import { routesOf } from './routes.ts'
import { RowStore } from './store.ts'

/**
 * Declares operations on a table. Operations that are not declared do not exist. See `pluginWith` for the services that
 * hooks receive.
 *
 * @throws TypeError for an operation with `access: 'user'` or `scope: 'caller'` on a table without an owner, and for
 *   `errors` that lack a reason of the resource
 */
export function resource<S extends AnyShape, P, B, Q extends Query>(
  shape: S,
  options: ResourceOptions<S, P, B, Q>,
): Resource<S, P> {
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
    store: (at, operator) => new RowStore(definition, at, { operator: () => operator, reach: 'caller' }) as never,
  } satisfies Resource<AnyShape, unknown> as unknown as Resource<S, P>
}

/**
 * Declares operations that only read. Their routes need no services but the database.
 *
 * @throws TypeError the errors of `resource`
 */
export const readOnlyResource = <S extends AnyShape, Q extends Query>(
  shape: S,
  options: ReadOptions<S, Q>,
): ReadOnlyResource => resource(shape, options) as never
