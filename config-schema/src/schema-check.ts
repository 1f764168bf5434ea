import { createRequire } from 'node:module'
import type { Ajv2020, ErrorObject } from 'ajv/dist/2020.js'
import type { JsonSchema, JsonValue } from './declaration.ts'
import { formats } from './formats.ts'
import { type Keyword, keywords, types } from './keywords.ts'

/** A value breaks one keyword of its schema. */
export interface Violation {
  readonly keyword: string
  /** JSON Pointer into the value; empty for the value itself. May repeat names from the value. */
  readonly path: string
  /** Completes "must ...". Made of the schema only, never of the value. */
  readonly rule: string
  readonly example: JsonValue | undefined
  /** What is at the path. */
  readonly part: JsonValue
}

export interface SchemaCheck {
  /** What is wrong with the schema itself. A faulty schema lets no value pass. */
  readonly faults: readonly { readonly place: string; readonly message: string }[]
  violations(value: JsonValue): readonly Violation[]
}

const bySchema = new WeakMap<JsonSchema, SchemaCheck>()
const byText = new Map<string, SchemaCheck>()

/**
 * The check of a schema (JSON Schema 2020-12 with the formats of the house), compiled once for all equal schemas. The
 * schema must not change afterwards.
 */
export function schemaCheck(schema: JsonSchema): SchemaCheck {
  const known = bySchema.get(schema)
  if (known !== undefined) return known
  try {
    const text = JSON.stringify(schema)
    const check = byText.get(text) ?? compile(schema)
    byText.set(text, check)
    bySchema.set(schema, check)
    return check
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return refusing([{ place: 'schema', message: `is not a usable JSON Schema: ${reason}` }])
  }
}

/** Throws what ajv says about a schema that it refuses. */
function compile(schema: JsonSchema): SchemaCheck {
  if (isPlain(schema)) {
    const faults = plainFaults(schema, 'schema')
    return faults.length > 0 ? refusing(faults) : { faults, violations: (value) => plainViolations(schema, value, '') }
  }
  const validate = loadAjv().compile(schema)
  return { faults: [], violations: (value) => (validate(value) ? [] : ajvViolations(validate.errors ?? [])) }
}

function refusing(faults: SchemaCheck['faults']): SchemaCheck {
  const rule = 'wait until the schema of the key is repaired'
  return { faults, violations: (part) => [{ keyword: 'schema', path: '', rule, example: undefined, part }] }
}

/** True when the keyword table covers the whole schema; whether its operands are right is another question. */
function isPlain(schema: unknown): schema is JsonSchema {
  if (typeof schema !== 'object' || schema === null) return false
  const { type, items, format, ...rest }: JsonSchema = { ...schema }
  return (
    typeof type === 'string' &&
    type !== 'object' &&
    Object.hasOwn(types, type) &&
    (format === undefined || Object.hasOwn(formats, String(format))) &&
    (items === undefined || (type === 'array' && isPlain(items))) &&
    Object.keys(rest).every((name) => Object.hasOwn(keywords, name))
  )
}

function plainFaults({ type, items, ...rest }: JsonSchema, place: string): SchemaCheck['faults'] {
  const faults = Object.entries(rest).flatMap(([name, operand]) => {
    const keyword = keywords[name] as Keyword
    const at = `${place}.${name}`
    if (!keyword.types.includes(String(type))) return { place: at, message: `does not apply to the type ${type}` }
    return keyword.accepts(operand, rest) ? [] : { place: at, message: `must be ${keyword.operand}` }
  })
  return items === undefined ? faults : [...faults, ...plainFaults(items as JsonSchema, `${place}.items`)]
}

function plainViolations({ type, items, ...rest }: JsonSchema, value: JsonValue, path: string): Violation[] {
  if (!types[String(type)]?.matches(value)) return [violationOf('type', type, path, value)]
  const violations = Object.entries(rest)
    .filter(([name, operand]) => !keywords[name]?.met(value, operand, rest))
    .map(([name, operand]) => violationOf(name, operand, path, value))
  if (items === undefined) return violations
  const inside = (value as readonly JsonValue[]).flatMap((item, index) =>
    plainViolations(items as JsonSchema, item, `${path}/${index}`),
  )
  return [...violations, ...inside]
}

function violationOf(keyword: string, operand: unknown, path: string, part: JsonValue): Violation {
  const type = keyword === 'type' ? types[String(operand)] : undefined
  const format = keyword === 'format' ? formats[String(operand)] : undefined
  const rule = type?.rule ?? keywords[keyword]?.rule(operand) ?? `meet "${keyword}"`
  return { keyword, path, rule, example: (type ?? format)?.example, part }
}

let ajv: Ajv2020 | undefined

function loadAjv(): Ajv2020 {
  if (ajv !== undefined) return ajv
  const require = createRequire(import.meta.url)
  const { Ajv2020 } = require('ajv/dist/2020.js') as typeof import('ajv/dist/2020.js')
  // Strict: a misspelt keyword is an error, not a rule that is never applied.
  ajv = new Ajv2020({ strict: true, strictRequired: false, allowUnionTypes: true, allErrors: true, verbose: true })
  require('ajv-formats')(ajv)
  for (const [name, { validate, decode }] of Object.entries(formats)) {
    const compare = (a: string, b: string) => (decode?.(a) ?? Number.NaN) - (decode?.(b) ?? Number.NaN)
    ajv.addFormat(name, decode === undefined ? { validate } : { validate, compare })
  }
  return ajv
}

/** A value of the wrong type is reported once, whatever else it breaks. */
function ajvViolations(errors: readonly ErrorObject[]): Violation[] {
  const mistyped = new Set(errors.filter(({ keyword }) => keyword === 'type').map(({ instancePath }) => instancePath))
  return errors
    .filter(({ keyword, instancePath }) => keyword === 'type' || !mistyped.has(instancePath))
    .map(ajvViolation)
}

function ajvViolation({ keyword, instancePath, schema, data, message = '', params }: ErrorObject): Violation {
  const extra: string | undefined = params['additionalProperty'] ?? params['unevaluatedProperty']
  if (extra !== undefined) {
    const part = (data as { readonly [name: string]: JsonValue })[extra] ?? null
    const rule = 'not be there: the schema knows no such property'
    return { keyword, path: `${instancePath}/${extra}`, rule, example: undefined, part }
  }
  const violation = violationOf(keyword, schema, instancePath, data as JsonValue)
  const named = Object.hasOwn(keywords, keyword) || violation.example !== undefined
  return named ? violation : { ...violation, rule: message.replace(/^must /, '') }
}
