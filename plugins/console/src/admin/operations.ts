import { type HttpServer, payloadOf, type RouteInfo, type Schema } from '@plinth/http'
import type { LocalizedText, MessageTree, Plugin } from '@plinth/kernel'

/** One operation of the API description. */
export interface Operation {
  readonly id: string
  readonly method: string
  /** Path of the operation, with parameters in braces. */
  readonly path: string
  readonly access: RouteInfo['access']
  readonly params: Readonly<Record<string, Schema>>
  readonly query: Readonly<Record<string, Schema>>
  readonly takesReason: boolean
  /** Maximum age of the last proof of identity in seconds, if the operation needs a fresh one. */
  readonly freshSeconds?: number
  /** Schema of the request body; `undefined` if the operation has no body. */
  readonly body: Schema | undefined
  /** Schema of the payload, which is `data` in the envelope. */
  readonly data: Schema | undefined
  /** Help texts of the plugin of the operation. */
  readonly helps: HelpTexts
}

const noHelps: HelpTexts = new Map()

/**
 * Returns all operations of the product by id. After this call, no more routes can be registered.
 *
 * @param plugins all plugins of the product; without them, no field has a help text
 */
export async function operationsOf(
  http: Pick<HttpServer, 'openapi' | 'routes'>,
  plugins: readonly Pick<Plugin, 'id' | 'messages'>[] = [],
): Promise<ReadonlyMap<string, Operation>> {
  const { paths } = await http.openapi()
  const routes = new Map(http.routes.map((route) => [route.operationId, route]))
  const helps = new Map(plugins.map(({ id, messages }) => [id, helpTexts(messages)]))
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]): readonly [string, Operation] => {
      const { operationId: id, parameters = [], requestBody, 'x-fresh-proof': freshSeconds } = described
      const named = (place: string) =>
        Object.fromEntries(
          parameters
            .filter((parameter) => parameter.in === place)
            .map(({ name, schema, description }) => [
              name,
              { ...(description === undefined ? {} : { description }), ...schema },
            ]),
        )
      return [
        id,
        {
          id,
          path,
          method: method.toUpperCase(),
          access: routes.get(id)?.access ?? 'user',
          helps: helps.get(routes.get(id)?.plugin ?? '') ?? noHelps,
          params: named('path'),
          query: named('query'),
          takesReason: 'X-Reason' in named('header'),
          body: Object.values(requestBody?.content ?? {})[0]?.schema,
          data: payloadOf(described),
          ...(freshSeconds === undefined ? {} : { freshSeconds }),
        },
      ]
    }),
  )
  return new Map(operations)
}

/** Returns the members of an object schema. The object may be nullable. */
export function membersOf(schema: Schema | undefined): Readonly<Record<string, Schema>> {
  const object = withoutNull(schema)
  return object?.properties ?? {}
}

/** Returns a schema without null. */
export function withoutNull(schema: Schema | undefined): Schema | undefined {
  const choices = schema?.anyOf
  const others = choices?.filter(({ type }) => type !== 'null')
  if (schema === undefined || others?.length !== 1) return schema
  const { anyOf: _, ...rest } = schema
  return { ...others[0], ...rest }
}

/**
 * Returns the schema of the rows of a list, which is the member `items` or the whole result. Returns `undefined` for an
 * operation that returns no list.
 */
export function itemOf({ data }: Pick<Operation, 'data'>): Schema | undefined {
  const items = membersOf(data)['items'] ?? data
  return items?.['type'] === 'array' ? items.items : undefined
}

/** Returns the schema of the member with a dotted name. */
export function memberAt(schema: Schema | undefined, name: string): Schema | undefined {
  const [first = '', ...rest] = name.split('.')
  const member = membersOf(schema)[first]
  return rest.length === 0 ? member : memberAt(member, rest.join('.'))
}

/** Help texts of the fields of one plugin, by dotted name, in several languages. */
export type HelpTexts = ReadonlyMap<string, LocalizedText>

/**
 * Returns the help texts of a plugin: the part `helps` of its messages, `{ shop: { helps: { orderNo: '...' } } }`. The
 * descriptions of the API are in English and for programmers, so the pages do not show them.
 */
function helpTexts(messages: Plugin['messages']): HelpTexts {
  const texts = new Map<string, Record<string, string>>()
  for (const [locale, tree] of Object.entries(messages ?? {})) {
    for (const part of Object.values(tree as MessageTree)) {
      const helps = typeof part === 'string' ? undefined : part['helps']
      for (const [name, text] of flat(helps ?? {})) texts.set(name, { ...texts.get(name), [locale]: text })
    }
  }
  return texts as ReadonlyMap<string, unknown> as HelpTexts
}

function flat(tree: MessageTree | string, prefix = ''): readonly (readonly [string, string])[] {
  if (typeof tree === 'string') return [[prefix, tree]]
  return Object.entries(tree).flatMap(([name, part]) => flat(part, prefix === '' ? name : `${prefix}.${name}`))
}

/**
 * Returns the help text of the field with this dotted name, otherwise the text for all fields with the last part of the
 * name.
 */
export const helpOf = (texts: HelpTexts, name: string): LocalizedText | undefined =>
  texts.get(name) ?? texts.get(name.slice(name.lastIndexOf('.') + 1))
