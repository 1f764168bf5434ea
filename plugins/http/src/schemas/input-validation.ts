import { createRequire } from 'node:module'
import { nearestName } from '@plinth/kernel'
import type { Ajv, ErrorObject, FormatDefinition, Options, ValidateFunction } from 'ajv'
import type { FastifySchema, FastifySchemaCompiler } from 'fastify'
import { isNonBlankLine } from './common-schemas.ts'
import { ignoredNames, rejectUndeclaredMembers, rejectUnsafeNumbers } from './input-schema.ts'

interface Fault {
  /**
   * Path of the value: `name`, `address.city`, `items[0].id`; `body`, `query` or `path` if the whole part is invalid.
   */
  readonly field: string
  /** Keyword of the schema, for example `required` or `minLength`. */
  readonly rule: string
  /** Last part of the message key, after `http.rule.`. Default: the value of `rule`. */
  readonly text?: string
  readonly params: Readonly<Record<string, string | number>>
}

/** Error for input that violates its schema. */
export class InvalidInput extends Error {
  override readonly name = 'InvalidInput'
  readonly faults: readonly Fault[]

  constructor(faults: readonly Fault[]) {
    super('Invalid input')
    this.faults = faults
  }
}

/**
 * Maximum number of errors that are examined. The caller controls the number of errors, and each error is compared with
 * all others.
 */
const maxProblems = 200
/**
 * For inputs with more characters of JSON, only the first error is reported, because the report could become very
 * large.
 */
const largestFullReport = 65_536

const commonOptions: Options = {
  strict: true,
  strictTypes: false,
  strictTuples: false,
  strictRequired: false,
  allowUnionTypes: true,
  useDefaults: true,
}

/**
 * Compiles request schemas. Values in JSON are not converted: `"1"` is not a number. Path and query values are text and
 * are converted. Undeclared members are rejected, or ignored if a document allows it (requirement C-011). Integers
 * above 2^53 - 1 are rejected, because the JSON parser has rounded them (requirement K-015).
 */
export function createInputCompiler(): FastifySchemaCompiler<FastifySchema> {
  const body = compilerPair({ ...commonOptions, coerceTypes: false })
  // `1e400` becomes Infinity. With `strictNumbers: true`, Ajv would not apply `maximum` to it.
  const text = compilerPair({ ...commonOptions, coerceTypes: 'array', strictNumbers: false })
  return ({ schema, httpPart = 'body' }) => {
    const compiled = rejectUnsafeNumbers(rejectUndeclaredMembers(schema))
    const { first, all } = httpPart === 'body' ? body : text
    const isValid = first(compiled)
    // Compiled at the first invalid input. Most routes never need it.
    let fullReport: ValidateFunction | undefined
    const part = { querystring: 'query', params: 'path' }[httpPart] ?? httpPart
    const reject = (value: unknown) => {
      const isSmall = sizeOf(value) <= largestFullReport
      if (isSmall) fullReport ??= all(compiled)
      const judge = (isSmall ? fullReport : undefined) ?? isValid
      judge(value)
      return { error: new InvalidInput(problemsOf(judge.errors ?? [], part)) }
    }
    const ignored = ignoredNames(schema, httpPart)
    const wantsObject = compiled['type'] === 'object'
    return (data: unknown) => {
      // A missing body is validated as `{}`, so that the response lists the missing fields.
      const value = data === null && wantsObject ? {} : without(ignored, data)
      if (!isValid(value)) return reject(value)
      return value === data ? true : { value }
    }
  }
}

/** Returns the same object if it has none of the members. */
function without(names: readonly string[], value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !names.some((name) => Object.hasOwn(value, name))) return value
  return Object.fromEntries(Object.entries(value).filter(([name]) => !names.includes(name)))
}

function compilerPair(options: Options) {
  const create = (allErrors: boolean) => {
    let common: ReturnType<typeof createAjv> | undefined
    const createOwn = () => createAjv({ ...options, allErrors, verbose: allErrors })
    return (schema: object) => {
      // Two plugins may use the same schema id, for example "Node", so such a schema gets its own Ajv instance.
      if (JSON.stringify(schema).includes('"$id"')) return createOwn().compile(schema)
      common ??= createOwn()
      return common.compile(schema)
    }
  }
  return { first: create(false), all: create(true) }
}

const require = createRequire(import.meta.url)

/** Loads Ajv when the first request is validated, because loading it takes longer than starting the kernel. */
function createAjv(options: Options) {
  // JSON Schema 2019-09 is the first draft with `unevaluatedProperties`, which closes an object that several schemas
  // describe.
  const { Ajv2019: Ajv }: typeof import('ajv/dist/2019.js') = require('ajv/dist/2019.js')
  const ajv = new Ajv(options)
  // These keywords are only for the API description.
  ajv.addVocabulary(['x-name', 'x-null-with', 'x-sort', 'x-filter', 'x-range', 'x-title', 'x-upload', 'x-ignored'])
  const worded = { keyword: 'x-worded', type: 'string', schemaType: 'boolean', errors: false } as const
  ajv.addKeyword({ ...worded, validate: (isWanted: boolean, text: string) => !isWanted || isNonBlankLine(text) })
  require('ajv-formats')(ajv)
  rejectUnreadableTimes(ajv)
  return ajv
}

/**
 * Rejects times that handlers cannot read. The format `date-time` of Ajv accepts leap seconds (RFC 3339, section 5.7),
 * which `Date` does not have.
 */
function rejectUnreadableTimes(ajv: Pick<Ajv, 'formats' | 'addFormat'>): void {
  const { validate } = ajv.formats['date-time'] as FormatDefinition<string>
  const isTime = validate as (text: string) => boolean
  ajv.addFormat('date-time', (text: string) => isTime(text) && Number.isFinite(Date.parse(text)))
}

/** Returns the length of the value as JSON; infinity if the value is nested too deeply. */
function sizeOf(value: unknown): number {
  try {
    return JSON.stringify(value)?.length ?? 0
  } catch {
    return Number.POSITIVE_INFINITY
  }
}

function problemsOf(all: readonly ErrorObject[], part: string): Fault[] {
  const errors = withoutOtherBranches(all.slice(0, maxProblems))
  const unions = errors.filter(({ keyword }) => keyword === 'anyOf' || keyword === 'oneOf')
  const faults = errors
    .filter((error) => !unions.some((union) => error !== union && error.schemaPath.startsWith(`${union.schemaPath}/`)))
    .map((error) => {
      const branches = errors.filter(
        ({ schemaPath, instancePath }) =>
          schemaPath.startsWith(`${error.schemaPath}/`) && instancePath === error.instancePath,
      )
      return problemOf(unions.includes(error) ? (describeUnion(error, branches) ?? error) : error, part)
    })
  return [...new Map(faults.map((problem) => [`${problem.field} ${problem.rule}`, problem])).values()]
}

/**
 * Keeps only the errors of the intended branch of a union, if it is clear: the branch that is not `null`, or the branch
 * that only rejects undeclared members.
 */
function withoutOtherBranches(errors: readonly ErrorObject[]): readonly ErrorObject[] {
  const dropped = new Set<ErrorObject>()
  for (const union of errors.filter(({ keyword }) => keyword === 'anyOf' || keyword === 'oneOf')) {
    const branches = listOf(union.schema).map((_, index) =>
      errors.filter(({ schemaPath }) => schemaPath.startsWith(`${union.schemaPath}/${index}/`)),
    )
    const meant = branchOfNullable(union, branches) ?? branches.find(isUndeclaredOnly)
    if (meant === undefined) continue
    for (const error of [union, ...branches.filter((branch) => branch !== meant).flat()]) dropped.add(error)
  }
  return errors.filter((error) => !dropped.has(error))
}

/** Returns the errors of the branch that is not `null`, unless the value has the wrong type. */
function branchOfNullable(
  { schema, instancePath }: ErrorObject,
  branches: readonly (readonly ErrorObject[])[],
): readonly ErrorObject[] | undefined {
  const index = listOf(schema).findIndex((branch) => Object(branch).type === 'null')
  const other = branches.length === 2 && index >= 0 ? (branches[1 - index] ?? []) : []
  const isOfType = !other.some((error) => error.keyword === 'type' && error.instancePath === instancePath)
  return other.length > 0 && isOfType ? other : undefined
}

const isUndeclaredOnly = (branch: readonly ErrorObject[]) =>
  branch.length > 0 && branch.every(({ params }) => undeclaredOf(params) !== undefined)

const undeclaredOf = (params: ErrorObject['params']): string | undefined =>
  params['additionalProperty'] ?? params['unevaluatedProperty']

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/** Returns one error for a union of constants or plain types. */
function describeUnion(union: ErrorObject, branches: readonly ErrorObject[]): ErrorObject | undefined {
  if (branches.length === 0) return undefined
  const alternatives: unknown = union.schema
  if (Array.isArray(alternatives) && alternatives.every((branch) => 'const' in branch)) {
    return { ...union, keyword: 'enum', params: { allowedValues: alternatives.map((branch) => branch.const) } }
  }
  if (branches.every(({ keyword }) => keyword === 'type')) {
    return { ...union, keyword: 'type', params: { type: branches.flatMap(({ params }) => params['type']) } }
  }
  return undefined
}

function problemOf({ keyword, instancePath, params, parentSchema }: ErrorObject, part: string): Fault {
  const undeclared = undeclaredOf(params)
  if (undeclared !== undefined) return undeclaredProblem(fieldName(instancePath), undeclared, parentSchema, part)
  const missing = keyword === 'required' ? `.${params['missingProperty']}` : ''
  const field = (fieldName(instancePath) + missing).replace(/^\./, '') || part
  // Custom keywords of this file start with `x-`. Messages use the name without this prefix.
  const rule = keyword.replace(/^x-/, '')
  const texts: Record<string, string | number> = { field, rule }
  for (const [name, value] of Object.entries(params)) {
    if (typeof value === 'string' || typeof value === 'number') texts[name] = value
    else if (Array.isArray(value)) texts[name] = value.join(', ')
  }
  const allowed = params['allowedValues'] ?? (keyword === 'const' ? [params['allowedValue']] : undefined)
  if (Array.isArray(allowed)) texts['allowed'] = allowed.map((value) => JSON.stringify(value)).join(', ')
  return { field, rule, params: texts }
}

/**
 * Maximum number of characters of a member name in the response. The caller chooses the name, so it may be very long.
 */
const maxNameLength = 64

function undeclaredProblem(outer: string, name: string, parent: object | undefined, part: string): Fault {
  const at = (member: string) => [outer, member].filter(Boolean).join('.')
  const field = at(name.slice(0, maxNameLength)) || part
  const { properties = {} }: { readonly properties?: object } = parent ?? {}
  const declared = nearestName(name, Object.keys(properties))
  if (declared === undefined) return { field, rule: 'additionalProperties', params: { field } }
  return { field, rule: 'additionalProperties', text: 'nearestProperty', params: { field, nearest: at(declared) } }
}

/** Converts a JSON pointer to a path: `/items/0/first~1name` becomes `items[0].first/name`. */
function fieldName(pointer: string): string {
  return pointer
    .split('/')
    .slice(1)
    .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce((path, name) => (/^\d+$/.test(name) ? `${path}[${name}]` : `${path}.${name}`), '')
    .replace(/^\./, '')
}
