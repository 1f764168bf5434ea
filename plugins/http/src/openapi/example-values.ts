import type { Schema } from './document.ts'

/** Candidates for examples. The first text that a schema allows is its example. */
const texts = [
  'example',
  'Example',
  'en',
  'en-US',
  '1',
  '42',
  '0.5',
  'user@example.com',
  '+4915112345678',
  '13800138000',
  '2026-01-31',
  '2026-01-31T09:30:00.000Z',
  'https://shop.example/orders',
  'example.name',
  'example:name:view',
  'EXAMPLE',
  '123456',
  '192.0.2.1',
  'a'.repeat(16),
  'a'.repeat(32),
  'A'.repeat(43),
  `0x${'1'.repeat(40)}`,
  `0x${'1'.repeat(64)}`,
  `0x${'1'.repeat(130)}`,
  '1'.repeat(64),
  'f47ac10b-58cc-4372-a567-0e02b2c3d479',
  '2026-01',
  'points:mall',
  '1:example.name',
]

const formats: Readonly<Record<string, string>> = {
  'date-time': '2026-01-31T09:30:00.000Z',
  date: '2026-01-31',
  email: 'user@example.com',
  uri: 'https://shop.example/orders',
}

/** At this depth, examples omit optional members, because schemas of trees refer to themselves. */
const maxDepth = 6

/**
 * Returns a value that the schema allows, or `undefined` if no candidate fits. `examples` in the schema has priority.
 *
 * @param schemas components of the document, for references
 */
export function exampleOf(schema: Schema, schemas: Readonly<Record<string, Schema>>, depth = 0): unknown {
  const { examples, type, properties, items } = schema
  const inner = (one: Schema) => exampleOf(one, schemas, depth + 1)
  if (Array.isArray(examples) && examples.length > 0) return examples[0]
  if ('const' in schema) return schema['const']
  if (schema.enum !== undefined) return schema.enum[0]
  if (schema['default'] !== undefined) return schema['default']
  const ref = schema['$ref']
  if (typeof ref === 'string') return inner(schemas[ref.split('/').at(-1) ?? ''] ?? {})
  const [choice] = schema.anyOf ?? schema.oneOf ?? []
  if (choice !== undefined) return inner(choice)
  switch (Array.isArray(type) ? type[0] : type) {
    case 'string':
      return textFor(schema)
    case 'integer':
    case 'number':
      return numberFor(schema)
    case 'boolean':
      return true
    case 'null':
      return null
    case 'array': {
      const tuple = schema['prefixItems']
      if (Array.isArray(tuple)) return tuple.map(inner)
      const item = items === undefined || depth > maxDepth ? undefined : inner(items)
      return item === undefined ? [] : [item]
    }
    default:
      if (properties === undefined) return {}
      return Object.fromEntries(
        Object.entries(properties)
          .filter(([name]) => depth <= maxDepth || schema.required?.includes(name))
          .map(([name, member]) => [name, inner(member)])
          .filter(([, value]) => value !== undefined),
      )
  }
}

function textFor({ format, pattern, minLength = 0, maxLength = Number.MAX_SAFE_INTEGER }: Schema): string | undefined {
  const rule = typeof pattern === 'string' ? new RegExp(pattern, 'u') : /^/
  const known = formats[String(format)]
  const isAllowed = (text: string) =>
    text.length >= Number(minLength) && text.length <= Number(maxLength) && rule.test(text)
  return (known === undefined ? texts : [known]).find(isAllowed)
}

function numberFor({ minimum, exclusiveMinimum, maximum }: Schema): number {
  const least = typeof minimum === 'number' ? minimum : typeof exclusiveMinimum === 'number' ? exclusiveMinimum + 1 : 1
  return Math.min(Math.max(1, least), typeof maximum === 'number' ? maximum : Number.MAX_SAFE_INTEGER)
}
