import { type LocalizedText, localize, type Shape } from '@plinth/kernel'
import type { TSchema } from 'typebox'
import { shapeOf } from './page-vocabulary.ts'

/** Data of a declaration with its texts in one language. */
export type Translated<T> =
  T extends Exclude<LocalizedText, string>
    ? string
    : T extends readonly (infer Item)[]
      ? readonly Translated<Item>[]
      : T extends object
        ? { readonly [Name in keyof T]: Translated<T[Name]> }
        : T

/** True for the schema of a text in both languages. */
export const isText = ({ properties }: Shape): boolean => properties !== undefined && 'zh-CN' in properties

/**
 * Returns data of a declaration with its texts in one language. Everything else stays the same.
 *
 * @param schema schema of the data, which shows where the texts are
 */
export const translated = <T>(schema: TSchema, data: T, locale: string): Translated<T> =>
  partIn(shapeOf(schema), data, locale) as Translated<T>

function partIn(schema: Shape, part: unknown, locale: string): unknown {
  if (part === undefined || part === null) return part
  if (isText(schema)) return localize(part as LocalizedText, locale)
  const { items, oneOf } = schema
  if (Array.isArray(part)) return items === undefined ? part : part.map((item) => partIn(items, item, locale))
  if (typeof part !== 'object') return part
  const { properties = {}, additionalProperties } = oneOf === undefined ? schema : variantOf(schema, part)
  const others = typeof additionalProperties === 'object' ? additionalProperties : {}
  return Object.fromEntries(
    Object.entries(part).map(([name, member]) => [name, partIn(properties[name] ?? others, member, locale)]),
  )
}

function variantOf({ discriminator, oneOf = [] }: Shape, part: object): Shape {
  const { propertyName = '' } = discriminator ?? {}
  const tag: unknown = Reflect.get(part, propertyName)
  return oneOf.find(({ properties = {} }) => properties[propertyName]?.enum?.some((value) => value === tag)) ?? {}
}
