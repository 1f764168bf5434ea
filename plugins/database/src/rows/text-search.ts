import type { EntityName } from '@mikro-orm/core'
import type { SqlEntityManager } from '@mikro-orm/sql'
import { familyOf } from './columns.ts'

/**
 * Text that a row must hold in one of its columns, anywhere in it. Letters A to Z count in any case; all others do in columns
 * that hold `foldText` of their text, because databases fold differently. There are no wild cards.
 */
export interface TextSearch {
  readonly text: string
  /** Properties of the entity, or of the one in `of`; of JSON its text counts. */
  readonly properties: readonly string[]
  /** Another entity that has the properties: the property `by` of the rows holds its primary key. */
  // biome-ignore lint/suspicious/noExplicitAny: the rows of any entity
  readonly of?: { readonly entity: EntityName<any>; readonly by: string }
}

/**
 * The form in which texts are equal that differ in case or compatible characters alone, in the way of NFKC_Casefold (UAX 31,
 * 5): also where a case has several small letters (final sigma, dotless i, sharp s).
 */
export const foldText = (text: string) =>
  text.normalize('NFKC').toLowerCase().toUpperCase().toLowerCase().normalize('NFKC')

/** Whether one of the texts holds another, folded: the search of lists that lie in memory. */
export function holdsText(texts: readonly string[], wanted: string): boolean {
  const folded = foldText(wanted)
  return texts.some((text) => foldText(text).includes(folded))
}

export interface SqlText {
  readonly sql: string
  readonly parameters: readonly unknown[]
}

/** Condition of a search. A function and not `like`, whose wild cards and escapes differ between databases. */
export function holdsSql<T extends object>(
  em: SqlEntityManager,
  entity: EntityName<T>,
  { text, properties }: TextSearch,
  alias: string,
): SqlText {
  const family = familyOf(em.getPlatform())
  const find = family === 'postgresql' ? 'strpos' : 'instr'
  const type = family === 'mysql' ? 'char' : 'text'
  const { properties: columns } = em.getMetadata().get<T>(entity)
  // What the database folds keeps letters that folding as a whole replaces, such as sharp s; SQLite folds A to Z alone.
  const inAscii = text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())
  const forms = [...new Set([foldText(text), text.normalize('NFKC').toLowerCase(), inAscii])]
  const terms = properties.flatMap((property) => {
    const [column] = (columns as Readonly<Record<string, { fieldNames: string[] }>>)[property]?.fieldNames ?? []
    return forms.map((form) => ({ sql: `${find}(lower(cast(${alias}.${column} as ${type})), ?) > 0`, form }))
  })
  return { sql: `(${terms.map(({ sql }) => sql).join(' or ')})`, parameters: terms.map(({ form }) => form) }
}
