import type { TSchema } from 'typebox'
import type { HeaderDescription, RouteInfo, RouteSecurity, WrapperHeaders } from './contract.ts'
import { envelopeType, failureSchema, successSchema } from './envelope.ts'
import { SchemaWriter } from './openapi-schema.ts'
import type { BookedRoute, RouteBook } from './route-book.ts'
import type { Site } from './site.ts'

type Json = Readonly<Record<string, unknown>>

const [jsonType] = envelopeType.split(';') as [string]

/**
 * The OpenAPI 3.1 document of all routes that are not hidden. It is written from the declarations themselves: the schemas
 * that validate and serialize are the schemas that it shows.
 */
export function openapiDocument(
  product: { readonly name: string; readonly version: string },
  { routes, guards, wrappers }: Pick<RouteBook, 'routes' | 'guards' | 'wrappers'>,
): object {
  const schemas = new SchemaWriter()
  const failure = schemas.component('Failure', failureSchema)
  const securitySchemes: Record<string, object> = { bearer: { type: 'http', scheme: 'bearer' } }
  const securityOf = (info: RouteInfo) => {
    const signatures = info.access === 'signed' ? guards.flatMap((guard) => guard.security?.(info) ?? []) : []
    for (const { schemes } of signatures) Object.assign(securitySchemes, schemes)
    return security(info, signatures)
  }
  const ids = new Set<string>()
  const describe = (route: BookedRoute, path: string) => {
    const wanted = operationId(route.info.method, path)
    let id = wanted
    for (let number = 2; ids.has(id); number++) id = `${wanted}${number}`
    ids.add(id)
    const headers = route.kind === 'raw' ? [] : wrappers.flatMap((wrapper) => wrapper.headers?.(route.info) ?? [])
    return { operationId: id, ...operation(route, path, schemas, failure, securityOf(route.info), headers) }
  }
  const shown = routes.filter(({ info }) => !info.hidden).sort((a, b) => (order(a) < order(b) ? -1 : 1))
  const paths: Record<string, Record<string, unknown>> = {}
  for (const route of shown) {
    const path = route.info.path.replace(/:(\w+)/g, '{$1}').replace(/\*$/, '{wildcard}')
    paths[path] = { ...paths[path], [route.info.method.toLowerCase()]: describe(route, path) }
  }
  return {
    openapi: '3.1.1',
    info: { title: product.name, version: product.version },
    servers: [{ url: '/' }],
    tags: [...new Set(shown.flatMap(tagsOf))].sort().map((name) => ({ name })),
    paths,
    components: {
      schemas: schemas.components,
      securitySchemes,
    },
  }
}

/** The document under the name and the address that the site has now. */
export const ofSite = (document: object, { title, url }: Pick<Site, 'title' | 'url'>): object => ({
  ...document,
  info: { ...(document as { readonly info?: object }).info, title },
  servers: [{ url: url || '/' }],
})

const order = ({ info }: BookedRoute) => `${info.path} ${info.method}`

function operation(
  route: BookedRoute,
  path: string,
  schemas: SchemaWriter,
  failure: Json,
  security: Json,
  headers: readonly WrapperHeaders[],
): Json {
  const { info, declaration } = route
  const { params, query, body } = declaration.request ?? {}
  const deprecated = 'deprecated' in declaration ? declaration.deprecated : undefined
  const description = [
    'description' in declaration ? declaration.description : undefined,
    deprecated && `Deprecated since ${deprecated.since}; use ${deprecated.replacement}.`,
  ].filter(Boolean)
  const parameters = [
    ...pathParameters(path, membersOf(params, schemas)),
    ...queryParameters(membersOf(query, schemas)),
    ...headers.flatMap(({ request }) => headerParameters(request)),
  ]
  const answered = Object.assign({}, ...headers.map(({ response }) => response)) as WrapperHeaders['response']
  return {
    summary: info.summary,
    ...(description.length > 0 ? { description: description.join('\n\n') } : {}),
    tags: tagsOf(route),
    ...(deprecated ? { deprecated: true } : {}),
    ...security,
    'x-plugin': info.plugin,
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(body === undefined ? {} : { requestBody: requestBody(schemas.write(body, 'input')) }),
    responses: {
      200:
        route.kind === 'envelope'
          ? envelopeResponse(schemas.write(successSchema(route.declaration.response)), failure, answered)
          : rawResponse(route.declaration.produces, failure),
      '4XX': {
        description:
          'The request could not be taken: unknown address (404), another method than the address has (405, with `Allow`), ' +
          'malformed (400), too large (413) or of another media type, encoding or character set than JSON in UTF-8 (415).',
        content: { [jsonType]: { schema: failure } },
      },
    },
  }
}

function security({ access }: RouteInfo, signatures: readonly RouteSecurity[]): Json {
  if (access === 'public') return { security: [] }
  if (access === 'signed') {
    const needed = signatures.flatMap(({ schemes, scopes }) => Object.keys(schemes).map((name) => [name, scopes]))
    return { security: [Object.fromEntries(needed)] }
  }
  return {
    security: [{ bearer: [] }],
    ...(access === 'user' ? {} : { 'x-permission': access.permission }),
  }
}

function envelopeResponse(success: Json, failure: Json, headers: WrapperHeaders['response']): Json {
  return {
    description: 'The envelope: code "200" with the payload, any other code for a failure.',
    ...(Object.keys(headers).length > 0 ? { headers } : {}),
    content: { [jsonType]: { schema: { anyOf: [success, failure] } } },
  }
}

function rawResponse(produces: readonly string[], failure: Json): Json {
  return {
    description: 'The content itself, without an envelope; a failure comes as an envelope.',
    content: Object.fromEntries(
      [...produces.map((type) => [type, {}] as const), [jsonType, { schema: failure }] as const].reverse(),
    ),
  }
}

function requestBody(schema: Json): Json {
  const isRequired = Array.isArray(schema['required']) || schema['type'] !== 'object'
  return { required: isRequired, content: { [jsonType]: { schema } } }
}

function pathParameters(path: string, declared: Members): Json[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => {
    const { description, ...schema } = declared.get(name)?.schema ?? { type: 'string' }
    return { name, in: 'path', required: true, ...(description ? { description } : {}), schema }
  })
}

function queryParameters(declared: Members): Json[] {
  return [...declared].map(([name, member]) => {
    const { description, ...schema } = member.schema
    return { name, in: 'query', required: member.isRequired, ...(description ? { description } : {}), schema }
  })
}

function headerParameters(headers: Readonly<Record<string, HeaderDescription>>): Json[] {
  return Object.entries(headers).map(([name, { description, schema }]) => ({
    ...{ name, in: 'header', required: false, description, schema },
  }))
}

type Members = ReadonlyMap<string, { readonly schema: Json; readonly isRequired: boolean }>

/** Members of an object schema, also when it is an intersection of objects. */
function membersOf(schema: TSchema | undefined, schemas: SchemaWriter): Members {
  const {
    properties = {},
    required = [],
    allOf = [],
  } = schemas.write(schema ?? {}, 'input') as {
    properties?: Record<string, Json>
    required?: readonly string[]
    allOf?: readonly TSchema[]
  }
  const own = Object.entries(properties).map(
    ([name, member]) => [name, { schema: member, isRequired: required.includes(name) }] as const,
  )
  return new Map([...allOf.flatMap((part) => [...membersOf(part, schemas)]), ...own])
}

/** The declared tags, else the domain of the path. */
function tagsOf({ info, declaration }: BookedRoute): readonly string[] {
  return declaration.tags ?? [info.path.replace(/^\/api\/v\d+\/(?:admin\/)?/, '').split('/', 1)[0] ?? '']
}

/** `GET /api/v1/shop/items/{id}` -> `getShopItemsById`; v2 and later say so. */
function operationId(method: string, path: string): string {
  const words = path
    .replace(/^\/api\/v1\//, '')
    .split('/')
    .filter(Boolean)
    .map((segment) => (segment.startsWith('{') ? `by-${segment.slice(1, -1)}` : segment))
    .flatMap((segment) => segment.split(/[^A-Za-z0-9]+/))
  return method.toLowerCase() + words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')
}
