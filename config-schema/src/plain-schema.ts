import type { JsonSchema, JsonValue, Localized } from './declaration.ts'
import { formats } from './formats.ts'
import { type Keyword, keywords, maxMatchedLength, types } from './keywords.ts'

/*
 * Checks the keywords of ordinary keys. ajv, which takes longer to load than a product takes to read its configuration,
 * is only loaded for schemas with other keywords. Both use the same messages.
 */

/** A value violates one keyword of its schema. */
export interface Violation {
  readonly keyword: string
  /** JSON Pointer into the value; empty for the value itself. May contain names from the value. */
  readonly path: string
  /** Completes "must ...", 必须…. Derived from the schema only, never from the value. */
  readonly rule: Localized
  readonly example: JsonValue | undefined
  /** The value at the path. */
  readonly part: JsonValue
}

/** A problem in a schema. */
export interface SchemaProblem {
  readonly place: string
  /** A clause that follows the place. */
  readonly message: string
}

type Members = { readonly [name: string]: JsonValue }
type Schemas = { readonly [name: string]: unknown }

/**
 * A keyword about the parts of a value. Its functions receive only values of its type and, except for `schemas`, valid
 * operands.
 */
interface Structure {
  readonly type: 'array' | 'object'
  /** Returns the schemas in the operand by their place in it, or `undefined` if the operand is invalid. */
  schemas(operand: unknown): Schemas | undefined
  violations(value: JsonValue, operand: unknown, path: string, schema: JsonSchema): readonly Violation[]
}

const isRecord = (value: unknown): value is Schemas => types['object']?.matches(value) === true
const isNameList = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((name) => typeof name === 'string') && new Set(value).size === value.length
/** Names are text, even if their schema does not declare it. */
const ofNames = (operand: unknown) => ({ type: 'string', ...(operand as Schemas) })

const structures: Readonly<Record<string, Structure>> = {
  items: {
    type: 'array',
    schemas: (operand) => ({ '': operand }),
    violations: (value, operand, path) =>
      (value as readonly JsonValue[]).flatMap((item, index) => violationsAt(operand, item, `${path}/${index}`)),
  },
  properties: {
    type: 'object',
    schemas: (operand) => (isRecord(operand) ? operand : undefined),
    violations: (value, operand, path) =>
      Object.entries(value as Members).flatMap(([name, part]) => {
        const schema = Object.hasOwn(operand as Schemas, name) ? (operand as Schemas)[name] : undefined
        return schema === undefined ? [] : violationsAt(schema, part, pathTo(path, name))
      }),
  },
  additionalProperties: {
    type: 'object',
    schemas: (operand) => (typeof operand === 'boolean' ? {} : { '': operand }),
    violations: (value, operand, path, { properties = {} }) =>
      Object.entries(value as Members).flatMap(([name, part]) => {
        if (operand === true || Object.hasOwn(properties as Schemas, name)) return []
        const at = pathTo(path, name)
        return operand === false ? [undeclared(at, part)] : violationsAt(operand, part, at)
      }),
  },
  propertyNames: {
    type: 'object',
    schemas: (operand) => (isRecord(operand) ? { '': ofNames(operand) } : undefined),
    violations: (value, operand, path) =>
      Object.keys(value as Members).flatMap((name) => violationsAt(ofNames(operand), name, path)),
  },
  required: {
    type: 'object',
    schemas: (operand) => (isNameList(operand) ? {} : undefined),
    violations: (value, operand, path) =>
      (operand as readonly string[])
        .filter((name) => !Object.hasOwn(value as Members, name))
        .map((name) => missing(path, name, value)),
  },
}

/** Returns the path of a property as a JSON Pointer. */
export const pathTo = (path: string, name: string): string =>
  `${path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`

/** Returns the violation of a property that the schema does not allow. */
export function undeclared(path: string, part: JsonValue): Violation {
  const rule = { en: 'not be there: the schema knows no such property', 'zh-CN': '不出现：模式中没有这个属性' }
  return { keyword: 'additionalProperties', path, rule, example: undefined, part }
}

/** Returns the violation of a required property that is missing. */
export function missing(path: string, name: string, part: JsonValue): Violation {
  const rule = { en: `have the property ${JSON.stringify(name)}`, 'zh-CN': `有属性 ${JSON.stringify(name)}` }
  return { keyword: 'required', path, rule, example: undefined, part }
}

/** True if the tables support all keywords of the schema. Operands are not checked. */
export function isPlain(schema: unknown): schema is JsonSchema {
  if (!isRecord(schema)) return false
  const { type, format, ...rest } = schema
  if (typeof type !== 'string' || !Object.hasOwn(types, type)) return false
  if (format !== undefined && !Object.hasOwn(formats, String(format))) return false
  return Object.entries(rest).every(([name, operand]) => {
    if (Object.hasOwn(keywords, name)) return true
    const structure = Object.hasOwn(structures, name) ? structures[name] : undefined
    const inner = structure?.type === type ? structure.schemas(operand) : undefined
    return inner !== undefined && Object.values(inner).every(isPlain)
  })
}

/** Returns the problems of the operands of a plain schema. */
export function plainSchemaProblems({ type, ...rest }: JsonSchema, place = 'schema'): readonly SchemaProblem[] {
  return Object.entries(rest).flatMap(([name, operand]) => {
    const at = `${place}.${name}`
    const inner = structures[name]?.schemas(operand)
    if (inner !== undefined) {
      return Object.entries(inner).flatMap(([member, schema]) =>
        plainSchemaProblems(schema as JsonSchema, member === '' ? at : `${at}.${member}`),
      )
    }
    const keyword = keywords[name] as Keyword
    if (!keyword.types.includes(String(type))) return [{ place: at, message: `does not apply to the type ${type}` }]
    return keyword.accepts(operand, rest) ? [] : [{ place: at, message: `must be ${keyword.operand}` }]
  })
}

/**
 * Returns every rule of a valid plain schema that a value violates. For a value of the wrong type, only that violation
 * is returned.
 */
export function plainViolations(schema: JsonSchema, value: JsonValue, path = ''): readonly Violation[] {
  const { type, ...rest } = schema
  if (!types[String(type)]?.matches(value)) return [typeViolation(schema, path, value)]
  let violations: readonly Violation[] = []
  for (const [name, operand] of Object.entries(rest)) {
    const structure = structures[name]
    if (structure !== undefined) violations = [...violations, ...structure.violations(value, operand, path, rest)]
    else if (!keywords[name]?.met(value, operand, rest)) {
      violations = [...violations, violationOf(name, operand, path, value)]
    }
  }
  return violations
}

/** Returns the violation of a wrong type. If the schema has a format, the message describes the format. */
export function typeViolation({ type, format }: JsonSchema, path: string, value: JsonValue): Violation {
  const violation = violationOf('type', type, path, value)
  if (format === undefined) return violation
  const { rule, example } = violationOf('format', format, path, value)
  return { ...violation, rule, example }
}

const violationsAt = (schema: unknown, part: JsonValue, path: string) =>
  plainViolations(schema as JsonSchema, part, path)

/** Returns a violation with the text of the tables. */
export function violationOf(keyword: string, operand: unknown, path: string, part: JsonValue): Violation {
  if (keyword === 'pattern' && typeof part === 'string' && part.length > maxMatchedLength) {
    return violationOf('maxLength', maxMatchedLength, path, part)
  }
  const type = keyword === 'type' ? types[String(operand)] : undefined
  const format = keyword === 'format' ? formats[String(operand)] : undefined
  const other = { en: `meet "${keyword}"`, 'zh-CN': `符合 "${keyword}"` }
  const rule = type?.rule ?? keywords[keyword]?.rule(operand) ?? other
  return { keyword, path, rule, example: (type ?? format)?.example, part }
}
