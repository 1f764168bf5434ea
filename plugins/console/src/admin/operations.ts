import type { HttpServer, RouteInfo } from '@plinth/http'

export type Json = Readonly<Record<string, unknown>>

/** One operation, as the API description has it. */
export interface Operation {
  readonly id: string
  readonly method: string
  /** With parameters in braces. */
  readonly path: string
  readonly access: RouteInfo['access']
  readonly params: Readonly<Record<string, Json>>
  readonly query: Readonly<Record<string, Json>>
  readonly takesReason: boolean
  /** Schema of the body; absent for operations without. */
  readonly body: Json | undefined
  /** Schema of the payload. */
  readonly data: Json | undefined
}

interface Described {
  readonly operationId: string
  readonly parameters?: readonly {
    readonly name: string
    readonly in: string
    readonly schema: Json
    readonly description?: string
  }[]
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Json }>> }
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema: Json }>> }>
  >
}

/** All operations of the product by id. Ends the registration of routes. */
export async function operationsOf(
  http: Pick<HttpServer, 'openapi' | 'routes'>,
): Promise<ReadonlyMap<string, Operation>> {
  const { paths } = (await http.openapi()) as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>
  }
  const access = new Map(http.routes.map((route) => [route.operationId, route.access]))
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]): readonly [string, Operation] => {
      const { operationId: id, parameters = [], requestBody, responses } = described
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
          ...{ id, path, method: method.toUpperCase(), access: access.get(id) ?? 'user' },
          ...{ params: named('path'), query: named('query'), takesReason: 'X-Reason' in named('header') },
          body: Object.values(requestBody?.content ?? {})[0]?.schema,
          data: dataOf(responses),
        },
      ]
    }),
  )
  return new Map(operations)
}

function dataOf(responses: Described['responses']): Json | undefined {
  const schema = responses['200']?.content?.['application/json']?.schema
  const success = (schema?.['anyOf'] as readonly Json[] | undefined)?.[0]
  return membersOf(success)['data']
}

/** Members of an object's schema, also where null stands beside the object. */
export function membersOf(schema: Json | undefined): Readonly<Record<string, Json>> {
  const object = withoutNull(schema)
  return (object?.['properties'] ?? {}) as Readonly<Record<string, Json>>
}

/** What a schema allows besides null. */
export function withoutNull(schema: Json | undefined): Json | undefined {
  const choices = schema?.['anyOf'] as readonly Json[] | undefined
  const others = choices?.filter(({ type }) => type !== 'null')
  if (schema === undefined || others?.length !== 1) return schema
  const { anyOf: _, ...rest } = schema
  return { ...others[0], ...rest }
}

/** Schema of the rows of a list, or of the thing itself. */
export function itemOf({ data }: Pick<Operation, 'data'>): Json | undefined {
  const items = membersOf(data)['items'] ?? data
  return items?.['type'] === 'array' ? (items['items'] as Json | undefined) : undefined
}

/** Schema of the member that a dotted name leads to. */
export function memberAt(schema: Json | undefined, name: string): Json | undefined {
  const [first = '', ...rest] = name.split('.')
  const member = membersOf(schema)[first]
  return rest.length === 0 ? member : memberAt(member, rest.join('.'))
}
