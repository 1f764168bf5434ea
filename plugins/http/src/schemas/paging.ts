import type { TArray, TOptional, TSchema, TString } from 'typebox'
import { Type } from './schema-builders.ts'

const largestPage = 200

/** Query of a short list that lies in memory (decision B32); `listQuery` is for tables. Spread its members: `Type.Object({ ...pageQuery.properties, keyword: ... })`. */
export const pageQuery = Type.Object({
  page: Type.Integer({ minimum: 1, default: 1, description: 'Page, the first is 1.' }),
  size: Type.Integer({ minimum: 1, maximum: largestPage, default: 20, description: 'Items on a page.' }),
})

/** Schema of one page of a list that answers `pageQuery`. */
export function page<T extends TSchema>(item: T) {
  return Type.Object({
    items: Type.Array(item),
    page: Type.Integer({ minimum: 1 }),
    size: Type.Integer({ minimum: 1 }),
    total: Type.Integer({ minimum: 0, description: 'Items on all pages.' }),
  })
}

export interface SortRule<P extends string = string> {
  readonly property: P
  readonly column: string
  readonly direction: 'asc' | 'desc'
}

export interface SortQuery<P extends string> {
  /** Members for the query schema of the route. */
  readonly properties: { readonly sort: TOptional<TArray<TString>> }
  /** Rules in order of precedence, each property once; the fallback when the caller asks for none. */
  parse(sort: readonly string[] | undefined): readonly SortRule<P>[]
}

/**
 * A whitelist of sortable properties with their columns: `sortQuery({ createdAt: 'created_at' }, '-createdAt')`. Callers
 * write `sort=createdAt`, `sort=-createdAt` or `sort=createdAt,desc`, with the property or the column name, and repeat
 * the parameter for more. Anything else is invalid input: what reaches SQL are the names given here, never the caller's
 * (C-015 to C-017). Throws a RangeError when the fallback is not in the list.
 */
export function sortQuery<const C extends Readonly<Record<string, string>>>(
  columns: C,
  fallback: `${'' | '-'}${keyof C & string}`,
): SortQuery<keyof C & string> {
  type P = keyof C & string
  const properties = new Map<string, P>()
  for (const [property, column] of Object.entries(columns)) properties.set(column, property as P)
  for (const property of Object.keys(columns)) properties.set(property, property as P)

  const names = [...properties.keys()].map(escapePattern).join('|')
  const spelling = Type.String({ pattern: `^(?:-?(?:${names})|(?:${names}),(?:asc|desc))$` })
  const description = `Properties to sort by: ${Object.keys(columns).join(', ')}; descending with a leading minus.`

  const ruleOf = (text: string): SortRule<P> | undefined => {
    const [name = '', order] = text.replace(/^-/, '').split(',')
    const property = properties.get(name)
    if (property === undefined) return undefined
    const direction = text.startsWith('-') || order === 'desc' ? 'desc' : 'asc'
    return { property, column: columns[property] as string, direction }
  }
  if (ruleOf(fallback) === undefined) throw new RangeError(`The fallback "${fallback}" is no sortable property`)
  return {
    properties: {
      sort: Type.Optional(
        Type.Array(spelling, { maxItems: properties.size, description, 'x-sort': Object.keys(columns) }),
      ),
    },
    parse(sort) {
      const rules = new Map<string, SortRule<P>>()
      for (const text of sort === undefined || sort.length === 0 ? [fallback] : sort) {
        const rule = ruleOf(text)
        if (rule !== undefined && !rules.has(rule.property)) rules.set(rule.property, rule)
      }
      return [...rules.values()]
    },
  }
}

const escapePattern = (name: string) => name.replace(/[^\w]/g, '\\$&')
