import type { TSchema } from 'typebox'

type Node = Readonly<Record<string, unknown>>

const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null && !Array.isArray(value)

/** Which objects of a schema are closed: this one and its parts, its parts only, or none. */
type Closing = 'all' | 'parts' | 'none'

/**
 * Keywords that contain schemas. The part of an `allOf` describes an object together with the other parts, so their parent
 * closes it. `not`, `if`, `then`, `else` and `contains` only test a value and stay open.
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
 * Members that have no effect where a schema does not declare them, by the part of a request. The server alone sets the members of
 * a body (document 1, "Input objects"), and the path alone chooses the version (document 1, "Versioning" 2).
 */
const neverEffective: Readonly<Record<string, readonly string[]>> = {
  body: ['id', 'createdAt', 'createdBy', 'updatedAt', 'updatedBy'],
  querystring: ['version'],
}

/**
 * Declares members that have no effect, where a document says so. Every other undeclared member is invalid.
 *
 * @example query: ignoring(Type.Object({ kind }), ['userId'])
 */
export const ignoring = <S extends TSchema>(schema: S, names: readonly string[]): S => ({
  ...schema,
  'x-ignored': names,
})

/** Names of a part of a request that are dropped before it is validated. */
export function ignoredNames(schema: object, httpPart: string): readonly string[] {
  const { properties, 'x-ignored': own = [] } = schema as { properties?: object; 'x-ignored'?: readonly string[] }
  if (properties === undefined) return []
  return [...(neverEffective[httpPart] ?? []), ...own].filter((name) => !Object.hasOwn(properties, name))
}

const closed = new WeakMap<object, Node>()

/**
 * Closes every object of a request schema: members that the schema does not declare are invalid. An object that specifies
 * `additionalProperties` itself stays as it is. That is how a route accepts members that it does not know.
 */
export function closeObjects(schema: object): Node {
  const result = closed.get(schema) ?? rewrite(schema as Node, 'all', close)
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
 * Bounds every integer to the integers that a number represents exactly, and every other number to finite numbers: JSON has
 * rounded larger integers already.
 */
export const boundNumbers = (schema: object): Node => rewrite(schema as Node, 'all', bound)

function bound(node: Node): Node {
  const largest = { integer: Number.MAX_SAFE_INTEGER, number: Number.MAX_VALUE }[String(node['type'])]
  if (largest === undefined) return node
  const hasLower = 'minimum' in node || 'exclusiveMinimum' in node
  const hasUpper = 'maximum' in node || 'exclusiveMaximum' in node
  return { ...node, ...(hasLower ? {} : { minimum: -largest }), ...(hasUpper ? {} : { maximum: largest }) }
}

/** Copies a schema and changes each schema in it, the inner ones first. */
function rewrite(node: Node, closing: Closing, change: (node: Node, closing: Closing) => Node): Node {
  const inner = (value: unknown, innerClosing: Closing): unknown => {
    if (Array.isArray(value)) return value.map((one) => inner(one, innerClosing))
    return isNode(value) ? rewrite(value, innerClosing, change) : value
  }
  const copy = Object.entries(node).map(([name, value]) => {
    if (maps.includes(name) && isNode(value)) {
      const members = Object.entries(value).map(([key, one]) => [key, inner(one, closing === 'none' ? 'none' : 'all')])
      return [name, Object.fromEntries(members)]
    }
    const innerClosing = closingOf[name]?.(closing)
    return [name, innerClosing === undefined ? value : inner(value, innerClosing)]
  })
  return change(Object.fromEntries(copy), closing)
}
