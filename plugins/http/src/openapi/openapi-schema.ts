import type { MessageTree, Plugin } from '@plinth/kernel'
import { messages as own } from '../texts.ts'

export type FieldTitle = Readonly<Record<string, string>>

type Catalogue = ReadonlyMap<string, FieldTitle>

/** Returns the titles in the part `fields` of messages: `{ shop: { fields: { orderNo: 'Order number' } } }`. */
function catalogueOf(messages: Plugin['messages']): Catalogue {
  const titles = new Map<string, Record<string, string>>()
  for (const [locale, tree] of Object.entries(messages ?? {})) {
    for (const part of Object.values(tree as MessageTree)) {
      const fields = typeof part === 'string' ? undefined : part['fields']
      if (fields === undefined || typeof fields === 'string') continue
      for (const [name, title] of Object.entries(fields)) {
        titles.set(name, { ...titles.get(name), [locale]: String(title) })
      }
    }
  }
  return titles
}

/** Returns a function that finds a title in the messages of a plugin, then in those of `http`. */
export function fieldTitles(plugins: readonly Pick<Plugin, 'id' | 'messages'>[]) {
  const catalogues = new Map<string, Catalogue>()
  const commonTitles = catalogueOf(own)
  const ownOf = (id: string) => {
    const known = catalogues.get(id) ?? catalogueOf(plugins.find((plugin) => plugin.id === id)?.messages)
    catalogues.set(id, known)
    return known
  }
  return (plugin: string, name: string): FieldTitle | undefined => ownOf(plugin).get(name) ?? commonTitles.get(name)
}

/** Returns the titles for the API description: `title` is in English, `x-title` in all languages. */
export const titleProperties = (title: FieldTitle | undefined) =>
  title === undefined ? {} : { ...(title['en'] === undefined ? {} : { title: title['en'] }), 'x-title': title }

type Json = Record<string, unknown>
type TitleOf = (name: string) => FieldTitle | undefined
type Use = 'input' | 'output'

const isJson = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)
const maps = new Set(['properties', 'patternProperties'])
const noNames: ReadonlyMap<string, string> = new Map()
/** Keywords that contain values instead of schemas. */
const verbatim = new Set(['default', 'examples', 'const', 'enum'])

/**
 * Converts schemas to JSON Schema 2020-12 for OpenAPI 3.1. Tuples become `prefixItems`. Local definitions (`$defs`)
 * become components, because references start at the root of the document.
 */
export class SchemaWriter {
  readonly components: Record<string, Json> = {}
  readonly #known = new Map<string, string>()
  /** Converted schemas. They are cached, because most schemas are used in several places. */
  readonly #written = { input: new Map<TitleOf, Map<Json, Json>>(), output: new Map<TitleOf, Map<Json, Json>>() }

  /**
   * Converts a schema. In an `input` schema, members with a default are optional.
   *
   * @param titleOf part of the cache key: pass the same function for the same titles
   */
  write(schema: object, use: Use, titleOf: TitleOf): Json {
    return this.#convert(schema as Json, use, titleOf, noNames)
  }

  component(name: string, schema: object, titleOf: TitleOf): { readonly $ref: string } {
    this.components[name] = this.write(schema, 'output', titleOf)
    return { $ref: pointer(name) }
  }

  #convert(schema: Json, use: Use, titleOf: TitleOf, outer: ReadonlyMap<string, string>): Json {
    // The target of a reference depends on the surrounding `$defs`, so the cache is not used.
    if (outer !== noNames) return this.#convertAnew(schema, use, titleOf, outer)
    const written = this.#written[use].get(titleOf) ?? new Map<Json, Json>()
    this.#written[use].set(titleOf, written)
    const result = written.get(schema) ?? this.#convertAnew(schema, use, titleOf, outer)
    written.set(schema, result)
    return result
  }

  #convertAnew(schema: Json, use: Use, titleOf: TitleOf, outer: ReadonlyMap<string, string>): Json {
    const name = schema['x-name']
    if (typeof name === 'string') return this.#named(name, schema, use, titleOf, outer)
    const names = isJson(schema['$defs']) ? this.#hoist(schema['$defs'], use, titleOf, outer) : outer
    const any = (value: unknown) => (isJson(value) ? this.#convert(value, use, titleOf, names) : value)
    // Converts a member. A title in its schema has priority over the general title for its name.
    const member = (name: string, node: unknown) => {
      const title = titleProperties(titleOf(name))
      if (!isJson(node)) return title
      return { ...('title' in node ? {} : title), ...this.#convert(node, use, titleOf, names) }
    }
    const result: Json = {}
    for (const [keyword, value] of Object.entries(schema)) {
      if (keyword === '$defs' || keyword === '$id' || keyword === 'x-ignored' || keyword === 'additionalItems') continue
      if (keyword === '$ref')
        result[keyword] = pointer(names.get(String(value).replace('#/$defs/', '')) ?? String(value))
      else if (verbatim.has(keyword)) result[keyword] = value
      else if (maps.has(keyword) && isJson(value)) {
        const convert = keyword === 'properties' ? member : (_name: string, node: unknown) => any(node)
        result[keyword] = Object.fromEntries(Object.entries(value).map(([name, node]) => [name, convert(name, node)]))
      } else if (keyword === 'items' && Array.isArray(value)) {
        result['prefixItems'] = value.map(any)
        result['items'] = schema['additionalItems'] ?? true
      } else result[keyword] = Array.isArray(value) ? value.map(any) : any(value)
    }
    return use === 'input' ? withoutDefaulted(result) : result
  }

  /** Creates a component for a schema that declares its own name, for generated clients. */
  #named(name: string, schema: Json, use: Use, titleOf: TitleOf, outer: ReadonlyMap<string, string>): Json {
    const { 'x-name': _, ...unnamed } = schema
    const written = this.#convertAnew(unnamed, use, titleOf, outer)
    const identity = `${use} ${name} ${JSON.stringify(written)}`
    const component = this.#known.get(identity) ?? this.#freeName(name)
    this.#known.set(identity, component)
    this.components[component] = written
    return { $ref: pointer(component) }
  }

  /** Creates components for local definitions. Equal definitions share one component. */
  #hoist(
    definitions: Json,
    use: Use,
    titleOf: TitleOf,
    outer: ReadonlyMap<string, string>,
  ): ReadonlyMap<string, string> {
    const names = new Map(outer)
    const fresh: [string, Json][] = []
    for (const [name, definition] of Object.entries(definitions)) {
      const identity = `${use} ${JSON.stringify(definitions)} ${name}`
      let component = this.#known.get(identity)
      if (component === undefined) {
        component = this.#freeName(name)
        this.#known.set(identity, component)
        this.components[component] = {}
        fresh.push([component, definition as Json])
      }
      names.set(name, component)
    }
    for (const [component, definition] of fresh)
      this.components[component] = this.#convert(definition, use, titleOf, names)
    return names
  }

  #freeName(name: string): string {
    for (let number = 1; ; number++) {
      const candidate = number === 1 ? name : `${name}${number}`
      if (!(candidate in this.components)) return candidate
    }
  }
}

const pointer = (component: string) => `#/components/schemas/${component}`

const hasDefault = (member: unknown) => isJson(member) && 'default' in member

function withoutDefaulted(schema: Json): Json {
  const { required, properties } = schema
  if (!Array.isArray(required) || !isJson(properties)) return schema
  const left = required.filter((name) => !hasDefault(properties[name]))
  const { required: _, ...rest } = schema
  return left.length > 0 ? { ...rest, required: left } : rest
}
