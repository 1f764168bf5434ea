import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import openPlatform, {
  canonicalQuery,
  canonicalRequest,
  signatureHeaders,
  signatureOf,
  timestampToleranceMs,
} from '@plinth/open-platform'
import fc from 'fast-check'
import t from 'tap'
import { openPlatformError } from '../src/declarations.ts'

const { secret, vectors, refused } = JSON.parse(
  readFileSync(join(import.meta.dirname, '..', 'signature-vectors.json'), 'utf8'),
)
const canonicalOf = ({ method, target, body, timestamp, nonce }: (typeof vectors)[number]) =>
  canonicalRequest({ method, target, body: Buffer.from(body), timestamp, nonce })

t.test('C-048 C-049 A25 canonical text and signature equal the test vectors', async (t) => {
  for (const vector of vectors) {
    t.equal(canonicalOf(vector), vector.canonical, vector.name)
    t.equal(signatureOf(secret, vector.canonical), vector.signature, vector.name)
  }
  for (const { name, target } of refused) t.equal(canonicalOf({ ...vectors[0], target }), undefined, name)
})

t.test('C-049 header names and tolerance are those of version 1', async (t) => {
  t.same(Object.values(signatureHeaders), ['X-Open-App-Key', 'X-Open-Timestamp', 'X-Open-Nonce', 'X-Open-Signature'])
  t.equal(timestampToleranceMs, 300_000)
})

const text = fc.string({ unit: 'binary', maxLength: 8 }).filter((value) => value.isWellFormed())
const pairs = fc.array(fc.tuple(text, text), { maxLength: 6 })
const shuffled = pairs.chain((all) =>
  fc.tuple(fc.constant(all), fc.shuffledSubarray(all, { minLength: all.length, maxLength: all.length })),
)
/** Functions that encode the same query text in different ways. */
const spellings: readonly ((text: string) => string)[] = [
  encodeURIComponent,
  (value) => encodeURIComponent(value).replaceAll('%20', '+'),
  (value) => encodeURIComponent(value).replace(/%../g, (triplet) => triplet.toLowerCase()),
  (value) => [...Buffer.from(value)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join(''),
]

t.test('the canonical query depends on the content of a query, not on its notation', async (t) => {
  const written = (all: readonly (readonly [string, string])[], spell: (text: string) => string) =>
    all.map(([name, value]) => `${spell(name)}=${spell(value)}`).join('&')
  fc.assert(
    fc.property(
      shuffled,
      fc.constantFrom(...spellings),
      ([all, other], spell) =>
        canonicalQuery(written(all, encodeURIComponent)) === canonicalQuery(written(other, spell)),
    ),
  )
  fc.assert(
    fc.property(pairs, pairs, (one, other) => {
      const key = (all: typeof one) => JSON.stringify(all.map((pair) => JSON.stringify(pair)).sort())
      const isSame =
        canonicalQuery(written(one, encodeURIComponent)) === canonicalQuery(written(other, encodeURIComponent))
      return isSame === (key(one) === key(other))
    }),
  )
  fc.assert(
    fc.property(pairs, (all) => {
      const canonical = canonicalQuery(written(all, encodeURIComponent)) ?? ''
      return canonicalQuery(canonical) === canonical
    }),
  )
  t.pass('as far as random queries tell')
})

t.test('C-052 no two requests have the same canonical text', async (t) => {
  const request = fc.record({
    method: fc.constantFrom('GET', 'POST'),
    path: fc.constantFrom('/a', '/a/b', '/b'),
    query: fc.constantFrom('', 'a=1', 'a=2', 'b=1'),
    body: fc.uint8Array({ maxLength: 2 }),
    timestamp: fc.constantFrom('1', '2'),
    nonce: fc.constantFrom('n', 'm'),
  })
  fc.assert(
    fc.property(request, request, (one, other) => {
      const canonical = ({ path, query, ...rest }: typeof one) =>
        canonicalRequest({ ...rest, target: `${path}?${query}` })
      const facts = (it: typeof one) => JSON.stringify({ ...it, body: [...it.body] })
      return (canonical(one) === canonical(other)) === (facts(one) === facts(other))
    }),
  )
  t.pass('as far as random requests tell')
})

t.test('C-046 the document describes everything that callers and operators see', async (t) => {
  const document = readFileSync(join(import.meta.dirname, '..', 'README.md'), 'utf8')
  const { fields, helps: _, ...texts } = Object(openPlatform.messages?.en['open-platform'])
  t.ok(fields, 'the titles of fields are no reasons')
  const reasons = Object.keys(texts).map((name) => `open-platform.${name}`)
  const named = [
    ...Object.values(signatureHeaders),
    ...reasons,
    ...Object.keys(openPlatform.config ?? {}),
    ...(openPlatform.permissions ?? []).map(({ code }) => code),
    ...Object.keys(openPlatformError.table),
    'HMAC-SHA256',
    '/api/v1',
    `${timestampToleranceMs / 1000} s`,
    'scope',
    'nonce',
    'X-Open-RateLimit-Limit',
    'X-Open-RateLimit-Remaining',
    'X-Open-RateLimit-Reset',
    'Retry-After',
  ]
  for (const name of named) t.ok(document.includes(name), name)
})
