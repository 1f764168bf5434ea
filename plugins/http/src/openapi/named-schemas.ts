import type { ApiDocument, Schema } from './document.ts'

type Json = Readonly<Record<string, unknown>>
type Visit = (schema: Json, name: string) => Json

const isJson = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)
const capital = (text: string) =>
  text.replace(/[^A-Za-z0-9]+/g, ' ').replace(/(?:^| )(\w)/g, (_, first) => first.toUpperCase())

/**
 * Keywords that describe one use of a schema, not the allowed values. Schemas that differ only in these keywords share
 * one component.
 */
const placeMembers = new Set(['title', 'x-title', 'description'])

function split(schema: Json): { readonly place: Json; readonly content: Json } {
  const entries = Object.entries(schema)
  return {
    place: Object.fromEntries(entries.filter(([name]) => placeMembers.has(name))),
    content: Object.fromEntries(entries.filter(([name]) => !placeMembers.has(name))),
  }
}

const isEnvelope = ([success]: readonly unknown[]) =>
  isJson(success) && isJson(success['properties']) && Object(success['properties']['code']).const === '200'

/**
 * Calls `visit` for each direct subschema, with a name that is `name` plus the name of the member. Returns a copy of
 * the schema with the results.
 */
function withSubschemas(schema: Json, name: string, visit: Visit): Json {
  // The payload of a success gets a name such as `PostOrdersData`, not `PostOrdersSuccessData`.
  const base = name.replace(/Success$/, '')
  const inner = (value: unknown, suffix: string) => (isJson(value) ? visit(value, name + suffix) : value)
  return Object.fromEntries(
    Object.entries(schema).map(([keyword, value]) => {
      if (keyword === 'properties' && isJson(value))
        return [
          keyword,
          Object.fromEntries(
            Object.entries(value).map(([member, one]) => [
              member,
              isJson(one) ? visit(one, base + capital(member)) : one,
            ]),
          ),
        ]
      if (keyword === 'items') return [keyword, inner(value, 'Item')]
      if (keyword === 'patternProperties' && isJson(value))
        return [keyword, Object.fromEntries(Object.entries(value).map(([key, one]) => [key, inner(one, 'Value')]))]
      if (['anyOf', 'oneOf', 'allOf', 'prefixItems'].includes(keyword) && Array.isArray(value)) {
        const isOnly = value.filter((one) => isJson(one) && 'properties' in one).length === 1
        const suffixes = isEnvelope(value) ? ['Success', 'Failure'] : []
        return [keyword, value.map((one, index) => inner(one, suffixes[index] ?? (isOnly ? '' : String(index + 1))))]
      }
      return [keyword, value]
    }),
  )
}

/**
 * Calls `visit` for the schema of each body and response, with a name that starts with the operation id. Returns a copy
 * of the document with the results.
 */
function withBodies(document: ApiDocument, visit: Visit): ApiDocument {
  const contentsOf = (contents: object, name: string) =>
    Object.fromEntries(
      Object.entries(contents).map(([type, { schema, ...rest }]) => [
        type,
        schema === undefined ? rest : { ...rest, schema: visit(schema, name) },
      ]),
    )
  const paths = Object.entries(document.paths).map(([path, methods]) => [
    path,
    Object.fromEntries(
      Object.entries(methods).map(([method, operation]) => {
        const name = capital(operation.operationId)
        const { requestBody, responses } = operation
        return [
          method,
          {
            ...operation,
            ...(requestBody && {
              requestBody: { ...requestBody, content: contentsOf(requestBody.content, `${name}Body`) },
            }),
            responses: Object.fromEntries(
              Object.entries(responses).map(([status, response]) => [
                status,
                { ...response, content: contentsOf(response.content, name) },
              ]),
            ),
          },
        ]
      }),
    ),
  ])
  return { ...document, paths: Object.fromEntries(paths) }
}

/**
 * Returns the document with a named component for each object that is a body or is used several times. Of several
 * possible names, the shortest is used. A name consists of the operation and the members, such as
 * `PostMallOrdersBodyLinesItem`.
 */
export function withNamedSchemas(document: ApiDocument): ApiDocument {
  const places = new Map<string, string[]>()
  const contents = new Map<string, Json>()
  const collect: Visit = (schema, name) => {
    const { content } = split(schema)
    if (isObject(content)) {
      const key = keyOf(content, name)
      contents.set(key, content)
      places.set(key, [...(places.get(key) ?? []), name])
    }
    withSubschemas(schema, name, collect)
    return schema
  }
  for (const [name, schema] of Object.entries(document.components.schemas)) withSubschemas(schema, name, collect)
  withBodies(document, collect)

  const names = new Map<string, string>()
  const used = new Set(Object.keys(document.components.schemas))
  for (const [key, all] of places) {
    if (all.length < 2 && !/(?:Body|Data|Failure)$/.test(all[0] ?? '')) continue
    const [base = ''] = all.toSorted((a, b) => a.length - b.length || (a < b ? -1 : 1))
    names.set(key, freeName(base, used))
  }
  const refer: Visit = (schema, name) => {
    const { place, content } = split(schema)
    const component = isObject(content) ? names.get(keyOf(content, name)) : undefined
    return component === undefined
      ? withSubschemas(schema, name, refer)
      : { ...place, $ref: `#/components/schemas/${component}` }
  }
  const inlined = Object.entries(document.components.schemas).map(([name, schema]) => [
    name,
    withSubschemas(schema, name, refer),
  ])
  const named = [...names].map(([key, name]) => [name, withSubschemas(contents.get(key) ?? {}, name, refer)])
  const schemas: Record<string, Schema> = Object.fromEntries([...inlined, ...named])
  return { ...withBodies(document, refer), components: { ...document.components, schemas } }
}

/**
 * Returns the key under which equal objects share one component. Schemas of failures do not share a component, because
 * one of the operations may get more reasons later.
 */
const keyOf = (content: Json, name: string) => `${/Failure$/.test(name) ? name : ''} ${JSON.stringify(content)}`

const isObject = ({ properties }: Json) => isJson(properties) && Object.keys(properties).length > 1

function freeName(base: string, used: Set<string>): string {
  for (let number = 1; ; number++) {
    const name = number === 1 ? base : `${base}${number}`
    if (used.has(name)) continue
    used.add(name)
    return name
  }
}
