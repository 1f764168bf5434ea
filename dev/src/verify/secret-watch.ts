import { randomBytes } from 'node:crypto'
import type { JsonSchema, KeyDeclaration } from '@plinth/config-schema'
import { Secrets } from '@plinth/config-schema/reading'

/** Finds secrets in texts: in all forms that are masked in logs, in hexadecimal form, and backwards. */
export class SecretWatch {
  readonly #secrets: {
    readonly key: string
    readonly value: string
    readonly forms: Secrets
    readonly others: readonly string[]
  }[] = []

  get values(): readonly string[] {
    return this.#secrets.map(({ value }) => value)
  }

  add(key: string, value: string): void {
    const forms = new Secrets()
    forms.add(value)
    const hex = Buffer.from(value).toString('hex')
    this.#secrets.push({ key, value, forms, others: [hex, hex.toUpperCase(), [...value].reverse().join('')] })
  }

  in(text: string): readonly string[] {
    return this.#secrets
      .filter(({ forms, others }) => others.some((other) => text.includes(other)) || forms.redact(text) !== text)
      .map(({ key }) => key)
  }
}

/** Functions that create a text in a format with a secret in it. */
const formats: Readonly<Record<string, (secret: string) => string>> = {
  url: (secret) => `https://${secret}.invalid/`,
  'url-with-credentials': (secret) => `https://user:${secret}@verify.invalid/`,
  host: (secret) => `${secret}.invalid`,
  email: (secret) => `${secret}@verify.invalid`,
  duration: () => '1m',
  bytes: () => '1MiB',
  cidr: () => '192.0.2.0/24',
  'time-zone': () => 'UTC',
  locale: () => 'en',
}

/**
 * Returns an invented value for a required key or for a secret. Returns `undefined` if the key needs no value, or if no
 * valid value can be invented.
 */
export function inventConfigValue({
  required,
  sensitive,
  state,
  schema,
  examples,
}: KeyDeclaration): string | undefined {
  if (state === true || (required !== true && sensitive !== true)) return undefined
  const {
    type,
    format,
    minimum,
    pattern,
    minLength = 0,
    maxLength = 48,
    enum: values,
  } = schema as JsonSchema & {
    readonly format?: string
    readonly minimum?: number
    readonly pattern?: string
    readonly minLength?: number
    readonly maxLength?: number
    readonly enum?: readonly unknown[]
  }
  if (sensitive !== true && examples?.[0] !== undefined) return textOf(examples[0])
  if (values !== undefined) return textOf(values[0])
  if (type === 'integer' || type === 'number') return String(minimum ?? 1)
  if (type === 'boolean') return 'true'
  if (type !== 'string' || pattern !== undefined) return undefined
  const secret = randomBytes(Math.ceil(Math.max(minLength, 24) / 2))
    .toString('hex')
    .slice(0, maxLength)
  return (formats[format ?? ''] ?? ((text: string) => text))(secret)
}

const textOf = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value))
