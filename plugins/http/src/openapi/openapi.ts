import type { Plugin } from '@plinth/kernel'
import { parseDuration } from '@plinth/kernel/host'
import type { Site } from '@plinth/site'
import type { HeaderDescription, RouteSecurity, WrapperHeaders } from '../contract.ts'
import { anyFailureSchema, envelopeType, failureSchema, successSchema } from '../envelope.ts'
import type { RouteInfo } from '../routes/declaration.ts'
import type { RegisteredRoute, RouteRegistry } from '../routes/route-registry.ts'
import { rejectUndeclaredMembers } from '../schemas/input-schema.ts'
import type { ApiDocument, DescribedOperation, DescribedParameter, Schema, SecurityScheme } from './document.ts'
import { type FieldTitle, fieldTitles, SchemaWriter, titleProperties } from './openapi-schema.ts'
import { type OperationReasons, reasonsByRoute, reasonsOf } from './operation-reasons.ts'

const jsonType = envelopeType.replace(/;.*/, '')

/** Returns the OpenAPI 3.1 document of all routes that are not hidden, with the schemas that validate and serialize. */
export function openapiDocument(
  product: { readonly name: string; readonly version: string },
  registry: Pick<RouteRegistry, 'routes' | 'guards' | 'wrappers' | 'ownerOf'>,
  plugins: readonly Pick<Plugin, 'id' | 'title' | 'messages' | 'businessErrors'>[],
): ApiDocument {
  const { routes, guards, wrappers } = registry
  const titles = fieldTitles(plugins)
  const schemas = new SchemaWriter()
  const reasons = reasonsOf(plugins.flatMap(({ businessErrors = [] }) => businessErrors))
  const codes = Object.values(reasons)
  const failureTitle = (name: string) => titles('http', name)
  const failure = schemas.component('Failure', anyFailureSchema(codes), failureTitle)
  const reasonsFor = reasonsByRoute(plugins, registry)
  /**
   * Returns the failure schema of an operation. It lists the codes of the operation, and its reasons if all of them are
   * known.
   */
  const failureOf = ({ reasons, isOpen }: OperationReasons): Schema =>
    schemas.write(
      failureSchema(
        ['500', ...Object.values(reasons), ...(isOpen ? codes : [])],
        isOpen ? undefined : Object.keys(reasons),
      ),
      'output',
      failureTitle,
    )
  const securitySchemes: Record<string, SecurityScheme> = {
    bearer: { type: 'http', scheme: 'bearer', description: 'Access token in the header `Authorization`.' },
  }
  const securityOf = (info: RouteInfo) => {
    const stage = info.access === 'signed' ? 'signature' : 'access'
    const requested = info.access === 'public' ? [] : guards.filter((guard) => guard.stage === stage)
    const proofs = requested.flatMap((guard) => guard.security?.(info) ?? [])
    for (const { schemes } of proofs) Object.assign(securitySchemes, schemes)
    return security(info, proofs)
  }
  const writers = new Map<string, Writer>()
  const writerOf = (plugin: string): Writer => {
    const titleOf = (name: string) => titles(plugin, name)
    const writer = writers.get(plugin) ?? { write: (schema, use) => schemas.write(schema, use, titleOf), titleOf }
    writers.set(plugin, writer)
    return writer
  }
  const describe = (route: RegisteredRoute, path: string) => {
    const headers = route.kind === 'raw' ? [] : wrappers.flatMap((wrapper) => wrapper.headers?.(route.info) ?? [])
    const writer = writerOf(route.info.plugin)
    const rejected = reasonsFor(route)
    const failures = { any: failure, own: failureOf(rejected) }
    const described = operation(route, path, writer, failures, securityOf(route.info), headers)
    return { operationId: route.info.operationId, ...described, 'x-reasons': rejected.reasons }
  }
  const shown = routes.filter(({ info }) => !info.hidden).sort((a, b) => (order(a) < order(b) ? -1 : 1))
  const paths: Record<string, Record<string, DescribedOperation>> = {}
  for (const route of shown) {
    const path = route.info.path.replace(/:(\w+)/g, '{$1}').replace(/\*$/, '{wildcard}')
    paths[path] = { ...paths[path], [route.info.method.toLowerCase()]: describe(route, path) }
  }
  return {
    openapi: '3.1.1',
    info: { title: product.name, version: product.version, description: introduction },
    servers: [{ url: '/' }],
    tags: tagsWith(shown, plugins),
    'x-reasons': reasons,
    paths,
    components: {
      schemas: schemas.components,
      securitySchemes,
    },
  }
}

const introduction = [
  'Responses have an envelope `{code, message, data}`. Code "200" contains the result. Any other code is an error with a ' +
    'stable `data.reason` and a `message` for users in the language of `Accept-Language`. The HTTP status only describes ' +
    'the transport.',
  'Each operation lists how callers are authenticated: with `Authorization: Bearer`, with the cookie of a browser session, ' +
    'or with a signature. `x-permission` is the permission that the caller needs. `x-data-scope` describes the rows that ' +
    'the operation reaches: rows in the data scope of the caller (`caller`), all rows, only for callers with the scope ' +
    '`all` (`all`), or no rows of users or organisations (`none`). `x-fresh-proof` is the maximum age in seconds of the ' +
    'last proof of identity, if the product asks for fresh proofs.',
  'Members of a body and query parameters that an operation does not declare are rejected as invalid input.',
  'Each response has the header `X-Trace-Id`. Quote it when you report an error. Times are UTC, in ISO 8601.',
  '`x-reasons` lists each reason of a business error with its code, for the product and for each operation. In the ' +
    'responses, `code` distinguishes success from failure.',
  'Members and parameters have a `title`, and `x-title` contains one title for each language. `x-sort` lists the sort ' +
    'orders of a list. `x-plugin` is the plugin that the operation belongs to.',
].join('\n\n')

const traceHeader = {
  'X-Trace-Id': {
    description: 'Trace id of the request, or a new one if the request has none.',
    schema: { type: 'string' },
  },
}

const tagTexts = {
  en: { lead: 'Operations of ', separator: ', ', end: '.' },
  'zh-CN': { lead: '所属插件：', separator: '、', end: '。' },
}

/**
 * Returns the tags with their descriptions: the title of the plugin with the same id, and all plugins that use the tag.
 */
function tagsWith(
  routes: readonly RegisteredRoute[],
  plugins: readonly Pick<Plugin, 'id' | 'title'>[],
): ApiDocument['tags'] {
  return [...new Set(routes.flatMap(tagsOf))].sort().map((name) => {
    const ids = new Set(routes.filter((route) => tagsOf(route).includes(name)).map(({ info }) => info.plugin))
    const title = plugins.find(({ id }) => id === name)?.title
    const listed = [...ids].map((id) => `\`${id}\``)
    const described = (locale: 'en' | 'zh-CN') => {
      const shown = typeof title === 'string' ? title : (title?.[locale] ?? title?.en)
      const { lead, separator, end } = tagTexts[locale]
      const operations = `${lead}${listed.join(separator)}${end}`
      return shown === undefined ? operations : `${shown}${end}${locale === 'en' ? ' ' : ''}${operations}`
    }
    return { name, description: described('en'), 'x-description': { en: described('en'), 'zh-CN': described('zh-CN') } }
  })
}

/**
 * Returns the document with the current title and address of the site. Without an address, the context path is used.
 */
export const withSiteDetails = (
  document: ApiDocument,
  { title, url }: Pick<Site, 'title' | 'url'>,
  contextPath: string,
): ApiDocument => ({
  ...document,
  info: { ...document.info, title },
  servers: [{ url: url || contextPath || '/' }],
})

const order = ({ info }: RegisteredRoute) => `${info.path} ${info.method}`

/** Converts schemas with the field titles of one plugin. */
interface Writer {
  write(schema: object, use: 'input' | 'output'): Schema
  titleOf(name: string): FieldTitle | undefined
}

function operation(
  route: RegisteredRoute,
  path: string,
  schemas: Writer,
  failures: { readonly any: Schema; readonly own: Schema },
  security: Secured,
  headers: readonly WrapperHeaders[],
): Omit<DescribedOperation, 'operationId' | 'x-reasons'> {
  const { info, declaration } = route
  const { params, query, body } = declaration.request ?? {}
  const { deprecated } = declaration
  const description = [
    declaration.description,
    deprecated && `Deprecated since ${deprecated.since}; use ${deprecated.replacement}.`,
    deprecated?.migration,
  ].filter(Boolean)
  const parameters = [
    ...pathParameters(path, membersOf(params, schemas), schemas),
    ...queryParameters(membersOf(query, schemas)),
    ...headers.flatMap(({ request }) => headerParameters(request, schemas)),
  ]
  const answered: WrapperHeaders['response'] = Object.assign({}, ...headers.map(({ response }) => response))
  return {
    summary: info.summary,
    ...(description.length > 0 ? { description: description.join('\n\n') } : {}),
    tags: tagsOf(route),
    ...(deprecated ? { deprecated: true, 'x-deprecated': deprecated } : {}),
    ...security,
    'x-plugin': info.plugin,
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(body === undefined ? {} : { requestBody: requestBody(schemas.write(rejectUndeclaredMembers(body), 'input')) }),
    responses: {
      200:
        route.kind === 'envelope'
          ? envelopeResponse(schemas.write(successSchema(route.declaration.response), 'output'), failures.own, answered)
          : rawResponse(route.declaration.produces, failures.own),
      '4XX': {
        description:
          'The request was rejected: unknown path (404), method not allowed (405, with `Allow`), malformed (400), too large ' +
          '(413), or not JSON in UTF-8 without compression (415).',
        content: { [jsonType]: { schema: failures.any } },
      },
      503: {
        description: 'The server is overloaded, or it cannot use its database at the moment. Try again later.',
        content: { [jsonType]: { schema: failures.any } },
      },
    },
  }
}

type Secured = Pick<DescribedOperation, 'security' | 'x-permission' | 'x-data-scope' | 'x-fresh-proof'>

/**
 * Describes the access rule. A signed operation requires all credentials. Otherwise the bearer token and the other
 * credentials are alternatives.
 */
function security({ access, fresh }: RouteInfo, proofs: readonly RouteSecurity[]): Secured {
  if (access === 'public') return { security: [] }
  const named = proofs.map(({ schemes, scopes }) =>
    Object.fromEntries(Object.keys(schemes).map((name) => [name, scopes])),
  )
  if (access === 'signed') return { security: [Object.assign({}, ...named)] }
  return {
    security: [{ bearer: [] }, ...named],
    ...(access === 'user' ? {} : { 'x-permission': access.permission, 'x-data-scope': access.scope }),
    ...(fresh === undefined ? {} : { 'x-fresh-proof': (parseDuration(fresh) ?? 0) / 1000 }),
  }
}

function envelopeResponse(success: Schema, failure: Schema, headers: WrapperHeaders['response']) {
  return {
    description: 'Envelope. Code "200" contains the result, any other code is an error.',
    headers: { ...traceHeader, ...headers },
    content: { [jsonType]: { schema: { anyOf: [success, failure] } } },
  }
}

function rawResponse(produces: readonly string[], failure: Schema) {
  return {
    description: 'The content without an envelope. An error has an envelope.',
    headers: traceHeader,
    content: Object.fromEntries(
      [...produces.map((type) => [type, {}] as const), [jsonType, { schema: failure }] as const].reverse(),
    ),
  }
}

function requestBody(schema: Schema) {
  const isRequired = Array.isArray(schema['required']) || schema['type'] !== 'object'
  return { required: isRequired, content: { [jsonType]: { schema } } }
}

function describedApart({ description, ...schema }: Schema): Pick<DescribedParameter, 'description' | 'schema'> {
  return typeof description === 'string' && description !== '' ? { description, schema } : { schema }
}

function pathParameters(path: string, declared: Members, { titleOf }: Writer): DescribedParameter[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => {
    const schema = declared.get(name)?.schema ?? { ...titleProperties(titleOf(name)), type: 'string' }
    return { name, in: 'path', required: true, ...describedApart(schema) }
  })
}

function queryParameters(declared: Members): DescribedParameter[] {
  return [...declared].map(([name, member]) => {
    return { name, in: 'query', required: member.isRequired, ...describedApart(member.schema) }
  })
}

function headerParameters(
  headers: Readonly<Record<string, HeaderDescription>>,
  { titleOf }: Writer,
): DescribedParameter[] {
  return Object.entries(headers).map(([name, { description, schema }]) => ({
    name,
    in: 'header',
    required: false,
    description,
    schema: { ...titleProperties(titleOf(name)), ...schema },
  }))
}

type Members = ReadonlyMap<string, { readonly schema: Schema; readonly isRequired: boolean }>

/** Returns the members of an object schema, including those of all `allOf` parts. */
function membersOf(schema: object | undefined, schemas: Writer): Members {
  const { properties = {}, required = [], allOf = [] } = schemas.write(schema ?? {}, 'input')
  const own = Object.entries(properties).map(
    ([name, member]) => [name, { schema: member, isRequired: required.includes(name) }] as const,
  )
  return new Map([...allOf.flatMap((part) => [...membersOf(part, schemas)]), ...own])
}

/** Returns the declared tags. Default: the first part of the plugin id, for example `iam` for `iam.verification`. */
const tagsOf = ({ info, declaration }: RegisteredRoute): readonly string[] =>
  declaration.tags ?? [info.plugin.split('.', 1)[0] ?? '']
