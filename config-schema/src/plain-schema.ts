import type { JsonSchema, JsonValue, Localized } from './declaration.ts'
import { formats } from './formats.ts'
import { keywords, maxMatchedLength, types } from './keywords.ts'

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
type Schemas = { readonly [place: string]: JsonSchema }

/** A keyword about the parts of a value. */
interface Structure {
  readonly type: 'array' | 'object'
  /** Returns the schemas in the operand by their place in it, or `undefined` if the operand is invalid. */
  schemas(operand: unknown): Schemas | undefined
  /** The value has the type of the keyword. `schema` contains the other keywords. */
  violations(value: JsonValue, operand: unknown, path: string, schema: JsonSchema): readonly Violation[]
}

/** Returns a structure. Its functions receive only values and operands that the guards accept. */
function structure<Value extends JsonValue, Operand>(
  type: Structure['type'],
  isValue: (value: JsonValue) => value is Value,
  isOperand: (operand: unknown) => operand is Operand,
  schemas: (operand: Operand) => Schemas,
  violations: (value: Value, operand: Operand, path: string, schema: JsonSchema) => readonly Violation[],
): Structure {
  return {
    type,
    schemas: (operand) => (isOperand(operand) ? schemas(operand) : undefined),
    violations: (value, operand, path, schema) =>
      isValue(value) && isOperand(operand) ? violations(value, operand, path, schema) : [],
  }
}

const isSchema = (value: unknown): value is JsonSchema => types['object']?.matches(value) === true
const isSchemas = (value: unknown): value is Schemas => isSchema(value) && Object.values(value).every(isSchema)
const isSchemaOrFlag = (value: unknown): value is JsonSchema | boolean => typeof value === 'boolean' || isSchema(value)
const isNameList = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((name) => typeof name === 'string') && new Set(value).size === value.length
const isList = (value: JsonValue): value is readonly JsonValue[] => Array.isArray(value)
const isObject = (value: JsonValue): value is Members => isSchema(value)
/** Names are text, even if their schema does not declare it. */
const ofNames = (schema: JsonSchema) => ({ type: 'string', ...schema })

const structures: Readonly<Record<string, Structure>> = {
  items: structure(
    'array',
    isList,
    isSchema,
    (schema) => ({ '': schema }),
    (list, schema, path) => list.flatMap((item, index) => plainViolations(schema, item, `${path}/${index}`)),
  ),
  properties: structure(
    'object',
    isObject,
    isSchemas,
    (schemas) => schemas,
    (object, schemas, path) =>
      Object.entries(object).flatMap(([name, part]) => {
        const schema = Object.hasOwn(schemas, name) ? schemas[name] : undefined
        return schema === undefined ? [] : plainViolations(schema, part, pathTo(path, name))
      }),
  ),
  additionalProperties: structure(
    'object',
    isObject,
    isSchemaOrFlag,
    (schema) => (typeof schema === 'boolean' ? {} : { '': schema }),
    (object, schema, path, { properties }) =>
      Object.entries(object).flatMap(([name, part]) => {
        if (schema === true || Object.hasOwn(Object(properties), name)) return []
        const at = pathTo(path, name)
        return schema === false ? [undeclared(at, part)] : plainViolations(schema, part, at)
      }),
  ),
  propertyNames: structure(
    'object',
    isObject,
    isSchema,
    (schema) => ({ '': ofNames(schema) }),
    (object, schema, path) => Object.keys(object).flatMap((name) => plainViolations(ofNames(schema), name, path)),
  ),
  required: structure(
    'object',
    isObject,
    isNameList,
    () => ({}),
    (object, names, path) =>
      names.filter((name) => !Object.hasOwn(object, name)).map((name) => missing(path, name, object)),
  ),
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
  if (!isSchema(schema)) return false
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
        plainSchemaProblems(schema, member === '' ? at : `${at}.${member}`),
      )
    }
    const keyword = keywords[name]
    if (!keyword?.types.includes(String(type))) return [{ place: at, message: `does not apply to the type ${type}` }]
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
