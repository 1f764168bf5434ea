import {
  adminDetail,
  adminList,
  type DetailPageDeclaration,
  type ListPageDeclaration,
  type PageAction,
  type PageBulkAction,
  type PageColumn,
  type PageForm,
  type PageLabelPicker,
  type Row as PageRow,
  type Tone,
} from '@plinth/admin'
import { operationIdOf } from '@plinth/http'
import { bilingual, type Localized, type LocalizedText } from '@plinth/kernel'
import { type ColumnDescription, localizedOf, titleOfChoice } from '@plinth/table'
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

  list({ group, order, columns }: Page): ListPageDeclaration {
    const { options, table } = this.#definition
    const { many } = table.title
    const { search = [], filters = [] } = options.list ?? {}
    return adminList(this.#operation('list'), (row) => {
      const shown = columns?.(row as never) ?? this.#columns(row as never, 'list')
      const page: Omit<ListPageDeclaration, 'kind' | 'source'> = {
        id: this.#ids.list,
        title: many,
        place: { group, order },
        key: 'id',
        columns: shown,
        live: [table.name],
        empty: bilingual('No entries yet.', '暂无记录。'),
        ...(options.get && { detail: this.#ids.detail }),
        ...(search.length > 0 && { search: 'keyword' }),
        filters: filters.map((name) => this.#filter(name)),
        ...(options.create && { create: this.#form('create', bilingual('New', '新建')) }),
        actions: this.#actions(),
        bulk: this.#bulk(),
      }
      return page as never
    })
  }

  detail(): DetailPageDeclaration {
    const { options, table, name } = this.#definition
    return adminDetail(this.#operation('get'), (it) => {
      const page: Omit<DetailPageDeclaration, 'kind' | 'source'> = {
        id: this.#ids.detail,
        title: table.title.one,
        name: name ?? 'id',
        param: 'id',
        live: [table.name],
        sections: [{ columns: this.#columns(it as never, 'detail') }],
        ...(options.change && {
          form: {
            ...this.#form('change', bilingual('Change', '修改')),
            params: { id: { field: 'id' } },
            ...(table.hasEdits && { version: 'version' }),
          },
        }),
        actions: this.#actions(),
      }
      return page as never
    })
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
        const columns = row.others({ properties: { [member]: own?.schema ?? {} } }, [])
        return columns.map((column) => (own === undefined ? column : { ...column, title: own.title }))
      }
      const isHidden = place === 'list' && (rarely.has(member) || ['longText', 'json'].includes(description.kind))
      return [
        {
          ...columnOf(member, description),
          ...(description.title && { title: description.title }),
          ...(isHidden && { hidden: true }),
          ...(place === 'list' && member === name && this.#definition.options.get && { link: true }),
        },
      ]
    })
  }

  #filter(name: string): NonNullable<ListPageDeclaration['filters']>[number] {
    const description = this.#definition.table.columns[name]?.description
    if (description?.choices !== undefined) return { name, labels: labelsOf(description) }
    const picker = description && pickerOf(description)
    return picker === undefined ? { name } : { name, options: picker }
  }

  #form(operation: 'create' | 'change', title: LocalizedText): PageForm {
    const { shape, table } = this.#definition
    const fields = Object.keys(shape.schemas[operation].properties).filter((name) => !never.has(name))
    const described = fields.map((name) => [name, table.columns[name]?.description] as const)
    const options = described.flatMap(([name, one]) => {
      const picker = one && pickerOf(one)
      return picker === undefined ? [] : [[name, picker] as const]
    })
    const long = described.flatMap(([name, one]) => (one?.kind === 'longText' ? [name] : []))
    const amounts = described.flatMap(([name, one]) =>
      one?.unit === undefined ? [] : [[name, 'asset' in one.unit ? { unit: one.unit.asset } : { field: one.unit.in }]],
    )
    return {
      operation: this.#operation(operation),
      title,
      fields,
      ...(options.length > 0 && { options: Object.fromEntries(options) }),
      ...(long.length > 0 && { long }),
      ...(amounts.length > 0 && { amounts: Object.fromEntries(amounts) }),
    }
  }

  #actions(): readonly PageAction[] {
    const { options, table, name } = this.#definition
    const sent = { version: { field: 'version' } }
    const own = Object.entries(options.actions ?? {}).map(
      ([action, { title, confirm, tone, input, when }]): PageAction => ({
        operation: this.#operation(action),
        label: localizedOf(title),
        params: { id: { field: 'id' } },
        ...(table.hasEdits && { body: sent }),
        ...(input && { ask: Object.keys(input.properties) }),
        ...(confirm && { confirm: localizedOf(confirm) }),
        ...(tone && { tone }),
        ...(when && {
          when: Object.fromEntries(Object.entries(when).map(([member, value]) => [member, [value].flat()])) as never,
        }),
      }),
    )
    if (options.remove === undefined) return own
    const confirm =
      name === undefined
        ? bilingual('You cannot undo this.', '此操作无法撤销。')
        : bilingual(`{{${name}}} will be deleted. You cannot undo this.`, `将删除 {{${name}}}，此操作无法撤销。`)
    const remove: PageAction = {
      operation: this.#operation('remove'),
      label: deleteLabel,
      params: { id: { field: 'id' } },
      ...(table.hasEdits && { query: sent }),
      confirm,
      tone: 'danger',
    }
    return [...own, remove]
  }

  #bulk(): readonly PageBulkAction[] {
    const { actions = {}, remove } = this.#definition.options
    const own = Object.entries(actions).flatMap(([action, { title, tone, bulk }]): readonly PageBulkAction[] =>
      bulk
        ? [
            {
              operation: this.#operation(`${action}Batch`),
              label: localizedOf(title),
              ids: 'ids',
              ...(tone && { tone }),
            },
          ]
        : [],
    )
    if (!remove?.bulk) return own
    const confirm = bilingual('You cannot undo this.', '此操作无法撤销。')
    return [
      ...own,
      { operation: this.#operation('deleteBatch'), label: deleteLabel, ids: 'ids', confirm, tone: 'danger' },
    ]
  }
}

const deleteLabel = bilingual('Delete', '删除')

/** The kind of labels may belong to a plugin that is not loaded. */
const pickerOf = ({ labels, title }: ColumnDescription): PageLabelPicker | undefined =>
  labels === undefined ? undefined : { labels, optional: true, ...(title && { title }) }

const labelsOf = ({ choices = {} }: ColumnDescription) =>
  Object.fromEntries(Object.entries(choices).map(([value, choice]) => [value, titleOfChoice(choice)]))

function columnOf(field: string, description: ColumnDescription): PageColumn {
  const { kind, labels, choices = {}, unit } = description
  switch (kind) {
    case 'id':
      return labels === undefined ? { field, as: 'text' } : { field, as: 'reference', of: { labels, optional: true } }
    case 'number':
      return { field, as: 'count' }
    case 'choice': {
      const tones = Object.entries(choices).map(([value, choice]) => [value, 'tone' in choice ? choice.tone : 'quiet'])
      return {
        field,
        as: 'status',
        tones: Object.fromEntries(tones) as Readonly<Record<string, Tone>>,
        labels: labelsOf(description),
      }
    }
    case 'amount':
      return { field, as: 'amount', ...(unit && ('asset' in unit ? { asset: unit.asset } : { currency: unit.in })) }
    case 'longText':
      return { field, as: 'text' }
    default:
      return { field, as: kind }
  }
}
