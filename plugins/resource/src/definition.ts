import type { RowVisibility } from '@plinth/http'
import { type BusinessCode, defineBusinessErrors, type Localized } from '@plinth/kernel'
import {
  assertValuesGiven,
  inSentence,
  localizedOf,
  reasonedUniques,
  type Shape,
  type TableDescription,
} from '@plinth/table'
import type { TObject, TProperties } from 'typebox'
import type { Hooks, Operation, ResourceOptions } from './options.ts'

export type Row = Readonly<Record<string, unknown>>

/** A shape whose rows have any columns, so that the code treats all tables the same. */
type AnyRowShape = Shape<Row, Row, Row, Row> & {
  readonly columns: Readonly<Record<string, { readonly '~facts'?: undefined }>>
}
/** The options of a resource. The types of `options.ts` check what an author writes. */
export type AnyOptions = ResourceOptions<AnyRowShape, unknown, Readonly<Record<string, TObject>>, TProperties>
export type ListOf = NonNullable<AnyOptions['list']>
export type ActionOf = NonNullable<AnyOptions['actions']>[string]
export type AnyHooks = Hooks<AnyRowShape, unknown, unknown, Row | undefined>

/** A resource: its options with their defaults, and its errors. */
export interface Definition {
  readonly options: AnyOptions
  readonly shape: Shape<Row, Row, Row, Row>
  readonly table: TableDescription
  /** Column with the name of an object for people: the first text in responses, if there is one. */
  readonly name: string | undefined
  readonly notFound: string
  /** First word of the audited actions; `undefined` without audit. */
  readonly auditKind: string | undefined
  /** Returns an error by the last part of its reason. */
  readonly error: ReturnType<
    typeof defineBusinessErrors<Readonly<Record<string, string>>, Readonly<Record<string, BusinessCode>>>
  >
  /** Texts of the reasons in both languages, by the last part of the reason. None for the errors of the plugin. */
  readonly texts: Readonly<Record<string, Localized>>
}

/**
 * @throws TypeError for `access: 'user'` or `scope: 'caller'` on a table without an owner, and for `errors` that lack a
 *   reason of the resource
 */
export function definitionOf(shape: Definition['shape'], options: AnyOptions): Definition {
  const { of: table } = shape
  const operations = operationsOf(options)
  const owned = operations.find(
    ([, { access, scope }]) => access === 'user' || (scope === 'caller' && options.rows === undefined),
  )
  if (table.owner === undefined && owned !== undefined)
    throw new TypeError(
      `${table.name}: the operation "${owned[0]}" is about the rows of a user, and the table has no owner.`,
    )

  if (options.create !== undefined && options.create.prepare === undefined)
    assertValuesGiven(table, shape.schemas.create)

  const isName = ([name, { description }]: readonly [string, TableDescription['columns'][string]]) =>
    description.kind === 'text' && description.role === undefined && name in shape.schemas.view.properties
  const { notFound = 'not-found', audit, errors } = options
  const texts = reasonTexts(table, notFound)
  const error = defineBusinessErrors(
    options.area,
    Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, text.en])),
    {
      [notFound]: '404',
      ...(table.hasEdits ? { [versionConflict]: '409' } : {}),
      ...Object.fromEntries(reasonedUniques(table).map(({ reason }) => [reason, '409'])),
    },
  )
  const undeclared = Object.keys(error.codes).filter((name) => errors !== undefined && !(name in errors.codes))
  if (undeclared.length > 0)
    throw new TypeError(`${table.name}: the errors of the plugin lack the reason ${undeclared.join(', ')}.`)
  const isAudited = operations.some(([name, { access }]) => access !== 'user' && name !== 'list' && name !== 'get')
  return {
    options,
    shape,
    table,
    name: Object.entries(table.columns).find(isName)?.[0],
    notFound,
    auditKind: isAudited ? (audit?.kind ?? table.name.replaceAll('_', '-')) : undefined,
    error: (errors as typeof error | undefined) ?? error,
    texts: errors === undefined ? texts : {},
  }
}

/** Last part of the reason for a change that is based on an older version. */
export const versionConflict: string = 'version-conflict'

/** Returns the declared operations by name. */
export const operationsOf = ({ list, get, create, change, remove, actions = {} }: AnyOptions) =>
  Object.entries<Operation | undefined>({ list, get, create, change, remove, ...actions }).flatMap(
    ([name, operation]) => (operation === undefined ? [] : [[name, operation] as const]),
  )

/** Rows that an operation may reach. `own`: those of the caller, for operations without a permission. */
export type Reach = 'own' | RowVisibility

export function reachOf({ access, scope }: Operation, definition: Definition): Reach {
  if (access === 'user') return 'own'
  return scope ?? (belongToProduct(definition) ? 'none' : 'caller')
}

/** True if the rows belong to the product, so that no data scope restricts them. */
export const belongToProduct = ({ table, options }: Definition): boolean =>
  table.owner === undefined && options.rows === undefined

function reasonTexts(table: TableDescription, notFound: string) {
  const { title, columns } = table
  const { en, 'zh-CN': zh } = title.one
  const one = inSentence(en)
  const taken = reasonedUniques(table).map(({ columns: [first = ''], reason }) => {
    const column = columns[first]?.description.title ?? localizedOf([first, first])
    const text = [
      `Another ${one} has the same value of "${column.en}".`,
      `另一个${zh}的“${column['zh-CN']}”与此相同。`,
    ] as const
    return [reason, localizedOf(text)] as const
  })
  return {
    [notFound]: localizedOf([`The ${one} {{id}} does not exist.`, `没有编号为 {{id}} 的${zh}。`]),
    [versionConflict]: localizedOf([
      `Another user changed this ${one}. Reload to see the new version.`,
      `该${zh}已被其他用户修改，请重新加载以查看新版本。`,
    ]),
    ...Object.fromEntries(taken),
  }
}
