import type { Random } from './random.ts'
import { hostileText, hostileValue, likelyValue, type Schema, spoilValue, toParameterText } from './values.ts'

interface Content {
  readonly [mediaType: string]: { readonly schema?: Schema }
}

export interface Operation {
  readonly operationId: string
  readonly parameters?: readonly {
    readonly name: string
    readonly in: string
    readonly required?: boolean
    readonly schema: Schema
  }[]
  readonly requestBody?: { readonly content: Content }
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>
}

export interface ApiDescription {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: object
}

/** The role of the caller. */
export type Role = 'anonymous' | 'user' | 'administrator'

export interface FuzzRequest {
  /** `undefined` if the path has no such method. */
  readonly operation: Operation | undefined
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string | string[]>>
  readonly body: Buffer | undefined
}

/** Returns every operation of a description with its method and path. */
export function operationsOf({ paths }: ApiDescription) {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  )
}

const oddSegments = [
  '%00',
  '%ff',
  '%ED%A0%80',
  '%2e%2e%2f%2e%2e',
  '..',
  '%',
  '%E9%A6%96',
  '__proto__',
  'constructor',
  '1e400',
  '-1',
  '99999999999999999999',
  `${'9'.repeat(2_000)}`,
  '%20',
  'a;b',
  "'--",
]
const oddHeaders: readonly (readonly [string, string | string[]])[] = [
  ['accept-language', `${'zh-CN,'.repeat(500)}en;q=0.1`],
  ['accept-language', '__proto__;q=1e400, *;q=-1'],
  ['x-trace-id', 'a\tb<script>'],
  ['x-trace-id', 'x'.repeat(4_000)],
  ['x-forwarded-for', `${'1.2.3.4, '.repeat(400)}::ffff:127.0.0.1`],
  ['x-forwarded-for', '__proto__, [::1]:99999, 999.1.1.1'],
  ['x-forwarded-host', '"><script>'],
  ['x-forwarded-proto', 'javascript'],
  ['x-forwarded-prefix', '/%2e%2e//evil.example\\'],
  ['forwarded', 'for="_gazonk";proto=x;host="\u00e9"'],
  ['authorization', 'Bearer'],
  ['authorization', `Bearer ${'x'.repeat(4_000)}`],
  ['authorization', 'Basic YTpi'],
  ['x-install-token', 'x'.repeat(2_000)],
  ['x-open-app-key', '__proto__'],
  ['idempotency-key', 'x'.repeat(3_000)],
  ['x-reason', '%E9%A6%96%ZZ'],
  ['if-none-match', '*'],
  ['if-modified-since', '99 Foo 99999'],
  ['range', 'bytes=0-0,1-1,-9999999999999999999'],
  ['cookie', '__proto__=1; session=%00'],
  ['origin', 'null'],
  ['accept', '*/*;q=nan, text/html;level=\u00ff'],
  ['content-encoding', 'gzip'],
  ['expect', '200-ok'],
]
const oddMediaTypes = [
  'text/plain',
  'application/xml',
  'multipart/form-data; boundary=x',
  'application/x-www-form-urlencoded',
  'application/json; charset=utf-16',
  'application/json;charset=x;charset=y',
  'application/jsonx',
  '*/*',
  '',
]

const queryOf = (pairs: readonly (readonly [string, unknown])[]) =>
  pairs
    .map(([name, value]) => `${escaped(name)}=${escaped(typeof value === 'string' ? value : toParameterText(value))}`)
    .join('&')

/**
 * Percent-encodes a text that is short enough for a request line. Lone surrogates become invalid UTF-8, as an attacker
 * could send them.
 */
const escaped = (text: string) =>
  encodeURIComponent(text.slice(0, 3_000).replace(/[\ud800-\udfff]/g, '\u0007')).replaceAll('%07', '%ED%A0%80')

/**
 * Returns a request for an operation. It is valid according to the description, except for zero to three added errors.
 */
export function requestFor(
  { path, method, operation }: ReturnType<typeof operationsOf>[number],
  token: string | undefined,
  seen: readonly unknown[],
  random: Random,
): FuzzRequest {
  const problems = random.integer(3)
  const wrong = new Set(
    Array.from({ length: problems }, () =>
      random.pick(['body', 'body', 'body', 'query', 'query', 'path', 'header', 'media', 'bytes', 'method']),
    ),
  )
  const value = (schema: Schema, name: string) => likelyValue(schema, random, name, seen)
  const parameters = operation.parameters ?? []

  const address = path.replace(/\{(\w+)\}/g, (_, name) => {
    if (wrong.has('path')) return random.pick(oddSegments)
    const schema = parameters.find((parameter) => parameter.in === 'path' && parameter.name === name)?.schema ?? {}
    return escaped(String(value(schema, name))) || '1'
  })
  const query: (readonly [string, unknown])[] = parameters
    .filter((parameter) => parameter.in === 'query' && (parameter.required || random.chance(0.4)))
    .map(({ name, schema }) => [name, value(schema, name)] as const)
  if (wrong.has('query')) {
    for (const { name } of parameters.filter((parameter) => parameter.in === 'query')) {
      if (random.chance(0.5)) query.push([name, hostileValue(random)])
      if (random.chance(0.2)) query.push([name, hostileValue(random)], [`${name}[]`, 1], [`${name}.x`, 1])
    }
    query.push([hostileText(random), hostileText(random)])
  }
  const search = query.length === 0 ? '' : `?${queryOf(query)}`

  const headers: Record<string, string | string[]> = token === undefined ? {} : { authorization: `Bearer ${token}` }
  let body: Buffer | undefined
  const schema = operation.requestBody?.content['application/json']?.schema
  if (schema !== undefined || (wrong.has('body') && method !== 'GET')) {
    const likely = value(schema ?? {}, '')
    let text = toParameterText(wrong.has('body') ? spoilValue(likely, random) : likely)
    if (wrong.has('bytes') && random.chance(0.3)) text = text.slice(0, random.integer(text.length + 1))
    if (wrong.has('bytes') && random.chance(0.2)) text = `${text.slice(0, -1)},"a":1,"a":2}`
    if (wrong.has('bytes') && random.chance(0.1)) text = `"${'x'.repeat(2 ** 21)}"`
    body = Buffer.from(text)
    if (wrong.has('bytes') && body.length > 2 && random.chance(0.5))
      body[random.integer(body.length)] = random.pick([0x00, 0xff, 0xc0, 0xed, 0x80])
    headers['content-type'] = 'application/json'
  }
  if (wrong.has('media')) headers['content-type'] = random.pick(oddMediaTypes)
  if (wrong.has('header')) {
    const [name, content] = random.pick(oddHeaders)
    headers[name] = content
  }
  const isMisused = wrong.has('method')
  return {
    operation: isMisused ? undefined : operation,
    method: isMisused ? random.pick(['PATCH', 'OPTIONS', 'TRACE', 'PROPFIND', 'HEAD', 'DELETE']) : method,
    path: `${address}${search}`.slice(0, 12_000),
    headers,
    body,
  }
}
