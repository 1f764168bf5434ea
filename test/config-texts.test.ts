/** Tests rules for keys with text values, for all plugins of the quickstart. */
import type { JsonSchema, JsonValue } from '@plinth/kernel'
import { type OwnedKey, prepareProduct, validateValue } from '@plinth/kernel/host'
import t from 'tap'
import product from '../examples/quickstart/plinth.config.ts'

const { plan } = prepareProduct(product, { envFile: false, environment: {} })

/**
 * Keys whose values may contain line breaks: PEM texts and redirect targets. Redirect targets have a separate check: an
 * unsafe target is rejected when it is saved, and requests are redirected to `/` instead.
 */
const multilineKeys = [
  'platform.install.root-route.target',
  'platform.mail.dkim.private-key',
  'platform.mail.smtp.ca',
  'platform.push.fcm.service-account',
  'platform.view.root.target',
]

const isSchema = (value: unknown): value is JsonSchema => typeof value === 'object' && value !== null
/** True if a value of the schema may contain text that an operator types. */
const hasText = (schema: unknown): boolean =>
  isSchema(schema) && (schema['type'] === 'string' || Object.values(schema).some(hasText))
const hasPattern = (schema: unknown): boolean =>
  isSchema(schema) && (typeof schema['pattern'] === 'string' || Object.values(schema).some(hasPattern))

/** Returns a value of the required type that contains the text. */
const holding = ({ declaration: { schema } }: OwnedKey, text: string): JsonValue => {
  if (schema['type'] !== 'object') return schema['type'] === 'array' ? [text] : text
  const members = isSchema(schema['properties']) ? Object.keys(schema['properties']) : []
  return members.length === 0 ? { [text]: { text } } : Object.fromEntries(members.map((name) => [name, text]))
}
const rulesOf = (owned: OwnedKey, text: string, locale?: string) =>
  validateValue(owned.declaration, holding(owned, text), locale).map(({ rule }) => rule)

const texts = [...plan.keys.values()].filter(({ declaration }) => hasText(declaration.schema))

t.test('no text key takes a control character, and line breaks only if it declares several lines', async (t) => {
  t.ok(texts.length > 100, `${texts.length} keys`)
  const isMultiline = ({ declaration }: OwnedKey) => declaration.multiline === true
  t.strictSame(
    texts
      .filter(isMultiline)
      .map(({ key }) => key)
      .sort(),
    multilineKeys,
  )
  const isBroken = (owned: OwnedKey, text: string) => [...new Set(rulesOf(owned, text))].join() === 'line'
  const accepted = texts.flatMap((owned) => {
    const broken = isMultiline(owned) ? ['a\0b', '\u001b[31m'] : ['a\r\nBcc: x@y', 'a\nb', 'a\tb', 'a\0b', 'a\u2028b']
    return broken.filter((text) => !isBroken(owned, text)).map((text) => `${owned.key} ${encodeURIComponent(text)}`)
  })
  t.strictSame(accepted, [])
  const rejected = texts.filter((owned) => isMultiline(owned) && rulesOf(owned, 'a\r\n\tb').length > 0)
  t.strictSame(rejected, [])
})

t.test('a value that violates a pattern is rejected with words in both languages', async (t) => {
  const patterned = texts.filter(({ declaration }) => hasPattern(declaration.schema))
  t.ok(patterned.length > 20, `${patterned.length} keys`)
  const wordsOf = (owned: OwnedKey, locale: string) =>
    validateValue(owned.declaration, holding(owned, '-A?\\ ü'), locale).find(({ rule }) => rule === 'pattern')
      ?.message ?? ''
  const isGood = (owned: OwnedKey, locale: string, words: RegExp) =>
    words.test(wordsOf(owned, locale)) && !/match the pattern|匹配模式|\^/.test(wordsOf(owned, locale))
  const wrong = patterned.filter(
    (owned) => !isGood(owned, 'en', /must /) || !isGood(owned, 'zh-CN', /必须\s?[\u4e00-\u9fff]/),
  )
  t.strictSame(
    wrong.map(({ key }) => key),
    [],
  )
})
