import type { TSchema } from 'typebox'

type Node = Readonly<Record<string, unknown>>

const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null && !Array.isArray(value)

/** Which objects reject undeclared members: the schema and its parts, only its parts, or none. */
type Closing = 'all' | 'parts' | 'none'

/**
 * Keywords that contain schemas. All parts of an `allOf` describe one object, so only the schema that contains the
 * `allOf` rejects undeclared members. `not`, `if`, `then`, `else` and `contains` only test a value, so their schemas
 * accept undeclared members.
 */
const maps = ['properties', 'patternProperties', '$defs', 'definitions']
const closingOf: Readonly<Record<string, (outer: Closing) => Closing>> = {
  items: (outer) => (outer === 'none' ? 'none' : 'all'),
  additionalItems: (outer) => (outer === 'none' ? 'none' : 'all'),
  additionalProperties: (outer) => (outer === 'none' ? 'none' : 'all'),
  anyOf: (outer) => outer,
  oneOf: (outer) => outer,
  allOf: (outer) => (outer === 'none' ? 'none' : 'parts'),
  ...Object.fromEntries(['not', 'if', 'then', 'else', 'contains'].map((name) => [name, () => 'none'] as const)),
}

/**
 * Undeclared members that are ignored, by part of the request. Only the server sets these body members (document 1 of
 * the specification, "Input objects"). Only the path selects the version (document 1 of the specification, "Versioning"
 * 2).
 */
const neverEffective: Readonly<Record<string, readonly string[]>> = {
  body: ['id', 'createdAt', 'createdBy', 'updatedAt', 'updatedBy'],
  querystring: ['version'],
}

/**
 * Returns a schema that ignores the given members. Use it only if a document requires this. All other undeclared
 * members are rejected.
 *
 * @example query: ignoring(Type.Object({ kind }), ['userId'])
 */
export const ignoreMembers = <S extends TSchema>(schema: S, names: readonly string[]): S => ({
  ...schema,
  'x-ignored': names,
})

interface IgnoringSchema {
  readonly properties?: object
  readonly 'x-ignored'?: readonly string[]
}

/** Returns the names of members that are removed from a request before validation. */
export function ignoredNames(schema: object, httpPart: string): readonly string[] {
  const { properties, 'x-ignored': own = [] }: IgnoringSchema = schema
  if (properties === undefined) return []
  return [...(neverEffective[httpPart] ?? []), ...own].filter((name) => !Object.hasOwn(properties, name))
}

const closed = new WeakMap<object, Node>()

/**
 * Returns a schema whose objects reject undeclared members. An object with its own `additionalProperties` is not
 * changed, so a route can accept unknown members.
 */
export function rejectUndeclaredMembers(schema: object): Node {
  const result = closed.get(schema) ?? rewrite(schema, 'all', close)
  closed.set(schema, result)
  return result
}

function close(node: Node, closing: Closing): Node {
  if (closing !== 'all' || 'additionalProperties' in node) return node
  if (Array.isArray(node['allOf'])) return { ...node, unevaluatedProperties: false }
  const declaresMembers = isNode(node['properties']) || isNode(node['patternProperties'])
  return declaresMembers ? { ...node, additionalProperties: false } : node
}

/**
 * Returns a schema that accepts only integers up to 2^53 - 1 and finite numbers. The JSON parser has already rounded
 * larger integers.
 */
export const rejectUnsafeNumbers = (schema: object): Node => rewrite(schema, 'all', bound)

function bound(node: Node): Node {
  const largest = { integer: Number.MAX_SAFE_INTEGER, number: Number.MAX_VALUE }[String(node['type'])]
  if (largest === undefined) return node
  const hasLower = 'minimum' in node || 'exclusiveMinimum' in node
  const hasUpper = 'maximum' in node || 'exclusiveMaximum' in node
  return { ...node, ...(hasLower ? {} : { minimum: -largest }), ...(hasUpper ? {} : { maximum: largest }) }
}

/** Returns a copy in which `change` has replaced each subschema, inner ones first. */
function rewrite(schema: object, closing: Closing, change: (node: Node, closing: Closing) => Node): Node {
  const inner = (value: unknown, innerClosing: Closing): unknown => {
    if (Array.isArray(value)) return value.map((one) => inner(one, innerClosing))
    return isNode(value) ? rewrite(value, innerClosing, change) : value
  }
  const copy = Object.entries(schema).map(([name, value]) => {
    if (maps.includes(name) && isNode(value)) {
      const members = Object.entries(value).map(([key, one]) => [key, inner(one, closing === 'none' ? 'none' : 'all')])
      return [name, Object.fromEntries(members)]
    }
    const innerClosing = closingOf[name]?.(closing)
    return [name, innerClosing === undefined ? value : inner(value, innerClosing)]
  })
  return change(Object.fromEntries(copy), closing)
}
