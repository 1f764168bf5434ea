import type { SqlEntityManager } from '@mikro-orm/sql'
import type { DetailPageDeclaration, ListPageDeclaration, PageColumn, PageNavigationPlace, Row } from '@plinth/admin'
import type { Database } from '@plinth/database'
import type { Route, RouteDeclaration, RowVisibility } from '@plinth/http'
import type { Identity, Operator, Principal } from '@plinth/iam'
import type {
  AuditSummary,
  AuditTexts,
  BusinessError,
  Kernel,
  KeyDeclarations,
  MessageCatalogues,
  PermissionDeclaration,
  PersonalTable,
  PluginDeclaration,
  ScheduledTask,
} from '@plinth/kernel'
import type { PlainName, Shape, Text, TextName, TimeName } from '@plinth/table'
import type { Static, TObject, TSchema } from 'typebox'
import type { Store } from './store.ts'

export type AnyShape = Shape<object, object, object, object>
type JsonOf<S> = S extends { readonly '~json'?: infer J } ? NonNullable<J> : never
export type RowIn<S> = JsonOf<S> extends { readonly row: infer R extends object } ? R : never
export type ViewIn<S> = JsonOf<S> extends { readonly view: infer V extends object } ? V : never
export type CreateIn<S> = JsonOf<S> extends { readonly create: infer I extends object } ? I : never
export type ChangeIn<S> = JsonOf<S> extends { readonly change: infer I extends object } ? I : never
export type ColumnsIn<S> = S extends { readonly columns: infer C }
  ? C
  : S extends { readonly '~columns'?: infer C }
    ? NonNullable<C>
    : never

/** A permission, declared once and used by any number of operations. */
export interface Permission {
  readonly code: string
  readonly title: Text
}

/** Declares a permission with its name in English and Chinese. */
export const permission = (code: string, en: string, zh: string): Permission => ({ code, title: [en, zh] })

/**
 * Options of every operation. Everything has a default but `access`. The members of `RouteDeclaration` replace those of
 * the resource: `annotations: []` for a creation without `Idempotency-Key`.
 */
export interface Operation
  extends Partial<Pick<RouteDeclaration, 'path' | 'summary' | 'description' | 'annotations' | 'fresh'>> {
  /** `user`: signed-in users, for their own rows. A permission: rows in the data scope of the caller. */
  readonly access: 'user' | Permission
  /** For a permission. Default: `caller` if the table has an owner, otherwise `none`. */
  readonly scope?: RowVisibility
  /** Reasons that hooks throw, such as `shop.closed`. Those of the operation itself are added. */
  readonly throws?: readonly string[]
}

/** The argument of every hook. */
export interface Work<P> {
  readonly parts: P
  readonly operator: Operator
  /** Time of the database. */
  readonly now: Date
}
interface Writing<S, P> extends Work<P> {
  readonly em: SqlEntityManager
  readonly row: RowIn<S>
}

/**
 * Code around a write. If `prepare` or `inTransaction` throws, nothing is written.
 *
 * - `prepare`: before the transaction, for checks and calls to other services. Returns more columns to write.
 * - `inTransaction`: after the row was written, in its transaction. It may be repeated after a conflict, so it must only
 *   use the database.
 * - `afterCommit`: after the commit, never after a rollback. Its errors are logged.
 */
export interface Hooks<S, P, Input, Before> {
  readonly prepare?: (
    work: Work<P> & { readonly input: Input; readonly before: Before },
    // biome-ignore lint/suspicious/noConfusingVoidType: most checks return nothing
  ) => Partial<RowIn<S>> | void | Promise<Partial<RowIn<S>> | void>
  readonly inTransaction?: (work: Writing<S, P> & { readonly input: Input; readonly before: Before }) => unknown
  readonly afterCommit?: (work: Work<P> & { readonly row: RowIn<S> }) => unknown
}

/** Schemas of query parameters. */
export type Query = Readonly<Record<string, TSchema>>

export interface ListOptions<S, P, Q extends Query> extends Operation {
  /**
   * Query parameters that a column must equal. An index should begin with the column. The page shows them as filters. All
   * plain columns of the response can be filtered with the parameter `filter` in addition.
   */
  readonly filters?: readonly PlainName<ColumnsIn<S>>[]
  /** Columns that the parameter `keyword` searches. */
  readonly search?: readonly TextName<ColumnsIn<S>>[]
  /** Column of the parameters `from` and `to`. */
  readonly range?: TimeName<ColumnsIn<S>>
  /** Columns by which callers may sort, in addition to the default: the newest first. */
  readonly sort?: readonly PlainName<ColumnsIn<S>>[]
  /** More query parameters, for `where`. They replace the parameters of filters and search with the same name. */
  readonly query?: Q
  /**
   * Returns a condition of the entity manager, in addition to those of the filters and of the data scope. A member with the
   * name of a filter replaces the condition of the filter; the value `undefined` removes it.
   */
  readonly where?: (query: Static<TObject<Q>>, parts: P) => object | Promise<object>
}

export interface CreateOptions<S, P> extends Operation, Hooks<S, P, CreateIn<S>, undefined> {
  /** `id`: the response contains only the id. Default: the new object. */
  readonly response?: 'id'
  /**
   * Adds `POST <path>/import` for at most 1,000 rows, and the import of CSV files to the page. `prepare` is also called for
   * rows that are only checked, so it must change nothing.
   */
  readonly import?: true
}

export type ChangeOptions<S, P> = Operation & Hooks<S, P, ChangeIn<S>, RowIn<S>>

export interface RemoveOptions<S, P> extends Operation, Hooks<S, P, undefined, RowIn<S>> {
  /**
   * Adds `POST <path>/delete-batch` for at most 200 ids. Unknown rows, rows outside the data scope and rows that change
   * meanwhile are skipped.
   */
  readonly bulk?: true
  /** Label of the button on the page. Default: *Delete*. The audit still contains `delete`. */
  readonly title?: Text
  /** Text of the dialog; `{{name}}` is a member of the row. */
  readonly confirm?: Text
}

export type InputIn<Input> = Input extends TSchema ? Static<Input> : undefined

/** `POST <path>/:id/<name>`: a switch, or a change with its own input. */
export interface ActionOptions<S, P, Input> extends Operation, Omit<Hooks<S, P, InputIn<Input>, RowIn<S>>, 'prepare'> {
  /** Label of the button, and name of the action in the audit. */
  readonly title: Text
  /** One sentence with the effect. The dialog shows it; `{{name}}` is a member of the row. */
  readonly confirm?: Text
  readonly tone?: 'danger'
  /**
   * Object schema of the body. Members with the name of a column have its title, and on the page its unit or picker. With
   * an input, callers may send `Idempotency-Key`.
   */
  readonly input?: Input
  /** Columns to write: constants, or a function that may throw a business error. It runs before the transaction. */
  readonly set:
    | Partial<RowIn<S>>
    | ((
        work: Work<P> & { readonly row: RowIn<S>; readonly input: InputIn<Input> },
      ) => Partial<RowIn<S>> | Promise<Partial<RowIn<S>>>)
  /** Name of the action that reverses this one. Then neither has a dialog, and the message has a button *Undo*. */
  readonly undo?: string
  /** The page shows the action only for rows with these values. It is no check. */
  readonly when?: { readonly [K in keyof ViewIn<S>]?: ViewIn<S>[K] | readonly ViewIn<S>[K][] }
}

export interface AuditOptions<S> {
  /** First word of the actions, such as `notification-rule`. Default: the table name with hyphens. */
  readonly kind?: string
  /**
   * Returns the summary of an entry. Default: the name, all columns of a new row, and the old and new values of a
   * changed row.
   *
   * @param changed columns that the caller or the code has set
   */
  readonly summary?: (row: RowIn<S>, verb: string, changed: Partial<RowIn<S>>) => AuditSummary
}

export interface PageOptions<S> {
  readonly group: PageNavigationPlace['group']
  readonly order: number
  /** Columns of the list. Default: all columns, the long ones hidden. */
  readonly columns?: (row: Row<ViewIn<S>>) => readonly PageColumn[]
  /**
   * A column of `filters` with few values: users can also see the rows as cards by this column. An action moves a card if
   * its `set` is a constant with this column.
   */
  readonly board?: PlainName<ColumnsIn<S>>
}

/** Operations exist only if they are declared. */
export interface ResourceOptions<S, P, B, Q extends Query = Record<never, never>> {
  /** First part of the reasons, such as `notes` in `notes.not-found`. */
  readonly area: string
  /** Path of the list, such as `/api/v1/admin/mall/vouchers`. */
  readonly path: string
  /** The paths for permissions are those of an earlier release, without `/admin/`. Do not set it for new paths. */
  readonly legacyPath?: true
  /** Last part of the reason for an unknown row. Default: `not-found`. */
  readonly notFound?: string
  /**
   * Errors of the plugin, if it declares the reasons of the resource: the one for an unknown row, `version-conflict` and
   * those of unique values. Default: errors with texts from the titles of the table.
   */
  readonly errors?: NonNullable<PluginDeclaration['businessErrors']>[number] & ((...of: never) => BusinessError)
  /** Returns the condition for the rows in the data scope of a caller, if the columns of `owner` do not decide it. */
  readonly rows?: (principal: Principal, parts: P) => object | Promise<object>
  readonly list?: ListOptions<S, P, Q>
  readonly get?: Operation
  readonly create?: CreateOptions<S, P>
  readonly change?: ChangeOptions<S, P>
  readonly remove?: RemoveOptions<S, P>
  readonly actions?: { readonly [K in keyof B]: ActionOptions<S, P, B[K]> }
  /** Default: no audit for `user`; an entry for each write with a permission. */
  readonly audit?: AuditOptions<S>
  /** Purge of old rows. `0` as value of the key keeps all rows. */
  readonly retention?: {
    readonly by: TimeName<ColumnsIn<S>>
    /** Default of the key `<keys>.retention`, such as `365d`. */
    readonly keep: string
    readonly keys: `platform.${string}`
  }
  readonly page?: PageOptions<S>
}

/** Operations that only read. */
export type ReadOptions<S, Q extends Query> = Pick<
  ResourceOptions<S, unknown, unknown, Q>,
  'area' | 'path' | 'notFound' | 'list' | 'get' | 'retention' | 'page'
>

/** Services that a resource needs. Operations that only read need only the database. */
export interface ResourceServices {
  readonly database: Database
  /** Needed for rows of users. */
  readonly identity?: Identity
  readonly kernel: Kernel
}
export type ResourceParts<P> = { readonly parts: P; readonly services: ResourceServices }

/** Parts of a resource. Each is the ordinary object that one would write by hand. */
export interface ResourceDeclarations<P, Parts = ResourceParts<P>> {
  readonly shape: AnyShape
  readonly routes: readonly Route<Parts>[]
  /** The routes by the name of their operation, to add only some of them. */
  readonly operations: Readonly<Record<string, Route<Parts>>>
  readonly permissions: readonly PermissionDeclaration[]
  readonly businessErrors: NonNullable<PluginDeclaration['businessErrors']>[number]
  readonly messages: MessageCatalogues
  /** Keys of the retention. */
  readonly config: KeyDeclarations
  readonly tasks: readonly ScheduledTask[]
  readonly audited: Readonly<Record<string, AuditTexts>>
  readonly pages: readonly (ListPageDeclaration | DetailPageDeclaration)[]
  readonly personalTables: (db: Database) => readonly PersonalTable[]
}

/** A resource of `readOnlyResource`. */
export type ReadOnlyResource = ResourceDeclarations<unknown, { readonly services: Pick<ResourceServices, 'database'> }>

export interface Resource<S, P> extends ResourceDeclarations<P> {
  /** Reads and writes rows with the guarantees of the operations, for code of the plugin. It calls no hooks. */
  readonly store: (at: ResourceParts<P>, operator: Operator) => Store<S>
}
