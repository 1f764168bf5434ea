import type { Operator } from '@plinth/iam'
import type { Shape } from '@plinth/table'
import { auditedOf, messagesOf, permissionsOf, retentionOf } from './declarations.ts'
import { type AnyOptions, definitionOf, type Row } from './definition.ts'
import type { AnyShape, Permission, Resource, ResourceOptions } from './options.ts'
import { pagesOf } from './pages.ts'
import { routesOf } from './routes.ts'
import { type Caller, RowStore, type Store } from './store.ts'

/** Declares a permission with its name in English and Chinese. */
export const permission = (code: string, en: string, zh: string): Permission => ({ code, title: [en, zh] })

/**
 * Declares operations on a table. Operations that are not declared do not exist. See `pluginWith` for the services that
 * hooks receive.
 *
 * @throws TypeError for an operation with `access: 'user'` or `scope: 'caller'` on a table without an owner
 */
export function resource<S extends AnyShape, P, B, E extends string>(
  shape: S,
  options: ResourceOptions<S, P, B, E>,
): Resource<S, P, E> {
  const definition = definitionOf(shape as unknown as Shape<Row, Row, Row, Row>, options as unknown as AnyOptions)
  const operations = routesOf(definition)
  const declared = {
    shape,
    operations,
    routes: Object.values(operations),
    permissions: permissionsOf(definition),
    businessErrors: definition.businessErrors,
    messages: messagesOf(definition),
    ...retentionOf(definition),
    audited: auditedOf(definition),
    pages: pagesOf(definition, operations),
    personalTables: shape.of.personalTables,
    error: definition.error,
    store: (services) => storeOf(new RowStore(definition, { services, parts: undefined })),
  } satisfies Resource<AnyShape, unknown, string>
  return declared as unknown as Resource<S, P, E>
}

const storeOf = (rows: RowStore): Store<AnyShape> => {
  const callerOf = (operator: Operator): Caller => ({ operator, reach: 'caller' })
  return {
    get: (id, operator, version) => rows.get(id, callerOf(operator), version) as never,
    create: (columns, operator) => rows.create(columns as Row, { caller: callerOf(operator) }) as never,
    change: (before, columns, verb, operator, summary) =>
      rows.change(before as Row, columns as Row, verb, { caller: callerOf(operator), summary }) as never,
  }
}
