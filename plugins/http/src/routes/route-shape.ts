import { type Shape, shape } from '@plinth/kernel'
import { findShapeProblems, parseDuration } from '@plinth/kernel/host'
import type { Access, RawRouteDeclaration, RouteDeclaration } from './declaration.ts'

const literal = '[a-z0-9]+(?:-[a-z0-9]+)*'
const parameter = ':[a-z][A-Za-z0-9]*'
const apiPath = new RegExp(`^/api/v[1-9]\\d*/(?:admin/)?${literal}(?:/(?:${literal}|${parameter}))*(?:/\\*)?$`)
const adminPath = /^\/api\/v\d+\/admin\//
const misplacedAdmin = /^\/api\/v\d+\/.+\/admin(?:\/|$)/

/**
 * Returns the problem of an API path; `undefined` if it is valid (requirements C-025 to C-027).
 *
 * @param legacyPath see `RouteDeclaration.legacyPath`
 */
export function pathProblem(path: string, access: Access, legacyPath = false): string | undefined {
  if (!apiPath.test(path) || /^\/api\/v\d+\/admin$/.test(path)) {
    return 'is not /api/v{major}/{domain}/... or /api/v{major}/admin/{domain}/... with kebab-case segments and camelCase parameters'
  }
  if (misplacedAdmin.test(path)) return 'has "admin" behind the domain; it belongs right behind the version'
  const isAdmin = adminPath.test(path)
  if (isAdmin && access === 'public') return 'is an admin path that anybody may call'
  if (isAdmin && access === 'signed') return 'is an admin path, and those who sign are no administrators'
  const isMisplaced = !isAdmin && typeof access === 'object'
  if (isMisplaced && !legacyPath) return 'needs a permission, so it belongs under /api/v{major}/admin/{domain}/'
  if (!isMisplaced && legacyPath) return 'has "legacyPath" although its path follows the rule'
  return undefined
}

/** Returns equal results for patterns that match the same paths. */
export function pathShape(path: string): string {
  return path.replace(/:[^/]+/g, ':')
}

/**
 * Returns the default operation id, for example `getShopItemsById` for `GET /api/v1/shop/items/:id`. From v2 on, it
 * contains the version.
 */
export function operationIdOf(method: string, path: string): string {
  const words = path
    .replace(/^\/api\/v1\//, '')
    .split('/')
    .filter(Boolean)
    .map((segment) => segment.replace(/^:/, 'by-').replace(/^\*$/, 'by-wildcard'))
    .flatMap((segment) => segment.split(/[^A-Za-z0-9]+/))
  return method.toLowerCase() + words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')
}

const { text, flag, list, among, record, object } = shape

/**
 * Each JSON Schema has at least one of these keywords. An object that maps member names to types, which authors pass by
 * mistake, has none.
 */
const schemaWords = [
  'type',
  'properties',
  'items',
  'anyOf',
  'oneOf',
  'allOf',
  'not',
  'enum',
  'const',
  '$ref',
  '$defs',
  'patternProperties',
  'additionalProperties',
  '~kind',
  '~unsafe',
]
const anySchema: Shape = { type: 'object', description: 'a JSON Schema' }

const request = record<{ params?: object; query?: object; body?: object }>(
  {},
  { params: anySchema, query: anySchema, body: anySchema },
)

const facts = {
  method: among(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']),
  path: text,
  summary: text,
  handler: shape.function,
} as const
const options = {
  legacyPath: flag,
  compress: flag,
  maxBodyBytes: { type: 'number' } as const,
  operationId: text,
  fresh: text,
  description: text,
  tags: list(text),
  reasons: list(text),
  request,
  deprecated: record<NonNullable<RouteDeclaration['deprecated']>>(
    { since: text, replacement: text },
    { migration: text },
  ),
  annotations: list(object<{ id: string; value: unknown }>({ id: text, value: shape.anything })),
}
// A missing access rule and a missing scope have their own errors, so this shape requires neither.
const access: Shape = {
  type: ['string', 'object'],
  description: '"public", "user", "signed" or { permission, scope }',
  enum: ['public', 'user', 'signed'],
  properties: { permission: shape.coded, scope: {}, orGroup: shape.flag },
  required: ['permission'],
  additionalProperties: false,
}
const optional = (of: Shape, name: string): Shape => ({
  ...of,
  required: of.required?.filter((one) => one !== name) ?? [],
})

const shapes = {
  envelope: optional(record<RouteDeclaration>({ ...facts, access, response: anySchema }, options), 'access'),
  raw: optional(
    record<RawRouteDeclaration>(
      { ...facts, access, produces: list(text) },
      { ...options, hidden: flag, plainSchemaProblems: flag },
    ),
    'access',
  ),
}

/**
 * Returns the problems of a declaration, which may be from plain JavaScript; `undefined` if it is valid.
 *
 * @returns text after method and path, for example "is wrong: summary must be text, but is missing"
 */
export function routeProblem(kind: 'envelope' | 'raw', declaration: unknown): string | undefined {
  const problems = findShapeProblems(shapes[kind], declaration)
  const clauses = problems.map(({ path, clause }) => `${path === '' ? 'it' : path} ${clause}`.replace(/\.$/, ''))
  if (clauses.length > 0) return `is wrong: ${clauses.join('; ')}`
  const {
    method,
    path,
    request: schemas = {},
    response,
  } = declaration as RouteDeclaration & { readonly method: string }
  const plain = Object.entries({ ...schemas, response }).find(([, schema]) => schema !== undefined && !isSchema(schema))
  if (plain !== undefined)
    return `is wrong: the schema of its ${plain[0]} is not a JSON Schema, such as Type.Object({ ... })`
  if (method === 'GET' && schemas.body !== undefined)
    return 'is wrong: it declares a body, which requests with GET do not have; declare a query or another method'
  return freshProblem(declaration as RouteDeclaration) ?? parameterProblem(path, schemas.params)
}

/** Limits of `RouteDeclaration.fresh` in milliseconds. */
const minFreshMs = 60_000
const maxFreshMs = 86_400_000

function freshProblem({ fresh, access }: Pick<RouteDeclaration, 'fresh' | 'access'>): string | undefined {
  if (fresh === undefined) return undefined
  const ms = parseDuration(fresh) ?? 0
  if (ms < minFreshMs || ms > maxFreshMs)
    return `is wrong: fresh must be a duration from 1m to 24h, such as "5m", but is "${fresh}"`
  if (access === 'public' || access === 'signed')
    return 'is wrong: fresh needs a signed-in user; its access must be "user" or { permission, scope }'
  return undefined
}

const isSchema = (schema: object): boolean => {
  const names = Object.keys(schema)
  return names.length === 0 || names.some((name) => schemaWords.includes(name))
}

/** Returns a problem if the path and its schema do not have the same parameters. */
function parameterProblem(path: string, schema: { readonly properties?: object } | undefined): string | undefined {
  const properties = schema?.properties
  if (properties === undefined) return undefined
  const inPath = path.split('/').flatMap((part) => (part === '*' ? ['*'] : (/^:(\w+)/.exec(part)?.[1] ?? [])))
  const inSchema = Object.keys(properties)
  const [extra] = inPath.filter((name) => !inSchema.includes(name))
  const [unused] = inSchema.filter((name) => !inPath.includes(name))
  if (extra !== undefined) {
    const other = unused === undefined ? 'does not have it' : `has "${unused}"`
    return `has the parameter "${extra === '*' ? '' : ':'}${extra}", and the schema of its parameters ${other}`
  }
  return unused === undefined ? undefined : `has no parameter ":${unused}", which the schema of its parameters has`
}
