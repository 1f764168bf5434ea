import type { TSchema } from 'typebox'

type Node = Readonly<Record<string, unknown>>

/** What the validator compiles for a schema. */
export interface PreparedSchema {
  readonly compiled: object
  /**
   * True when objects are joined or alternatives of each other. The validator cannot drop undeclared members there (it
   * would drop what another branch declares), so the value is cleaned afterwards.
   */
  readonly needsCleaning: boolean
}

const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null && !Array.isArray(value)
const alternatives = ['anyOf', 'oneOf'] as const
const nodeMaps = ['properties', 'patternProperties', '$defs', 'definitions'] as const
const nodeMembers = [
  'items',
  'additionalProperties',
  'additionalItems',
  'contains',
  'not',
  'if',
  'then',
  'else',
] as const

/**
 * Closes every object that does not say what to do with undeclared members, so that the validator drops them, and bounds
 * every integer to what a number holds exactly and every other number to what is finite.
 */
export function prepareSchema(schema: TSchema): PreparedSchema {
  let needsCleaning = false

  const prepareAll = (nodes: unknown, canClose: boolean): unknown =>
    Array.isArray(nodes) ? nodes.map((node) => prepare(node, canClose)) : prepare(nodes, canClose)

  const prepare = (node: unknown, canClose: boolean): unknown => {
    if (!isNode(node)) return node
    const result: Record<string, unknown> = { ...node }
    for (const name of nodeMaps) {
      const map = node[name]
      if (!isNode(map)) continue
      result[name] = Object.fromEntries(Object.entries(map).map(([key, member]) => [key, prepare(member, canClose)]))
    }
    for (const name of nodeMembers) if (name in node) result[name] = prepareAll(node[name], canClose)
    for (const name of alternatives) {
      const branches = node[name]
      if (!Array.isArray(branches)) continue
      const areApart = branches.filter(holdsObject).length <= 1
      result[name] = prepareAll(branches, canClose && areApart)
      if (!areApart) needsCleaning = true
    }
    if (Array.isArray(node['allOf'])) {
      result['allOf'] = prepareAll(node['allOf'], false)
      if (node['allOf'].some(holdsObject)) needsCleaning = true
    }
    const declaresMembers = isNode(node['properties']) || isNode(node['patternProperties'])
    if (canClose && declaresMembers && !('additionalProperties' in node) && !('allOf' in node)) {
      result['additionalProperties'] = false
    }
    if (node['type'] === 'integer') return bounded(result, Number.MAX_SAFE_INTEGER)
    return node['type'] === 'number' ? bounded(result, Number.MAX_VALUE) : result
  }

  const compiled = prepare(schema, true) as object
  return { compiled, needsCleaning }
}

/** True for a branch that may describe an object, also further down. */
function holdsObject(node: unknown): boolean {
  if (!isNode(node)) return false
  if (isNode(node['properties']) || '$ref' in node) return true
  const inner = ['anyOf', 'oneOf', 'allOf', 'items', 'patternProperties'].map((name) => node[name])
  return inner.some((value) =>
    Array.isArray(value)
      ? value.some(holdsObject)
      : isNode(value) && (holdsObject(value) || Object.values(value).some(holdsObject)),
  )
}

function bounded(node: Node, largest: number): Node {
  const hasLower = 'minimum' in node || 'exclusiveMinimum' in node
  const hasUpper = 'maximum' in node || 'exclusiveMaximum' in node
  return { ...node, ...(hasLower ? {} : { minimum: -largest }), ...(hasUpper ? {} : { maximum: largest }) }
}
