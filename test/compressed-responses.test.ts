/**
 * Tests that responses with secrets are never compressed, because the length of a compressed response would reveal the
 * secret (README of @plinth/http).
 */

import { startForTest } from '@plinth/dev/testing'
import { http } from '@plinth/http'
import t from 'tap'
import { fullProduct, inMemoryConfig } from './effects/product.ts'

interface Schema {
  readonly $ref?: string
  readonly type?: unknown
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
}

/** Matches names of members that contain a secret, or a URL that works like a secret. */
const secretName = /(?:^|[a-z])(?:token|secret|password|privateKey|challengeId|signature|url)$/i
/** Members whose names match `secretName` although they contain no secret, each with the reason. */
const publicMembers: Readonly<Record<string, string>> = {
  token: 'symbol of a token on a chain',
  expectedToken: 'symbol of a token on a chain',
  explorerTransactionUrl: 'public address of a block explorer',
}

/** The URL of a receiver was entered by the callers that can read it. Requests to it are authenticated by their signatures. */
const isReceiver = (path: string, name: string) => name === 'url' && path.startsWith('/api/v1/admin/webhooks/endpoints')

/** Returns the names of all members of a schema that contain a text. */
function textMembers(schema: Schema, schemas: Readonly<Record<string, Schema>>, seen = new Set<string>()): string[] {
  const { $ref, properties = {}, items } = schema
  if ($ref !== undefined) {
    const name = $ref.slice($ref.lastIndexOf('/') + 1)
    if (seen.has(name)) return []
    return textMembers(schemas[name] ?? {}, schemas, new Set([...seen, name]))
  }
  const inner = [items ?? [], schema.anyOf ?? [], schema.oneOf ?? [], schema.allOf ?? []].flat()
  return [
    ...Object.entries(properties).flatMap(([name, member]) => [
      ...(JSON.stringify(member).includes('"string"') ? [name] : []),
      ...textMembers(member, schemas, seen),
    ]),
    ...inner.flatMap((one) => textMembers(one, schemas, seen)),
  ]
}

t.test('a response with a secret is not compressed', async (t) => {
  const running = await startForTest(fullProduct, { roles: ['cli'], set: inMemoryConfig })
  t.teardown(() => running.stop('test ended'))
  const server = running.service(http)
  const document = (await server.openapi()) as unknown as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly responses: Schema }>>>>
    readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
  }
  const compressed = server.routes.filter(({ hidden, isCompressed }) => !hidden && isCompressed)
  t.ok(compressed.length > 200)
  const revealing = compressed.flatMap(({ method, path }) => {
    const operation = document.paths[path.replace(/:(\w+)/g, '{$1}')]?.[method.toLowerCase()]
    const response = (
      operation?.responses as unknown as Record<string, { content?: Record<string, { schema: Schema }> }>
    )?.['200']
    const schema = response?.content?.['application/json']?.schema
    if (schema === undefined) return []
    return textMembers(schema, document.components.schemas)
      .filter((name) => secretName.test(name) && !(name in publicMembers) && !isReceiver(path, name))
      .map((name) => `${method} ${path}: ${name}`)
  })
  t.same([...new Set(revealing)], [], 'declare compress: false, or list the name with its reason')
  t.same(
    compressed.filter(({ path }) => path.startsWith('/api/v1/auth/')).map(({ path }) => path),
    [],
    'sign-in is never compressed',
  )
})
