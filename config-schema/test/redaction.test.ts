import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { maxRedactableLength, redact, redactError, Secrets, unsearchableTextNotice } from '../src/reading.ts'

/** Secrets do not contain "*". Otherwise a secret could be a part of the mask. */
const secretText = fc
  .string({ unit: 'binary', minLength: 4, maxLength: 24 })
  .filter((text) => text.length >= 4 && !text.includes('*'))

t.test('K-009 no secret remains after redaction, whatever the surrounding text and the written form are', async () => {
  const around = fc.string({ unit: 'binary', maxLength: 12 }).map((text) => text.replaceAll('*', ''))
  const inJson = (text: string) => JSON.stringify(text).slice(1, -1)
  const lower = (digits: string) => digits.toLowerCase()
  const forms: Readonly<Record<string, (text: string) => string>> = {
    plain: (text) => text,
    json: inJson,
    'json in json': (text) => inJson(inJson(text)),
    'query of a URL': (text) => encodeURIComponent(text.toWellFormed()),
    form: (text) => new URLSearchParams({ '': text }).toString().slice(1),
    'form in lower case': (text) => new URLSearchParams({ '': text }).toString().slice(1).replace(/%../g, lower),
    'URL in lower case': (text) => encodeURIComponent(text.toWellFormed()).replace(/%../g, lower),
    'json with escaped slashes': (text) => inJson(text).replaceAll('/', '\\/'),
    base64: (text) => Buffer.from(text).toString('base64'),
    base64url: (text) => Buffer.from(text).toString('base64url'),
    'base64 in a URL': (text) => encodeURIComponent(Buffer.from(text).toString('base64')),
  }
  fc.assert(
    fc.property(fc.array(secretText, { minLength: 1, maxLength: 4 }), around, around, (secrets, before, after) => {
      for (const secret of secrets) {
        for (const [name, write] of Object.entries(forms)) {
          const masked = redact(`${before}${write(secret)}${after}`, secrets)
          for (const hidden of secrets) assert.ok(!masked.includes(write(hidden)), name)
          assert.equal(redact(masked, secrets), masked, 'masking again changes nothing')
        }
      }
    }),
    { numRuns: 300 },
  )
})

t.test('K-009 basic authentication is masked at every alignment, and other text stays', async (t) => {
  fc.assert(
    fc.property(
      fc.string({ maxLength: 9 }),
      fc.string({ unit: 'grapheme-ascii', minLength: 6, maxLength: 24 }),
      (user, password) => {
        const header = Buffer.from(`${user}:${password}`).toString('base64')
        const masked = redact(header, [password])
        const seen = Buffer.from(masked.split('******').join(''), 'base64').toString()
        assert.ok(masked.includes('******'))
        assert.ok(!seen.includes(password))
      },
    ),
  )
  t.equal(redact('nothing to see', []), 'nothing to see')
  t.equal(redact('an abc of the abcd', ['abc', 'abcd']), 'an abc of the ******', 'short texts are ordinary words')
  t.equal(redact('abcd abcdef', ['abcd', 'abcdef']), '****** ******', 'the longest secret first')
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('a', 'b', ' ') }), (text) => {
      assert.equal(redact(text, ['secret', 'hush-hush']), text)
    }),
  )
})

t.test('K-009 every text within a secret value is masked, and stays masked when the value was replaced', async (t) => {
  const secrets = new Secrets()
  t.equal(secrets.redact('old-secret'), 'old-secret')
  secrets.add('old-secret')
  secrets.add({ list: ['nested-secret', 98765432], none: null, on: true })
  secrets.add('https://user:p%40ssword@host.example')
  for (const text of ['old-secret', 'nested-secret', '98765432', 'p%40ssword', 'p@ssword']) {
    t.equal(secrets.redact(`see ${text}!`), 'see ******!')
  }
})

/**
 * Slow reference implementation. It finds every occurrence of every form of the secrets, and joins occurrences that
 * overlap or touch.
 */
function redactSlowly(text: string, secrets: readonly string[]): string {
  const covered = new Uint8Array(text.length)
  const inJson = (part: string) => JSON.stringify(part).slice(1, -1)
  for (const secret of secrets.filter(({ length }) => length >= 4)) {
    const bytes = Buffer.from(secret)
    const digits = [0, 1, 2].map((before) => {
      const all = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64')
      return all.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6))
    })
    const url = [encodeURIComponent(secret.toWellFormed()), new URLSearchParams({ '': secret }).toString().slice(1)]
    const forms = [secret, inJson(secret), inJson(inJson(secret)), ...url, bytes.toString('base64'), ...digits]
    for (const form of forms.filter(({ length }) => length >= 4)) {
      for (let at = text.indexOf(form); at >= 0; at = text.indexOf(form, at + 1)) covered.fill(1, at, at + form.length)
    }
  }
  let shown = ''
  for (let at = 0; at < text.length; at++) {
    if (covered[at] === 0) shown += text[at]
    else if (covered[at - 1] !== 1) shown += '******'
  }
  return shown
}

t.test('K-009 the mask equals that of a naive search, also where secrets overlap and repeat', async () => {
  const few = fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 1, maxLength: 40 })
  const odd = fc.string({ unit: fc.constantFrom('a', '"', '%', ' ', '文', '\ud800'), minLength: 1, maxLength: 20 })
  for (const secret of [few, odd, secretText]) {
    fc.assert(
      fc.property(
        fc.array(secret, { minLength: 1, maxLength: 2 }),
        fc.array(fc.oneof(secret, fc.nat(9)), { maxLength: 12 }),
        fc.boolean(),
        (secrets, parts, isLate) => {
          const write = (part: string | number) =>
            typeof part === 'string' ? part : (secrets[part % secrets.length] ?? '')
          const text = parts
            .map((part, index) => (index % 3 === 2 ? JSON.stringify(write(part)) : write(part)))
            .join('')
          const known = new Secrets()
          for (const one of secrets.slice(0, isLate ? 1 : undefined)) known.add(one)
          assert.equal(known.redact(text, isLate ? secrets.slice(1) : []), redactSlowly(text, secrets))
        },
      ),
      { numRuns: 400 },
    )
  }
})

t.test('K-009 no part of a secret remains, however many secrets begin with the same characters', async () => {
  const lengths = fc.uniqueArray(fc.integer({ min: 4, max: 300 }), { minLength: 20, maxLength: 60 })
  fc.assert(
    fc.property(lengths, fc.nat(), (some, which) => {
      const secrets = some.map((length) => `${'a'.repeat(length - 1)}${length % 2 === 0 ? 'b' : 'c'}`)
      const known = new Secrets()
      for (const secret of secrets) known.add(secret)
      const text = `<${secrets[which % secrets.length]}>`
      assert.equal(known.redact(text), redactSlowly(text, secrets))
    }),
    { numRuns: 50 },
  )
})

t.test('K-009 ten thousand secrets, one of a megabyte, and texts that almost contain them', async (t) => {
  const many = new Secrets()
  const secrets = Array.from(
    { length: 10_000 },
    (_, index) => `sk_live_${index.toString(36).padStart(5, 'Z')}-${index}`,
  )
  for (const secret of secrets) many.add(secret)
  t.equal(many.redact(secrets.join('\n')), Array.from(secrets, () => '******').join('\n'))
  t.equal(many.redact('sk_live_ZZZZZ'.repeat(50_000)), 'sk_live_ZZZZZ'.repeat(50_000))

  const mebi = 2 ** 20
  const huge = `${'a'.repeat(mebi - 1)}"`
  many.add(huge)
  for (const written of [huge, JSON.stringify(huge).slice(1, -1), Buffer.from(`u:${huge}`).toString('base64')]) {
    t.ok(many.redact(`<${written}>`).length < 20)
  }
  const almost = 'a'.repeat(mebi)
  t.equal(many.redact(almost), almost)
  for (let power = 4; power < 14; power++) {
    for (let more = 0; more < 32; more++) many.add(`${'a'.repeat(2 ** power + (more % 2 ** power))}b`)
  }
  t.ok(many.redact(`${'a'.repeat(2 ** 17)}b`).endsWith('******'))
})

t.test('K-009 a text that cannot be searched is replaced as a whole, and nothing is thrown', async (t) => {
  const secrets = new Secrets()
  secrets.add('hush-hush')
  const longest = 'hush-hush'.padStart(maxRedactableLength, ' ')
  t.ok(secrets.redact(longest).endsWith(' ******'))
  t.equal(secrets.redact(`${longest} `), unsearchableTextNotice)
  for (const odd of [undefined, null, 7, { length: 5 }]) t.equal(secrets.redact(odd as never), unsearchableTextNotice)
  const trap = Object.defineProperty({}, 'x', {
    enumerable: true,
    get: () => {
      throw new Error('hush-hush')
    },
  })
  t.equal(secrets.redact('hush-hush', [trap]), unsearchableTextNotice)
  const circle: unknown[] = ['in a circle']
  circle.push(circle)
  t.equal(secrets.redact('hush-hush in a circle', [circle]), '****** ******')
  const deep: unknown[] = []
  let inner = deep
  for (let depth = 0; depth < 100_000; depth++) {
    const next: unknown[] = depth === 99_999 ? ['deep-down'] : []
    inner.push(next)
    inner = next
  }
  t.equal(secrets.redact('deep-down', [deep]), '******')
})

t.test('K-009 secrets in an error and its causes are masked in place, also if the causes form a cycle', async (t) => {
  const error = new Error('no hush-hush')
  error.cause = new AggregateError([error, Object.freeze(new Error('frozen'))], 'many hush-hush')
  redactError(error, (text) => redact(text, ['hush-hush']))
  t.equal(error.message, 'no ******')
  t.notMatch(error.stack, 'hush-hush')
  t.equal((error.cause as Error).message, 'many ******')
  redactError('no error', (text) => {
    t.fail('nothing to mask')
    return text
  })
  const odd = new Error('hush-hush', { cause: new Error('inner hush-hush') })
  Object.defineProperty(odd, 'message', {
    get: () => {
      throw new Error('no message')
    },
  })
  let chain = odd
  for (let depth = 0; depth < 20_000; depth++) chain = new Error('outer', { cause: chain })
  const known = new Secrets()
  known.add('hush-hush')
  redactError(chain, (text) => known.redact(text))
  t.equal((odd.cause as Error).message, 'inner ******')
})
