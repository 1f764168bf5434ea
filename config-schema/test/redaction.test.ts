import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { redact, redactError, Secrets } from '../src/reading.ts'

/** Without "*", so that a secret is no part of the mask. */
const secretText = fc
  .string({ unit: 'binary', minLength: 4, maxLength: 24 })
  .filter((text) => text.length >= 4 && !text.includes('*'))

t.test('K-009 no secret survives redaction, whatever stands around it and however it is written', async () => {
  const around = fc.string({ unit: 'binary', maxLength: 12 }).map((text) => text.replaceAll('*', ''))
  const inJson = (text: string) => JSON.stringify(text).slice(1, -1)
  const forms: Readonly<Record<string, (text: string) => string>> = {
    plain: (text) => text,
    json: inJson,
    'json in json': (text) => inJson(inJson(text)),
    'query of a URL': (text) => encodeURIComponent(text.toWellFormed()),
    base64: (text) => Buffer.from(text).toString('base64'),
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

t.test('K-009 basic authentication is masked at every alignment; what is no secret stays', async (t) => {
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
    t.ok(secrets.texts().includes(text))
  }
})

t.test('K-009 an error loses its secrets in place, with its causes, and a circle of causes ends', async (t) => {
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
})
