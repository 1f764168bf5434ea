import type { JsonSchema, JsonValue, Localized } from './declaration.ts'
import { formats } from './formats.ts'
import { keywords, maxMatchedLength, typeRules } from './keywords.ts'

/*
 * Checks values against the schemas of most keys. Loading ajv takes longer than reading the whole configuration, so ajv
 * is loaded only for schemas with keywords that are not in the tables of this file and of `keywords.ts`. ajv and these
 * checks use the same messages.
 */

/** One keyword of a schema that a value violates. */
export interface Violation {
  readonly keyword: string
  /**
   * JSON Pointer to the invalid part of the value; empty for the whole value. It may contain property names of the
   * value.
   */
  readonly path: string
  /**
   * The rule in words. The text completes "must ..." and "必须…". It depends only on the schema, so it never reveals the
   * value.
   */
  readonly rule: Localized
  readonly example: JsonValue | undefined
  /** The invalid part of the value. */
  readonly part: JsonValue
}

export interface SchemaProblem {
  readonly place: string
  /** Description of the problem, as a clause that follows `place` in error messages. */
  readonly message: string
}

type Members = { readonly [name: string]: JsonValue }
type Schemas = { readonly [place: string]: JsonSchema }

/** A keyword with schemas or rules for the parts of a list or an object. */
interface Structure {
  readonly type: 'array' | 'object'
  /** Returns the schemas inside the operand, by their path in it. Returns `undefined` if the operand is invalid. */
  schemas(operand: unknown): Schemas | undefined
  /** Returns the violations of a value whose type is correct. `schema` contains the other keywords. */
  violations(value: JsonValue, operand: unknown, path: string, schema: JsonSchema): readonly Violation[]
}

/** Creates a structure from functions that handle only valid values and operands. The guards check both first. */
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

const isSchema = (value: unknown): value is JsonSchema => typeRules['object']?.matches(value) === true
const isSchemas = (value: unknown): value is Schemas => isSchema(value) && Object.values(value).every(isSchema)
const isSchemaOrFlag = (value: unknown): value is JsonSchema | boolean => typeof value === 'boolean' || isSchema(value)
const isNameList = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((name) => typeof name === 'string') && new Set(value).size === value.length
const isList = (value: JsonValue): value is readonly JsonValue[] => Array.isArray(value)
const isObject = (value: JsonValue): value is Members => isSchema(value)
/** Property names are texts, so their schema does not have to declare the type. */
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
        return schema === undefined ? [] : plainViolations(schema, part, appendJsonPointer(path, name))
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
        const at = appendJsonPointer(path, name)
        return schema === false ? [undeclaredPropertyViolation(at, part)] : plainViolations(schema, part, at)
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
      names.filter((name) => !Object.hasOwn(object, name)).map((name) => missingPropertyViolation(path, name, object)),
  ),
}

/** Appends a property name to a JSON Pointer. */
export const appendJsonPointer = (path: string, name: string): string =>
  `${path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`

/** Returns the violation of a property that the schema does not allow. */
export function undeclaredPropertyViolation(path: string, part: JsonValue): Violation {
  const rule = { en: 'not be there: the schema knows no such property', 'zh-CN': '不出现：模式中没有这个属性' }
  return { keyword: 'additionalProperties', path, rule, example: undefined, part }
}

/** Returns the violation of a required property that is missing. */
export function missingPropertyViolation(path: string, name: string, part: JsonValue): Violation {
  const rule = { en: `have the property ${JSON.stringify(name)}`, 'zh-CN': `有属性 ${JSON.stringify(name)}` }
  return { keyword: 'required', path, rule, example: undefined, part }
}

/**
 * Returns true if the tables of this file and of `keywords.ts` contain all keywords of the schema. Operands are not
 * checked.
 */
export function isPlain(schema: unknown): schema is JsonSchema {
  if (!isSchema(schema)) return false
  const { type, format, ...rest } = schema
  if (typeof type !== 'string' || !Object.hasOwn(typeRules, type)) return false
  if (format !== undefined && !Object.hasOwn(formats, String(format))) return false
  return Object.entries(rest).every(([name, operand]) => {
    if (Object.hasOwn(keywords, name)) return true
    const structure = Object.hasOwn(structures, name) ? structures[name] : undefined
    const inner = structure?.type === type ? structure.schemas(operand) : undefined
    return inner !== undefined && Object.values(inner).every(isPlain)
  })
}

/** Returns the problems of the operands in a schema that `isPlain` accepts. */
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
 * Returns all violations of a value. If the type of the value is wrong, only that violation is returned. The schema
 * must be plain and valid.
 */
export function plainViolations(schema: JsonSchema, value: JsonValue, path = ''): readonly Violation[] {
  const { type, ...rest } = schema
  if (!typeRules[String(type)]?.matches(value)) return [typeViolation(schema, path, value)]
  let violations: readonly Violation[] = []
  for (const [name, operand] of Object.entries(rest)) {
    const structure = structures[name]
    if (structure !== undefined) violations = [...violations, ...structure.violations(value, operand, path, rest)]
    else if (!keywords[name]?.met(value, operand, rest)) {
      violations = [...violations, keywordViolation(name, operand, path, value)]
    }
  }
  return violations
}

/**
 * Returns the violation for a value of the wrong type. If the schema has a format, the message describes the format,
 * which is more precise.
 */
export function typeViolation({ type, format }: JsonSchema, path: string, value: JsonValue): Violation {
  const violation = keywordViolation('type', type, path, value)
  if (format === undefined) return violation
  const { rule, example } = keywordViolation('format', format, path, value)
  return { ...violation, rule, example }
}

/** Creates a violation with the texts from the tables of types, formats and keywords. */
export function keywordViolation(keyword: string, operand: unknown, path: string, part: JsonValue): Violation {
  if (keyword === 'pattern' && typeof part === 'string' && part.length > maxMatchedLength) {
    return keywordViolation('maxLength', maxMatchedLength, path, part)
  }
  const type = keyword === 'type' ? typeRules[String(operand)] : undefined
  const format = keyword === 'format' ? formats[String(operand)] : undefined
  const other = { en: `meet "${keyword}"`, 'zh-CN': `符合 "${keyword}"` }
  const rule = type?.rule ?? keywords[keyword]?.rule(operand) ?? other
  return { keyword, path, rule, example: (type ?? format)?.example, part }
}
