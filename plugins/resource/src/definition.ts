import type { PageColumn, Row as PageRow } from '@plinth/admin'
import type { RowVisibility } from '@plinth/http'
import {
  type AuditSummary,
  type BusinessError,
  defineBusinessErrors,
  type Localized,
  type PluginDeclaration,
} from '@plinth/kernel'
import { localizedOf, type Shape, type TableDescription, type Text } from '@plinth/table'
import type { TObject } from 'typebox'
import type { ErrorOf, Operation, PageOptions, Permission, Reason, Work } from './options.ts'

/* The options of a resource without its types. The types of `options.ts` check what an author writes; the code below
 * them treats all tables the same. */

export type Row = Readonly<Record<string, unknown>>

type Hook<Details> = (work: Work<unknown, string> & Details) => unknown
export interface AnyHooks {
  readonly prepare?: Hook<{ readonly input: unknown; readonly before: Row | undefined }>
  readonly inTransaction?: Hook<{
    readonly em: object
    readonly row: Row
    readonly input: unknown
    readonly before: Row | undefined
  }>
  readonly afterCommit?: Hook<{ readonly row: Row }>
}

export interface AnyList extends Operation {
  readonly filters?: readonly string[]
  readonly search?: readonly string[]
  readonly range?: string
  readonly sort?: readonly string[]
  readonly order?: string
}

export interface AnyAction extends Operation, AnyHooks {
  readonly title: Text
  readonly confirm?: Text
  readonly tone?: 'danger'
  readonly input?: TObject
  readonly set:
    | Row
    | ((work: Work<unknown, string> & { readonly row: Row; readonly input: unknown }) => Row | Promise<Row>)
  readonly when?: Row
  readonly bulk?: true
}

export interface AnyOptions {
  readonly area: string
  readonly path: string
  readonly name?: string
  readonly reasonNames?: { readonly notFound?: string; readonly conflict?: string }
  readonly reasons?: Readonly<Record<string, Reason>>
  readonly list?: AnyList
  readonly get?: Operation
  readonly create?: Operation & AnyHooks & { readonly response?: 'id' }
  readonly change?: Operation & AnyHooks
  readonly remove?: Operation & AnyHooks & { readonly bulk?: true }
  readonly actions?: Readonly<Record<string, AnyAction>>
  readonly audit?:
    | { readonly kind?: string; readonly summary?: (row: Row, verb: string, changed: Row) => AuditSummary }
    | 'none'
  readonly retention?: { readonly by: string; readonly keep: string; readonly keys: `platform.${string}` }
  readonly labels?: string
  readonly page?: Omit<PageOptions<never>, 'columns'> & {
    readonly columns?: (row: PageRow<never>) => readonly PageColumn[]
  }
}

/** A resource: its options with their defaults, and its errors. */
export interface Definition {
  readonly options: AnyOptions
  readonly shape: Shape<Row, Row, Row, Row>
  readonly table: TableDescription
  /** Column with the name of an object for people, if there is one. */
  readonly name: string | undefined
  readonly notFound: string
  readonly conflict: string
  /** First word of the audited actions; `undefined` without audit. */
  readonly auditKind: string | undefined
  readonly error: ErrorOf<string>
  readonly businessErrors: NonNullable<PluginDeclaration['businessErrors']>[number]
  /** Texts of the reasons in both languages, by the last part of the reason. */
  readonly texts: Readonly<Record<string, Localized>>
}

/**
 * @throws TypeError for an operation with `access: 'user'` on a table without an owner, or with `scope: 'caller'`; for
 *   an owner column that responses need but the shape omits
 */
export function definitionOf(shape: Definition['shape'], options: AnyOptions): Definition {
  const { of: table } = shape
  const operations = operationsOf(options)
  for (const [name, { access, scope }] of operations) {
    if (table.owner === undefined && (access === 'user' || scope === 'caller'))
      throw new TypeError(
        `${table.name}: the operation "${name}" is about the rows of a user, and the table has no owner.`,
      )
  }
  const columns = Object.entries(table.columns)
  const firstText = columns.find(
    ([
      ,
      {
        description: { kind, isShown, role },
      },
    ]) => kind === 'text' && isShown && role === undefined,
  )
  const { notFound = 'not-found', conflict = 'version-conflict' } = options.reasonNames ?? {}
  const texts = { ...reasonTexts(table, notFound, conflict), ...ownTexts(options.reasons ?? {}) }
  const codes = {
    [notFound]: '404',
    ...(table.hasEdits ? { [conflict]: '409' } : {}),
    ...Object.fromEntries(table.uniques.map(({ reason }) => [reason, '409'])),
    ...Object.fromEntries(Object.entries(options.reasons ?? {}).map(([name, { code }]) => [name, code])),
  }
  const english = Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, text.en]))
  const businessError = defineBusinessErrors(options.area, english, codes)
  const isAudited =
    options.audit !== 'none' && operations.some(([name, { access }]) => access !== 'user' && !reads.has(name))
  const { kind = table.name.replaceAll('_', '-') } = options.audit === 'none' ? {} : (options.audit ?? {})
  return {
    options,
    shape,
    table,
    name: options.name ?? firstText?.[0],
    notFound,
    conflict,
    auditKind: isAudited ? kind : undefined,
    error: (name, details = {}): BusinessError => businessError(name, details),
    businessErrors: businessError,
    texts,
  }
}

const reads: ReadonlySet<string> = new Set(['list', 'get'])

/** Returns the declared operations by name. */
export const operationsOf = ({ list, get, create, change, remove, actions = {} }: AnyOptions) =>
  Object.entries({ list, get, create, change, remove, ...actions }).flatMap(([name, operation]) =>
    operation === undefined ? [] : [[name, operation] as const],
  )

/** Rows that an operation may reach. `own`: those of the caller, for operations without a permission. */
export type Reach = 'own' | RowVisibility

export function reachOf({ access, scope }: Operation, { owner }: TableDescription): Reach {
  if (access === 'user') return 'own'
  return scope ?? (owner === undefined ? 'none' : 'caller')
}

export const permissionOf = ({ access }: Operation): Permission | undefined => (access === 'user' ? undefined : access)

/** Returns a title as it is written within a sentence: `Note` becomes `note`, `API key` stays. */
export const inSentence = (title: string) =>
  /^[A-Z][a-z]/.test(title) ? title.charAt(0).toLowerCase() + title.slice(1) : title

function reasonTexts({ title, uniques, columns }: TableDescription, notFound: string, conflict: string) {
  const { en, 'zh-CN': zh } = title.one
  const one = inSentence(en)
  const taken = uniques.map(({ columns: [first = ''], reason }) => {
    const column = columns[first]?.description.title ?? { en: first, 'zh-CN': first }
    const text = {
      en: `Another ${one} has the same value of "${column.en}".`,
      'zh-CN': `另一个${zh}的“${column['zh-CN']}”与此相同。`,
    }
    return [reason, text] as const
  })
  return {
    [notFound]: { en: `The ${one} {{id}} does not exist.`, 'zh-CN': `没有编号为 {{id}} 的${zh}。` },
    [conflict]: {
      en: `Another user changed this ${one}. Reload to see the new version.`,
      'zh-CN': `该${zh}已被其他用户修改，请重新加载以查看新版本。`,
    },
    ...Object.fromEntries(taken),
  }
}

const ownTexts = (reasons: Readonly<Record<string, Reason>>): Readonly<Record<string, Localized>> =>
  Object.fromEntries(Object.entries(reasons).map(([name, { text }]) => [name, localizedOf(text)]))
