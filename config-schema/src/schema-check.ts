import { createRequire } from 'node:module'
import type { Ajv2020, ErrorObject } from 'ajv/dist/2020.js'
import type { JsonSchema, JsonValue } from './declaration.ts'
import { formats } from './formats.ts'
import { keywords, pattern } from './keywords.ts'
import { didYouMean } from './nearest.ts'
import {
  appendJsonPointer,
  isPlain,
  keywordViolation,
  missingPropertyViolation,
  plainSchemaProblems,
  plainViolations,
  type SchemaProblem,
  typeViolation,
  undeclaredPropertyViolation,
  type Violation,
} from './plain-schema.ts'

interface SchemaCheck {
  /** Problems of the schema itself. A schema with problems accepts no value. */
  readonly problems: readonly SchemaProblem[]
  violations(value: JsonValue): readonly Violation[]
}

const bySchema = new WeakMap<JsonSchema, SchemaCheck>()
const byText = new Map<string, SchemaCheck>()

/**
 * Returns the check of a schema (JSON Schema 2020-12 with the formats of this project). Equal schemas share one
 * compiled check. The schema must not change afterwards.
 */
export function createSchemaCheck(schema: JsonSchema): SchemaCheck {
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
    const unknown = /unknown keyword: "(.+)"/.exec(reason)?.[1]
    const hint = unknown === undefined ? '' : didYouMean(unknown, [...Object.keys(keywords), ...options])
    return rejecting([{ place: 'schema', message: `is not a usable JSON Schema: ${reason}.${hint}` }])
  }
}

/** @throws the error of ajv if the schema is invalid */
function compile(schema: JsonSchema): SchemaCheck {
  if (isPlain(schema)) {
    const problems = plainSchemaProblems(schema)
    if (problems.length > 0) return rejecting(problems)
    return { problems, violations: (value) => plainViolations(schema, value) }
  }
  const validate = loadAjv().compile(schema)
  return { problems: [], violations: (value) => (validate(value) ? [] : ajvViolations(validate.errors ?? [])) }
}

function rejecting(problems: SchemaCheck['problems']): SchemaCheck {
  const rule = { en: 'wait until the schema of the key is repaired', 'zh-CN': '等到该配置项的模式修复之后再设置' }
  return { problems, violations: (part) => [{ keyword: 'schema', path: '', rule, example: undefined, part }] }
}

/**
 * Options of the key builders. A builder treats a misspelt option as a schema keyword. The error message for an unknown
 * keyword suggests the nearest option of this list.
 */
const options = [
  'title',
  'description',
  'default',
  'required',
  'sensitive',
  'reload',
  'editable',
  'state',
  'scope',
  'neededWhile',
  'insecure',
  'destination',
  'group',
  'env',
  'deprecated',
  'examples',
]

let ajv: Ajv2020 | undefined

function loadAjv(): Ajv2020 {
  if (ajv !== undefined) return ajv
  const require = createRequire(import.meta.url)
  const { Ajv2020 } = require('ajv/dist/2020.js') as typeof import('ajv/dist/2020.js')
  // In strict mode, ajv rejects unknown keywords. Otherwise a misspelt keyword would silently have no effect.
  const strictness = { strict: true, strictRequired: false, allowUnionTypes: true, ownProperties: true }
  // ajv must use the same patterns as the built-in checks, because they reject very long texts.
  const regExp = Object.assign((source: string) => pattern(source), { code: 'boundedPattern' })
  ajv = new Ajv2020({ ...strictness, allErrors: true, verbose: true, code: { regExp } })
  require('ajv-formats')(ajv)
  for (const [name, { validate, decode }] of Object.entries(formats)) {
    const compare = (a: string, b: string) => (decode?.(a) ?? Number.NaN) - (decode?.(b) ?? Number.NaN)
    ajv.addFormat(name, decode === undefined ? { validate } : { validate, compare })
  }
  return ajv
}

/**
 * Converts the errors of ajv to violations. If the type of a value is wrong, only that error is kept. An error of
 * `propertyNames` is omitted, because ajv also reports the rule that the property name violates.
 */
function ajvViolations(errors: readonly ErrorObject[]): Violation[] {
  const mistyped = new Set(errors.filter(({ keyword }) => keyword === 'type').map(({ instancePath }) => instancePath))
  return errors
    .filter(({ keyword, instancePath }) => keyword === 'type' || !mistyped.has(instancePath))
    .filter(({ keyword }) => keyword !== 'propertyNames')
    .map(ajvViolation)
}

function ajvViolation(error: ErrorObject): Violation {
  const { keyword, instancePath, schema, message = '', params, parentSchema = {} } = error
  const data = error.data as JsonValue
  const extra: string | undefined = params['additionalProperty'] ?? params['unevaluatedProperty']
  if (extra !== undefined) {
    return {
      ...undeclaredPropertyViolation(appendJsonPointer(instancePath, extra), Object(data)[extra] ?? null),
      keyword,
    }
  }
  if (keyword === 'type') return typeViolation(parentSchema, instancePath, data)
  if (keyword === 'required') return missingPropertyViolation(instancePath, params['missingProperty'], data)
  const violation = keywordViolation(keyword, schema, instancePath, data)
  const named = Object.hasOwn(keywords, keyword) || violation.example !== undefined
  return named ? violation : { ...violation, rule: { ...violation.rule, en: message.replace(/^must /, '') } }
}
