import {
  adminDetail,
  adminList,
  bulkOutcome,
  type DetailPageDeclaration,
  type ListPageDeclaration,
  type PageAction,
  type PageColumn,
  type PageForm,
  type Row as PageRow,
} from '@plinth/admin'
import { operationIdOf } from '@plinth/http'
import { bilingual, type Localized, type LocalizedText } from '@plinth/kernel'
import { inputsOf, localizedOf, pageColumnOf, pickerOf, titlesOfChoices } from '@plinth/table'
import type { Definition } from './definition.ts'
import type { AnyRoute } from './routes.ts'

/** Ids of the pages of a resource: its list, and one row. */
export function pageIdsOf({ options: { area }, table: { title } }: Definition) {
  const word = ({ en }: Localized) => en.toLowerCase().replace(/[^a-z0-9]+/g, '-')
  return { list: `${area}.${word(title.many)}`, detail: `${area}.${word(title.one)}` }
}

/** Returns the page of the list, and the page of one row if the resource has the operation `get`. */
export function pagesOf(
  definition: Definition,
  operations: Readonly<Record<string, AnyRoute>>,
): readonly (ListPageDeclaration | DetailPageDeclaration)[] {
  const { page, list, get } = definition.options
  if (page === undefined || list === undefined) return []
  const pages = new Pages(definition, operations)
  return [pages.list(page), ...(get === undefined ? [] : [pages.detail()])]
}

/** Columns that rarely help in a list. */
const rarely: ReadonlySet<string> = new Set(['updatedAt', 'updatedBy'])
/** Columns that no page shows, because people read the name. */
const never: ReadonlySet<string> = new Set(['id', 'version'])

/** Number of members on a card of a board. */
const maxCardMembers = 2

type Page = NonNullable<Definition['options']['page']>

class Pages {
  readonly #definition: Definition
  readonly #operations: Readonly<Record<string, AnyRoute>>
  readonly #ids: ReturnType<typeof pageIdsOf>

  constructor(definition: Definition, operations: Readonly<Record<string, AnyRoute>>) {
    this.#definition = definition
    this.#operations = operations
    this.#ids = pageIdsOf(definition)
  }

  list({ group, order, columns, board }: Page): ListPageDeclaration {
    const { options, table } = this.#definition
    const { search = [], filters = [] } = options.list ?? {}
    return adminList(this.#operation('list'), (row) => {
      const shown = columns?.(row as never) ?? this.#columns(row as never, 'list')
      return {
        id: this.#ids.list,
        title: table.title.many,
        place: { group, order },
        key: 'id',
        columns: shown,
        live: [table.name],
        empty: bilingual('No entries yet.', '暂无记录。'),
        ...(options.get && { detail: this.#ids.detail }),
        ...(search.length > 0 && { search: 'keyword' }),
        filters: filters.map((name) => this.#filter(name)),
        ...(options.create && { create: this.#form('create', bilingual('New', '新建')) }),
        ...(options.create?.import && { import: { operation: this.#operation('import') } }),
        ...this.#edit(shown),
        ...(board && { board: { column: board, cards: this.#cards(shown, board) } }),
        actions: this.#actions(),
        ...(options.remove?.bulk && {
          bulk: [
            {
              ...deletion,
              ...bulkOutcome,
              operation: this.#operation('deleteBatch'),
              ids: 'ids',
              confirm: irrevocable,
            },
          ],
        }),
      } satisfies Omit<ListPageDeclaration, 'kind' | 'source'> as never
    })
  }

  /** Returns the members on a card: the first columns of the list after the name. */
  #cards(shown: readonly PageColumn[], board: string): readonly string[] {
    const { name } = this.#definition
    const fields = shown.flatMap(({ field, hidden }) => (hidden || field === board || field === name ? [] : [field]))
    return fields.slice(0, maxCardMembers)
  }

  /** Returns the form for the cells of a list, if each of its fields can be sent alone. */
  #edit(shown: readonly PageColumn[]): Pick<ListPageDeclaration, 'edit'> {
    const { options, shape } = this.#definition
    const required = shape.schemas.change.required?.filter((name) => name !== 'version') ?? []
    if (options.change === undefined || required.length > 0) return {}
    const names = new Set(shown.map(({ field }) => field))
    const edit = this.#changeForm((name) => names.has(name))
    return edit.fields.length === 0 ? {} : { edit }
  }

  #changeForm(isField?: (name: string) => boolean): PageForm {
    return {
      ...this.#form('change', bilingual('Change', '修改'), isField),
      params: { id: { field: 'id' } },
      ...(this.#hasVersion && { version: 'version' }),
    }
  }

  detail(): DetailPageDeclaration {
    const { options, table, name } = this.#definition
    return adminDetail(
      this.#operation('get'),
      (it) =>
        ({
          id: this.#ids.detail,
          title: table.title.one,
          name: name ?? 'id',
          param: 'id',
          live: [table.name],
          sections: [{ columns: this.#columns(it as never, 'detail') }],
          ...(options.change && {
            form: this.#changeForm(),
          }),
          actions: this.#actions(),
        }) satisfies Omit<DetailPageDeclaration, 'kind' | 'source'> as never,
    )
  }

  /** True if the page knows the version, which it then sends with each change. */
  get #hasVersion(): boolean {
    const { table, shape } = this.#definition
    return table.hasEdits && 'version' in shape.schemas.view.properties
  }

  #operation(name: string): never {
    const { method, path } = (this.#operations[name] as AnyRoute).declaration
    return operationIdOf(method, path) as never
  }

  #columns(row: PageRow<never>, place: 'list' | 'detail'): readonly PageColumn[] {
    const { shape, table, name } = this.#definition
    return Object.keys(shape.schemas.view.properties).flatMap((member): readonly PageColumn[] => {
      if (never.has(member)) return []
      const own = shape.members[member]
      const description = table.columns[member]?.description
      if (own !== undefined || description === undefined) {
        const columns = row.others({ properties: { [member]: shape.schemas.view.properties[member] ?? {} } }, [])
        return columns.map((column) => (own?.title === undefined ? column : { ...column, title: own.title }))
      }
      const isHidden = place === 'list' && (rarely.has(member) || ['longText', 'json'].includes(description.kind))
      return [
        {
          ...pageColumnOf(member, description),
          ...(description.title && { title: description.title }),
          ...(isHidden && { hidden: true }),
          ...(place === 'list' && member === name && this.#definition.options.get && { link: true }),
        },
      ]
    })
  }

  #filter(name: string): NonNullable<ListPageDeclaration['filters']>[number] {
    const description = this.#definition.table.columns[name]?.description
    if (description?.choices !== undefined) return { name, labels: titlesOfChoices(description) }
    const picker = description && pickerOf(description)
    return picker === undefined ? { name } : { name, options: picker }
  }

  #form(operation: 'create' | 'change', title: LocalizedText, isField = (_name: string) => true): PageForm {
    const { shape, table } = this.#definition
    const { properties } = shape.schemas[operation]
    const names = Object.keys(table.columns).filter((name) => name in properties && !never.has(name) && isField(name))
    return {
      operation: this.#operation(operation),
      title,
      fields: names,
      ...inputsOf(table.columns, names),
      long: names.filter((name) => table.columns[name]?.description.kind === 'longText'),
    }
  }

  #actions(): readonly PageAction[] {
    const { options, table, name } = this.#definition
    const board = options.page?.board
    const sent = { version: { field: 'version' } }
    const own = Object.entries(options.actions ?? {}).map(
      ([action, { title, confirm, tone, input, when, undo, set }]): PageAction => ({
        operation: this.#operation(action),
        label: localizedOf(title),
        params: { id: { field: 'id' } },
        ...(this.#hasVersion && { body: sent }),
        ...(input && { ask: Object.keys(input.properties), ...inputsOf(table.columns, Object.keys(input.properties)) }),
        ...(confirm && { confirm: localizedOf(confirm) }),
        ...(tone && { tone }),
        ...(undo && { undo: this.#operation(undo) }),
        ...(board !== undefined && board in set && { leadsTo: Object(set)[board] }),
        ...(when && {
          when: Object.fromEntries(Object.entries(when).map(([member, value]) => [member, [value].flat()])) as never,
        }),
      }),
    )
    if (options.remove === undefined) return own
    const { title, confirm } = options.remove
    const remove: PageAction = {
      ...deletion,
      ...(title && { label: localizedOf(title) }),
      operation: this.#operation('remove'),
      params: { id: { field: 'id' } },
      ...(this.#hasVersion && { query: sent }),
      confirm:
        confirm !== undefined
          ? localizedOf(confirm)
          : name === undefined
            ? irrevocable
            : bilingual(`{{${name}}} will be deleted. You cannot undo this.`, `将删除 {{${name}}}，此操作无法撤销。`),
    }
    return [...own, remove]
  }
}

const deletion = { label: bilingual('Delete', '删除'), tone: 'danger' } as const
const irrevocable = bilingual('You cannot undo this.', '此操作无法撤销。')
