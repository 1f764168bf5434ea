import type { TemplateValue } from '../contract.ts'
import { businessError } from '../declarations.ts'

export type Variables = Readonly<Record<string, TemplateValue>>

/** Limits for all variables of one template together. */
export const valueLimits = { values: 10_000, characters: 150_000, depth: 16 } as const

/**
 * Copies variables to objects without prototypes. Rendering then runs no code of the caller, and paths cannot reach
 * other objects.
 *
 * @throws BusinessError "400" `template.value-refused` for values that are not plain JSON, cycles, and values beyond
 * the limits
 */
export function copyPlainVariables(variables: Variables): Variables {
  let values = 0
  let characters = 0
  let variable = ''

  const measure = (text: string) => {
    characters += text.length
    if (characters > valueLimits.characters) throw tooMuch()
    return text
  }
  const tooMuch = () => {
    const name = variable.slice(0, 64)
    return businessError('value-refused', { params: { name }, data: { name, field: 'variables' } })
  }

  const copy = (value: unknown, depth: number): TemplateValue => {
    values += 1
    if (values > valueLimits.values || depth > valueLimits.depth) throw tooMuch()
    if (typeof value === 'string') return measure(value)
    if (value === null || typeof value === 'boolean') return value
    if (typeof value === 'number' && Number.isFinite(value)) return value
    if (Array.isArray(value)) return Array.from(value, (item) => copy(item, depth + 1))
    if (!isPlain(value)) throw tooMuch()
    return copyMembers(value, depth)
  }
  const copyMembers = (from: Readonly<Record<string, unknown>>, depth: number): Variables => {
    const members: Record<string, TemplateValue> = Object.create(null)
    for (const name in from) {
      if (!Object.hasOwn(from, name)) continue
      if (depth === 0) variable = name
      const value = from[name]
      // Members without a value are skipped, as in JSON.
      if (value !== undefined) members[measure(name)] = copy(value, depth + 1)
    }
    return members
  }
  return copyMembers(variables, 0)
}

function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

/** Returns the value at a path. It follows only own properties of objects. */
export function templateValueAt(from: TemplateValue | undefined, path: readonly string[]): TemplateValue | undefined {
  let value = from
  for (const name of path) {
    if (value === null || value === undefined) return undefined
    const members: Readonly<Record<string, TemplateValue>> = Object(value)
    if (!Object.hasOwn(members, name)) return undefined
    value = members[name]
  }
  return value
}
