import { didYouMean, type JsonValue } from '@plinth/kernel'
import { type WebhookAttribute, WebhookInputError, type WebhookProvider } from './contract.ts'

/** Attributes that specify where and how a message is sent (document 2 of the specification, "Common attributes"). */
export interface CommonAttributes {
  readonly provider: string | undefined
  readonly endpoint: string | undefined
  readonly messageType: string | undefined
  readonly secret: string | undefined
  /** Payload that replaces the whole payload of the provider. A text is sent unchanged. */
  readonly payload: JsonValue | undefined
}

type Attributes = Readonly<Record<string, unknown>>

/**
 * Maximum length of an attribute. It does not apply to a payload, because only the size of the whole request is limited
 * there.
 */
const maxAttributeLength = 8192

/** Reads the attributes that all providers share. @throws WebhookInputError */
export function commonAttributes(attributes: Attributes): CommonAttributes {
  const text = (name: string): string | undefined => {
    const value = attributes[name]
    if (value === undefined || value === null || value === '') return undefined
    if (typeof value === 'string' && value.length <= maxAttributeLength) return value.trim()
    throw new WebhookInputError(name, `be a text of at most ${maxAttributeLength} characters`)
  }
  return {
    provider: text('webhook.provider')?.toLowerCase(),
    endpoint: text('webhook.endpoint'),
    messageType: text('webhook.message-type')?.toLowerCase(),
    secret: text('webhook.secret'),
    payload: payloadOf(attributes['webhook.payload']),
  }
}

function payloadOf(value: unknown): JsonValue | undefined {
  if (value === undefined || value === null || value === '') return undefined
  if (typeof value === 'string') return value
  try {
    const text: unknown = JSON.stringify(value)
    if (typeof text === 'string') return JSON.parse(text)
  } catch {
    // JSON cannot represent the value, for example because it is circular or a bigint.
  }
  throw new WebhookInputError('webhook.payload', 'be a text or a JSON value')
}

type Reader = (written: unknown, rule: WebhookAttribute) => JsonValue | undefined

const fromJson = (written: unknown): unknown => {
  if (typeof written !== 'string') return written
  try {
    return JSON.parse(written)
  } catch {
    return undefined
  }
}
const isObject = (value: unknown): value is { readonly [name: string]: JsonValue } =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const readers: Readonly<Record<NonNullable<WebhookAttribute['type']>, readonly [rule: string, read: Reader]>> = {
  text: [
    'be a text',
    (written) => (typeof written === 'string' ? written : typeof written === 'number' ? String(written) : undefined),
  ],
  integer: [
    'be a whole number',
    (written) => {
      const value = typeof written === 'string' && /^[+-]?\d{1,15}$/.test(written.trim()) ? Number(written) : written
      return typeof value === 'number' && Number.isSafeInteger(value) ? value : undefined
    },
  ],
  boolean: [
    'be true or false',
    (written) => (typeof written === 'boolean' ? written : { true: true, false: false }[String(written).toLowerCase()]),
  ],
  list: [
    'be a list of texts',
    (written) => {
      const items = typeof written === 'string' ? written.split(',').map((item) => item.trim()) : written
      if (!Array.isArray(items) || items.length > 100) return undefined
      return items.every((item) => typeof item === 'string') ? items.filter((item) => item !== '') : undefined
    },
  ],
  object: [
    'be a JSON object',
    (written) => {
      const value = fromJson(written)
      return isObject(value) ? value : undefined
    },
  ],
  objects: [
    'be a list of JSON objects',
    (written) => {
      const value = fromJson(written)
      return Array.isArray(value) && value.length <= 100 && value.every(isObject) ? value : undefined
    },
  ],
}

/**
 * Returns the attributes of a provider by name, converted to their types.
 *
 * @param name code or alias of the provider; attributes with an alias override those with the code
 * @throws WebhookInputError for an invalid value or an unknown name
 */
export function providerAttributes(
  { code, attributes: rules = {} }: WebhookProvider,
  name: string,
  attributes: Attributes,
): Record<string, JsonValue> {
  const values: Record<string, JsonValue> = {}
  for (const owner of new Set([code, name])) {
    const prefix = `webhook.${owner}.`
    for (const [attribute, written] of Object.entries(attributes)) {
      if (!attribute.startsWith(prefix) || written === undefined || written === null || written === '') continue
      const own = attribute.slice(prefix.length)
      const rule = Object.hasOwn(rules, own) ? rules[own] : undefined
      if (rule === undefined) {
        const known = Object.keys(rules)
        const names = known.length === 0 ? 'be absent: the provider has no attributes of its own' : `be one of ${known}`
        throw new WebhookInputError(attribute.slice(0, 100), `${names}.${didYouMean(own.slice(0, 100), known)}`)
      }
      values[own] = readAttribute(attribute, written, rule)
    }
  }
  return values
}

function readAttribute(attribute: string, written: unknown, rule: WebhookAttribute): JsonValue {
  const [text, read] = readers[rule.type ?? 'text']
  if (typeof written === 'string' && written.length > maxAttributeLength) {
    throw new WebhookInputError(attribute, `have at most ${maxAttributeLength} characters`)
  }
  const value = read(written, rule)
  if (value === undefined) throw new WebhookInputError(attribute, text)
  const { values, minimum = -Infinity, maximum = Infinity } = rule
  if (values !== undefined && !values.includes(String(value))) {
    throw new WebhookInputError(attribute, `be one of ${values.join(', ')}`)
  }
  const size = Array.isArray(value) ? value.length : value
  if (typeof size === 'number' && (size < minimum || size > maximum)) {
    const bounds = Array.isArray(value) ? `have at most ${maximum} items` : `be from ${minimum} to ${maximum}`
    throw new WebhookInputError(attribute, bounds)
  }
  return value
}

/** Returns the values of sensitive attributes, so that logs and results can mask them. */
export function sensitiveValues(providers: Iterable<WebhookProvider>, attributes: Attributes): string[] {
  const names = [...providers].flatMap(({ code, aliases = [], attributes: rules = {} }) =>
    Object.entries(rules).flatMap(([own, { sensitive }]) =>
      sensitive === true ? [code, ...aliases].map((name) => `webhook.${name}.${own}`) : [],
    ),
  )
  return names.flatMap((name) => {
    const value = attributes[name]
    return [value ?? []].flat().flatMap((one) => (typeof one === 'string' ? [one, ...one.split(',')] : []))
  })
}
