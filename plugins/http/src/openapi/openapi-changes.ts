import { isDeepStrictEqual } from 'node:util'

type Json = Readonly<Record<string, unknown>>
type Use = 'request' | 'answer'

const methods = ['get', 'post', 'put', 'patch', 'delete'] as const
/** Keywords that make a request schema stricter if their value rises. */
const lowerLimits = ['minimum', 'exclusiveMinimum', 'minLength', 'minItems'] as const
/** Keywords that make a request schema stricter if their value falls. */
const upperLimits = ['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems'] as const

/** Returns a number that increases with the minor version; `undefined` for an invalid version. */
function minorOf(version: unknown): number | undefined {
  const [, major, minor] = /^(\d{1,6})\.(\d{1,6})\.\d/.exec(String(version)) ?? []
  return major === undefined ? undefined : Number(major) * 1e6 + Number(minor)
}

const isJson = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)
const jsonOf = (value: unknown): Json => (isJson(value) ? value : {})
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/**
 * Returns the changes that break callers of the previous API description (document 1 of the specification, "Interface
 * versioning").
 *
 * Breaking: a removed path, field or type, a stricter rule, a changed permission or operation id. Compatible: new
 * paths, optional fields and enumeration values in a response, and the removal of an operation that an earlier minor
 * version deprecated. A response field may become null if `x-null-with` lists only new query parameters or body
 * members.
 */
export function breakingChanges(previous: object, current: object): string[] {
  const comparison = new Comparison(jsonOf(previous), jsonOf(current))
  const pathsOf = (document: object) => jsonOf(jsonOf(document)['paths'])
  for (const [path, item] of Object.entries(pathsOf(previous))) {
    for (const method of methods) {
      const before = jsonOf(item)[method]
      const after = jsonOf(pathsOf(current)[path])[method]
      const name = `${method.toUpperCase()} ${path}`
      if (isJson(before)) {
        if (isJson(after)) comparison.operations(before, after, name)
        else comparison.end(before, name)
      }
    }
  }
  comparison.reasons()
  comparison.securitySchemes()
  return comparison.changes
}

class Comparison {
  readonly changes: string[] = []
  readonly #previous: Json
  readonly #current: Json
  /** Pairs of schemas that are being compared. They stop the recursion for schemas that refer to themselves. */
  readonly #open = new Set<string>()
  /** Query parameters and body members that callers of the previous description do not send. */
  #newInput: ReadonlySet<string> = new Set()

  constructor(previous: Json, current: Json) {
    this.#previous = previous
    this.#current = current
  }

  /** Reports a removed operation, unless an earlier minor version deprecated it and its replacement exists. */
  end(before: Json, name: string): void {
    if (!isJson(before['x-deprecated'])) {
      this.changes.push(`${name} is gone`)
      return
    }
    const { since, replacement } = before['x-deprecated']
    const [marked, now] = [minorOf(since), minorOf(jsonOf(this.#current['info'])['version'])]
    const hadTime = marked !== undefined && now !== undefined && now > marked
    if (!hadTime) this.changes.push(`${name} is gone within the minor cycle of its deprecation, ${since}`)
    const [method = '', path = ''] = String(replacement).split(' ')
    const isReplaced = isJson(jsonOf(jsonOf(this.#current['paths'])[path])[method.toLowerCase()])
    if (!isReplaced) this.changes.push(`${name} is gone, and ${replacement}, which replaces it, is not there`)
  }

  /** Reports removed reasons and changed codes. New reasons are compatible. */
  reasons(): void {
    const [before, after] = [jsonOf(this.#previous['x-reasons']), jsonOf(this.#current['x-reasons'])]
    for (const [reason, code] of Object.entries(before)) {
      if (after[reason] === undefined) this.changes.push(`reason ${reason} is gone`)
      else if (after[reason] !== code) this.changes.push(`reason ${reason} has the code ${after[reason]}, not ${code}`)
    }
  }

  /**
   * Reports changed security schemes. If a header or the signed text changes, signatures of existing callers are
   * rejected.
   */
  securitySchemes(): void {
    const schemesOf = (document: Json) => jsonOf(jsonOf(document['components'])['securitySchemes'])
    const rules = (scheme: unknown) => ({ ...jsonOf(scheme), description: undefined })
    for (const [name, scheme] of Object.entries(schemesOf(this.#previous))) {
      const now = schemesOf(this.#current)[name]
      if (now !== undefined && !isDeepStrictEqual(rules(now), rules(scheme)))
        this.changes.push(`security scheme ${name} changed`)
    }
  }

  operations(before: Json, after: Json, name: string): void {
    const [id, newId] = [before['operationId'], after['operationId']]
    if (id !== newId) this.changes.push(`${name}: operation id was ${id}, is ${newId}`)
    this.#access(before, after, name)
    this.#parameters(before, after, name)
    const bodyOf = (operation: Json) => jsonOf(operation['requestBody'])
    const [bodyBefore, bodyAfter] = [contentOf(bodyOf(before)), contentOf(bodyOf(after))]
    if (bodyBefore !== undefined && bodyAfter !== undefined) {
      this.#schemas(bodyBefore, bodyAfter, 'request', `${name}: body`)
    } else if (bodyOf(after)['required'] === true) this.changes.push(`${name}: body is now required`)
    const responseOf = (operation: Json) => jsonOf(jsonOf(operation['responses'])['200'])
    this.#mediaTypes(bodyOf(before), bodyOf(after), `${name}: body`)
    this.#mediaTypes(responseOf(before), responseOf(after), `${name}: answer`)
    const [answerBefore, answerAfter] = [contentOf(responseOf(before)), contentOf(responseOf(after))]
    if (answerBefore !== undefined && answerAfter !== undefined)
      this.#schemas(answerBefore, answerAfter, 'answer', `${name}: answer`)
  }

  #mediaTypes(before: Json, after: Json, place: string): void {
    const left = jsonOf(after['content'])
    for (const type of Object.keys(jsonOf(before['content'])))
      if (!(type in left)) this.changes.push(`${place} is no longer ${type}`)
  }

  /** Reports changes of access. An additional way to authenticate is compatible. A stricter data scope is not. */
  #access(before: Json, after: Json, name: string): void {
    const ways = (operation: Json) => listOf(operation['security']).map((way) => JSON.stringify(way))
    const [was, is] = [ways(before), ways(after)]
    const isOpen = is.length === 0
    if (after['x-data-scope'] === 'all' && before['x-data-scope'] !== 'all' && before['x-permission'] !== undefined)
      this.changes.push(`${name}: only callers with the data scope "all" are allowed now`)
    const [permission, newPermission] = [before['x-permission'], after['x-permission']]
    if (permission === newPermission && (isOpen || (was.length > 0 && was.every((way) => is.includes(way))))) return
    this.changes.push(`${name}: access changed to ${newPermission ?? (isOpen ? 'public' : is.join(' or '))}`)
  }

  #parameters(before: Json, after: Json, name: string): void {
    const byName = (operation: Json) =>
      new Map(
        listOf(operation['parameters']).map((one) => [`${jsonOf(one)['in']} ${jsonOf(one)['name']}`, jsonOf(one)]),
      )
    const known = byName(before)
    const left = byName(after)
    for (const [parameter, declared] of known) {
      const place = `${name}: ${parameter}`
      const now = left.get(parameter)
      if (now === undefined) this.changes.push(`${place} is gone`)
      else {
        const [was, is] = [jsonOf(declared['schema']), jsonOf(now['schema'])]
        this.#schemas(was, is, 'request', place)
        // If the number of the first page changes, callers get other pages for the same numbers.
        if (parameter === 'query page' && was['minimum'] !== is['minimum'])
          this.changes.push(`${place} starts at ${is['minimum']}, not at ${was['minimum']}`)
      }
    }
    const query = [...left.values()]
      .filter((declared) => declared['in'] === 'query' && !known.has(`query ${declared['name']}`))
      .map((declared) => String(declared['name']))
    const membersOf = (operation: Json) =>
      Object.keys(jsonOf(contentOf(jsonOf(operation['requestBody']))?.['properties']))
    const body = membersOf(after).filter((member) => !membersOf(before).includes(member))
    this.#newInput = new Set([...query, ...body])
    for (const [parameter, declared] of left) {
      const wasRequired = known.get(parameter)?.['required'] === true
      if (declared['required'] === true && !wasRequired) this.changes.push(`${name}: ${parameter} is now required`)
    }
  }

  #schemas(left: Json, right: Json, use: Use, place: string): void {
    const [before, after] = [resolve(left, this.#previous), resolve(right, this.#current)]
    const pair = `${use} ${left['$ref'] ?? ''} ${right['$ref'] ?? ''}`
    const isNamed = '$ref' in left || '$ref' in right
    if (isNamed && this.#open.has(pair)) return
    if (isNamed) this.#open.add(pair)
    this.#types(before, after, use, place)
    if (use === 'request') this.#limits(before, after, place)
    if (use === 'request' && 'default' in before && !isDeepStrictEqual(before['default'], after['default']))
      this.changes.push(`${place} has the default ${shown(after['default'])}, not ${shown(before['default'])}`)
    this.#members(before, after, use, place)
    for (const inner of ['items', 'additionalProperties'] as const) {
      if (isJson(before[inner]) && isJson(after[inner])) this.#schemas(before[inner], after[inner], use, `${place}[]`)
    }
    // Types and values of all alternatives are compared together. Alternatives with nested schemas are also compared by
    // position.
    const branches = (node: Json) =>
      listOf(node['anyOf'] ?? node['oneOf'] ?? node['allOf'])
        .map(jsonOf)
        .filter((branch) => ['$ref', 'properties', 'items'].some((name) => name in branch))
    const others = branches(after)
    for (const [index, branch] of branches(before).entries()) {
      const other = others[index]
      if (other !== undefined) this.#schemas(branch, other, use, place)
      else if (use === 'request') this.changes.push(`${place} takes fewer alternatives`)
    }
    if (isNamed) this.#open.delete(pair)
  }

  #types(before: Json, after: Json, use: Use, place: string): void {
    const was = typesOf(before)
    const causes = listOf(after['x-null-with']).map(String)
    const isNewNull = use === 'answer' && causes.length > 0 && causes.every((name) => this.#newInput.has(name))
    const is = typesOf(after).filter((type) => !isNewNull || type !== 'null')
    // Callers send values of the old request type, and understand only values of the old response type.
    const [needed, given] = use === 'request' ? [was, is] : [is, was]
    if (was.length > 0 && is.length > 0 && needed.some((type) => !given.includes(type))) {
      this.changes.push(`${place} was ${was.join(' or ')}, is ${is.join(' or ')}`)
    }
    const values = valuesOf(after)
    const lost = (valuesOf(before) ?? []).filter((value) => values !== undefined && !values.includes(value))
    if (lost.length > 0) this.changes.push(`${place} knows ${lost.join(', ')} no more`)
    else if (use === 'request' && values !== undefined && valuesOf(before) === undefined) {
      this.changes.push(`${place} takes only ${values.join(', ')}`)
    }
  }

  #limits(before: Json, after: Json, place: string): void {
    const number = (node: Json, name: string, none: number) => (typeof node[name] === 'number' ? node[name] : none)
    const tighter = [
      ...lowerLimits.filter((name) => number(after, name, -Infinity) > number(before, name, -Infinity)),
      ...upperLimits.filter((name) => number(after, name, Infinity) < number(before, name, Infinity)),
      ...['pattern', 'format'].filter((name) => after[name] !== undefined && after[name] !== before[name]),
    ]
    for (const name of tighter) this.changes.push(`${place} is stricter: ${name} ${after[name]}`)
  }

  #members(before: Json, after: Json, use: Use, place: string): void {
    const [known, left] = [jsonOf(before['properties']), jsonOf(after['properties'])]
    const isOpen = Object.keys(left).length === 0 && !('properties' in after) && after['additionalProperties'] !== false
    if (isOpen && use === 'answer' && Object.keys(known).length > 0 && !('anyOf' in after || 'oneOf' in after))
      this.changes.push(`${place} declares no members any more`)
    for (const [name, member] of Object.entries(known)) {
      if (isJson(left[name])) this.#schemas(jsonOf(member), left[name], use, `${place}.${name}`)
      else if (!isOpen) this.changes.push(`${place}.${name} is gone`)
    }
    const [needed, given] = [listOf(before['required']), listOf(after['required'])]
    if (use === 'request') {
      for (const name of given.filter((one) => !needed.includes(one))) {
        this.changes.push(`${place}.${name} is now required`)
      }
    } else {
      for (const name of needed.filter((one) => isJson(left[String(one)]) && !given.includes(one))) {
        this.changes.push(`${place}.${name} may be missing now`)
      }
    }
  }
}

const shown = (value: unknown) => (value === undefined ? 'none' : JSON.stringify(value))

function contentOf(holder: Json): Json | undefined {
  const schema = jsonOf(jsonOf(holder['content'])['application/json'])['schema']
  return isJson(schema) ? schema : undefined
}

function resolve(schema: Json, document: Json): Json {
  const name = typeof schema['$ref'] === 'string' ? schema['$ref'].replace('#/components/schemas/', '') : undefined
  return name === undefined ? schema : jsonOf(jsonOf(jsonOf(document['components'])['schemas'])[name])
}

/** Returns the JSON types that a schema allows; empty if it allows all types. */
function typesOf(schema: Json): string[] {
  const alternatives = listOf(schema['anyOf'] ?? schema['oneOf']).map(jsonOf)
  if (alternatives.length > 0) {
    const all = alternatives.map(typesOf)
    return all.some((types) => types.length === 0) ? [] : [...new Set(all.flat())]
  }
  const type = schema['type']
  if (type !== undefined) return (Array.isArray(type) ? type : [type]).map(String)
  return [...new Set((valuesOf(schema) ?? []).map((value) => (value === null ? 'null' : typeof value)))]
}

/** Returns the values of `enum` or `const`; `undefined` if all values are allowed. */
function valuesOf(schema: Json): readonly unknown[] | undefined {
  if ('const' in schema) return [schema['const']]
  if (Array.isArray(schema['enum'])) return schema['enum']
  const alternatives = listOf(schema['anyOf'] ?? schema['oneOf']).map((branch) => valuesOf(jsonOf(branch)))
  if (alternatives.length === 0 || alternatives.includes(undefined)) return undefined
  return alternatives.flatMap((values) => values ?? [])
}
