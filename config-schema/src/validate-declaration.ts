import type { JsonValue, KeyDeclaration } from './declaration.ts'
import { typeRules } from './keywords.ts'
import { createSchemaCheck } from './schema-check.ts'
import { validateValue } from './value.ts'

/** A problem of a declaration, for the author of the plugin. */
export interface DeclarationProblem {
  /** Kind of the problem, such as `name`, `schema` or `default`. Usually the property that contains it. */
  readonly rule: string
  /** Clause that starts with the place, for example `schema.minLength must be a whole number from 0`. */
  readonly message: string
  /** Path inside the declaration, for example `schema.minLength`. For a problem of the key name, `key`. */
  readonly place: string
}

/**
 * Returns all problems of a declaration. Never throws, whatever it receives, because a plugin may be written in
 * JavaScript.
 */
export function validateDeclaration(key: string, declaration: KeyDeclaration): readonly DeclarationProblem[] {
  if (!isObject(declaration)) return [problem('declaration', 'key', 'needs a declaration')]
  const problems: DeclarationProblem[] = []
  for (const [place, { holds, rule }] of memberRules) {
    if (!holds(Reflect.get(declaration, place))) problems.push(problem(place, place, rule))
  }
  if (!keyName.test(key)) problems.unshift(problem('name', 'key', keyRule))
  for (const place of Object.keys(declaration)) {
    if (!Object.hasOwn(members, place)) problems.push(problem('unknown', place, 'is not a member of a declaration'))
  }
  if (declaration.required === true && declaration.default !== undefined) {
    problems.push(problem('required', 'default', 'must be absent: a key with a default is never missing'))
  }
  if (declaration.state === true && declaration.editable === true) {
    problems.push(problem('state', 'editable', 'must be false: only the owner writes its state'))
  }
  if (declaration.scope === 'process' && (declaration.editable === true || declaration.state === true)) {
    problems.push(problem('scope', 'scope', 'must not be "process" for a key that is kept in the database'))
  }
  if (declaration.neededWhile !== undefined && declaration.schema?.['type'] !== 'boolean') {
    problems.push(problem('needed', 'neededWhile', 'must be absent: only a boolean key can be switched off'))
  }
  if (declaration.permission !== undefined && declaration.editable !== true) {
    problems.push(problem('permission', 'permission', 'must be absent: no user can change a key that is not editable'))
  }
  problems.push(...destinationProblems(key, declaration))
  if (declaration.deprecated?.replacement === key) {
    problems.push(problem('deprecated', 'deprecated.replacement', 'must be another key'))
  }
  return isObject(declaration.schema) ? [...problems, ...schemaProblems(declaration)] : problems
}

function destinationProblems(key: string, declaration: KeyDeclaration): DeclarationProblem[] {
  const { destination, sensitive, state, required } = declaration
  if (!Array.isArray(destination)) return []
  const rules: readonly (readonly [isBroken: boolean, clause: string])[] = [
    [sensitive !== true, 'must be absent: only a sensitive key has a destination'],
    [state === true, 'must be absent: nobody enters state'],
    [required === true && destination.length > 0, 'must be empty: a required secret cannot be unset'],
    [destination.includes(key), 'must not contain the key itself'],
  ]
  return rules.flatMap(([isBroken, clause]) => (isBroken ? [problem('destination', 'destination', clause)] : []))
}

const keyName = /^platform(\.[a-z0-9]+(-[a-z0-9]+)*)+$/
const keyRule =
  'must start with "platform." and have lower-case segments, for example "platform.rate-limit.default-window"'

interface MemberRule {
  holds(value: unknown): boolean
  readonly rule: string
}

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const isText = (value: unknown) => typeof value === 'string' && value.trim() !== ''
const isLocalized = (value: unknown) =>
  isText(value) || (isObject(value) && 'en' in value && 'zh-CN' in value && isText(value.en) && isText(value['zh-CN']))
const absentOr =
  (holds: (value: unknown) => boolean) =>
  (value: unknown): boolean =>
    value === undefined || holds(value)

const flag: MemberRule = { holds: (value) => typeof value === 'boolean', rule: 'must be true or false' }
const localizedRule = 'must be text, or text in "en" and "zh-CN"'

const members: Readonly<Record<keyof KeyDeclaration, MemberRule>> = {
  schema: { holds: isObject, rule: 'must be a JSON Schema' },
  title: { holds: isLocalized, rule: localizedRule },
  description: { holds: absentOr(isLocalized), rule: localizedRule },
  multiline: { holds: absentOr(flag.holds), rule: flag.rule },
  rule: { holds: absentOr(isLocalized), rule: localizedRule },
  default: { holds: () => true, rule: 'must meet the schema' },
  required: flag,
  sensitive: flag,
  reload: { holds: (value) => value === 'live' || value === 'restart', rule: 'must be "live" or "restart"' },
  editable: flag,
  state: { holds: absentOr(flag.holds), rule: flag.rule },
  scope: { holds: absentOr((value) => value === 'process'), rule: 'must be "process" or absent' },
  neededWhile: {
    holds: absentOr(
      (value) =>
        isObject(value) && 'key' in value && keyName.test(String(value.key)) && 'is' in value && isText(value.is),
    ),
    rule: 'must name a key in "key" and the value that needs this one in "is"',
  },
  insecure: {
    holds: absentOr(
      (value) =>
        isObject(value) && 'is' in value !== 'isNot' in value && 'reason' in value && isLocalized(value.reason),
    ),
    rule: 'must name the value in "is" or "isNot" and the reason in "reason"',
  },
  destination: {
    holds: absentOr(
      (value) =>
        Array.isArray(value) &&
        new Set(value).size === value.length &&
        value.every((one) => typeof one === 'string' && keyName.test(one)),
    ),
    rule: 'must be a list of different keys',
  },
  permission: { holds: absentOr(isText), rule: 'must be the code of a permission' },
  group: { holds: absentOr(isText), rule: 'must be text' },
  env: {
    holds: absentOr((value) => typeof value === 'string' && /^[A-Z][A-Z0-9_]*$/.test(value)),
    rule: 'must be an environment variable in capitals, for example "DATABASE_URL"',
  },
  deprecated: {
    holds: absentOr((value) => isObject(value) && 'since' in value && isText(value.since) && isReplacement(value)),
    rule: 'must name the version in "since" and may name a key of the product in "replacement"',
  },
  examples: { holds: absentOr(Array.isArray), rule: 'must be a list of values' },
  '~type': { holds: absentOr(() => false), rule: 'must not be set' },
}

const memberRules = Object.entries(members)

function isReplacement(value: object): boolean {
  return !('replacement' in value) || (typeof value.replacement === 'string' && keyName.test(value.replacement))
}

function schemaProblems(declaration: KeyDeclaration): DeclarationProblem[] {
  const { schema, default: fallback, examples } = declaration
  const problems = createSchemaCheck(schema).problems.map(({ place, message }) => problem('schema', place, message))
  if (!Object.hasOwn(typeRules, String(schema['type']))) {
    const rule = `must be one of ${Object.keys(typeRules).join(', ')}: it decides how text is read`
    problems.push(problem('schema', 'schema.type', rule))
  }
  if (problems.length > 0) return problems
  const written: [rule: string, place: string, value: JsonValue][] = []
  if (fallback !== undefined) written.push(['default', 'default', fallback])
  if (Array.isArray(examples))
    for (const [index, one] of examples.entries()) written.push(['examples', `examples.${index}`, one])
  // The default and the examples are omitted. Otherwise a message about an invalid default could show it as an example
  // of a valid value.
  const sensitive = declaration.sensitive !== false
  const { multiline = false } = declaration
  const bare: KeyDeclaration = {
    schema,
    title: '',
    required: false,
    sensitive,
    reload: 'restart',
    editable: true,
    multiline: multiline === true,
  }
  return written.flatMap(([rule, place, value]) =>
    validateValue(bare, value).map(({ message }) => problem(rule, place, message)),
  )
}

function problem(rule: string, place: string, clause: string): DeclarationProblem {
  return { rule, place, message: `${place} ${clause}` }
}
