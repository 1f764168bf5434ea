import { type Keyword, keywords, typeRules } from './keywords.ts'
import { nearestName } from './nearest.ts'
import type { Shape, ShapeType } from './shape.ts'

/** A part of a value that does not match its shape. */
export interface ShapeProblem {
  /** Path of the part: `traits.idempotent`, `recipientKinds[0]`, `messages["zh-CN"]`. Empty for the whole value. */
  readonly path: string
  /** Text after the path, with a full stop at its end: "must be a function, but is missing (did you write "sned"?)." */
  readonly clause: string
}

type Members = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is Members =>
  (typeof value === 'object' || typeof value === 'function') && value !== null && !Array.isArray(value)

/** Types match as in values of keys, but functions are objects, too. */
function isOfType(value: unknown, type: string): boolean {
  if (type === 'function') return typeof value === 'function'
  return type === 'object' ? isObject(value) : typeRules[type]?.matches(value) === true
}

const nouns: Readonly<Record<ShapeType, string>> = {
  string: 'text',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  function: 'a function',
}

/**
 * Returns all problems of a value. If the type of the value is wrong, only that problem is returned.
 *
 * @param path path of the value, with which the paths of the problems begin
 */
export function findShapeProblems(shape: Shape, value: unknown, path = ''): ShapeProblem[] {
  return within(path, problemsOf(shape, value))
}

/**
 * Puts a path in front of the paths of problems. Paths are built only for problems, because nearly all values are
 * valid.
 */
function within(place: string, problems: ShapeProblem[]): ShapeProblem[] {
  if (place === '' || problems.length === 0) return problems
  return problems.map(({ path, clause }) => ({ path: joined(place, path), clause }))
}

function joined(place: string, path: string): string {
  if (place === '' || path === '') return place + path
  return path.startsWith('[') ? place + path : `${place}.${path}`
}

function problemsOf(shape: Shape, value: unknown): ShapeProblem[] {
  const { types: allowed } = compiled(shape)
  if (allowed.length > 0 && !allowed.some((type) => isOfType(value, type))) {
    const values = shape.enum === undefined ? undefined : ruleOf('enum', shape.enum)
    return [mustBe(shape.description ?? values ?? allowed.map((type) => nouns[type]).join(' or '), value)]
  }
  const broken = brokenRule(shape, value)
  if (broken !== undefined) return [mustBe(broken, value, hintFor(shape, value))]
  if (Array.isArray(value)) {
    const { items } = shape
    return items === undefined ? [] : value.flatMap((item, index) => within(`[${index}]`, problemsOf(items, item)))
  }
  if (!isObject(value)) return []
  const { discriminator, oneOf = [] } = shape
  if (discriminator !== undefined) return variantProblems(discriminator.propertyName, oneOf, value)
  return memberProblems(shape, value)
}

/** Keywords about a whole value. Configuration keys have the same keywords with the same rules. */
const wholeKeywords = [
  'enum',
  'pattern',
  'minLength',
  'maxLength',
  'minimum',
  'maximum',
  'minItems',
  'maxItems',
  'minProperties',
  'maxProperties',
] as const

interface Compiled {
  readonly types: readonly ShapeType[]
  readonly rules: readonly (readonly [name: (typeof wholeKeywords)[number], operand: unknown, keyword: Keyword])[]
  readonly members: readonly (readonly [name: string, shape: Shape])[]
}

const compiledShapes = new WeakMap<Shape, Compiled>()

/** Prepares a shape once, because a product checks thousands of values with few shapes. */
function compiled(shape: Shape): Compiled {
  const known = compiledShapes.get(shape)
  if (known !== undefined) return known
  const rules = wholeKeywords.flatMap((name): Compiled['rules'] => {
    const [operand, keyword] = [shape[name], keywords[name]]
    return operand === undefined || keyword === undefined ? [] : [[name, operand, keyword]]
  })
  const { type = [] } = shape
  const types = typeof type === 'string' ? [type] : type
  const made = { types, rules, members: Object.entries(shape.properties ?? {}) }
  compiledShapes.set(shape, made)
  return made
}

function brokenRule(shape: Shape, value: unknown): string | undefined {
  for (const [name, operand, keyword] of compiled(shape).rules) {
    if (!keyword.types.some((type) => isOfType(value, type)) || keyword.met(value, operand, {})) continue
    const isDescribed = shape.description !== undefined && (name === 'pattern' || name === 'enum')
    return isDescribed ? shape.description : ruleOf(name, operand)
  }
  return undefined
}

const ruleOf = (name: string, operand: unknown) => keywords[name]?.rule(operand).en.replace(/^be /, '')

const hintFor = ({ enum: values = [] }: Shape, value: unknown): string =>
  typeof value === 'string' ? didYouMean(value, values.map(String)) : ''

/** Returns a hint with the name that the author probably meant. Returns an empty text if no candidate is near. */
function didYouMean(name: string, candidates: readonly string[]): string {
  const near = nearestName(name, candidates)
  return near === undefined ? '' : ` (did you mean "${near}"?)`
}

function variantProblems(tag: string, variants: readonly Shape[], value: Members): ShapeProblem[] {
  const tagOf = value[tag]
  const tagsOf = (variant: Shape) => variant.properties?.[tag]?.enum ?? []
  const chosen = variants.find((variant) => tagsOf(variant).some((one) => one === tagOf))
  if (chosen !== undefined) return problemsOf(chosen, value)
  return within(stepTo(tag), problemsOf({ type: 'string', enum: variants.flatMap(tagsOf) }, tagOf))
}

function memberProblems(shape: Shape, value: Members): ShapeProblem[] {
  const { properties = {}, required = [], additionalProperties, propertyNames } = shape
  const problems: ShapeProblem[] = []
  const addFor = (name: string, found: ShapeProblem[]) => {
    if (found.length > 0) problems.push(...within(stepTo(name), found))
  }
  const absent: string[] = []
  for (const [name, member] of compiled(shape).members) {
    const part = value[name]
    if (part === undefined) absent.push(name)
    else addFor(name, problemsOf(member, part))
  }
  const areOthersChecked = propertyNames !== undefined || additionalProperties !== undefined
  if (absent.length === 0 && !areOthersChecked) return problems
  const unknown = namesOf(value).filter((name) => !Object.hasOwn(properties, name))
  const misspelt = new Set<string>()
  for (const name of absent.filter((one) => required.includes(one))) {
    const written = nearestName(name, unknown)
    if (written !== undefined) misspelt.add(written)
    const hint = written === undefined ? '' : ` (did you write "${written}"?)`
    const [{ clause } = { clause: 'is required, but is missing.' }] = problemsOf(properties[name] ?? {}, undefined)
    problems.push({ path: stepTo(name), clause: clause.replace(/\.$/, `${hint}.`) })
  }
  if (!isPlain(value)) return problems
  for (const name of unknown) {
    if (propertyNames !== undefined) addFor(name, problemsOf(propertyNames, name))
    if (typeof additionalProperties === 'object') addFor(name, problemsOf(additionalProperties, value[name]))
    else if (additionalProperties !== true && !misspelt.has(name)) {
      const near = didYouMean(name, additionalProperties === false ? Object.keys(properties) : absent)
      if (additionalProperties === false || near !== '')
        problems.push({ path: stepTo(name), clause: `is not a known member${near}.` })
    }
  }
  return problems
}

const isPlain = (value: object): boolean => {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype
}

const builtInPrototypes: ReadonlySet<unknown> = new Set([Object.prototype, Function.prototype])

/** Returns the names of the properties of an object, including inherited ones. */
function namesOf(value: object): readonly string[] {
  const names = Object.keys(value)
  let one: unknown = Object.getPrototypeOf(value)
  while (isObject(one) && !builtInPrototypes.has(one)) {
    names.push(...Object.getOwnPropertyNames(one))
    one = Object.getPrototypeOf(one)
  }
  return names
}

const plainName = /^[A-Za-z_$][\w$]*$/

/** Returns the last part of the path of a property. */
const stepTo = (name: string) => (plainName.test(name) ? name : `[${JSON.stringify(name)}]`)

/** Appends a property to a path. */
export const appendPathProperty = (path: string, name: string): string => joined(path, stepTo(name))

const mustBe = (rule: string, value: unknown, hint = ''): ShapeProblem => ({
  path: '',
  clause: `must ${/^(?:have|match|not) /.test(rule) ? '' : 'be '}${rule}, but is ${describeValue(value)}${hint}.`,
})

const maxShownLength = 60

/** Returns a short description of a value for error messages. */
export function describeValue(value: unknown): string {
  if (value === undefined) return 'missing'
  if (typeof value === 'string') {
    return JSON.stringify(value.length > maxShownLength ? `${value.slice(0, maxShownLength - 1)}…` : value)
  }
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'function') return 'a function'
  if (value instanceof Promise) return 'a promise'
  return typeof value === 'object' && value !== null ? 'an object' : String(value)
}
