import { isDeepStrictEqual } from 'node:util'

type Json = Readonly<Record<string, unknown>>
type Use = 'request' | 'answer'

const methods = ['get', 'post', 'put', 'patch', 'delete'] as const
/** Keywords that make a schema stricter if their value rises. */
const lowerLimits = ['minimum', 'exclusiveMinimum', 'minLength', 'minItems'] as const
/** Keywords that make a schema stricter if their value falls. */
const upperLimits = ['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems'] as const
/** Defaults of `style` and `explode` by the place of a parameter (OpenAPI 3.1, section 4.8.12.2). */
const styles: Readonly<Record<string, string>> = { query: 'form', cookie: 'form', path: 'simple', header: 'simple' }

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
  const pathsOf = (document: object) => Object.entries(jsonOf(jsonOf(document)['paths']))
  const now = new Map(pathsOf(current).map(([path, item]) => [withoutNames(path), { path, item }]))
  for (const [path, item] of pathsOf(previous)) {
    const found = now.get(withoutNames(path))
    for (const method of methods) {
      const before = jsonOf(item)[method]
      const after = jsonOf(found?.item)[method]
      const name = `${method.toUpperCase()} ${path}`
      if (isJson(before)) {
        if (isJson(after)) comparison.operations(before, withNamesOf(path, after, found?.path ?? path), name)
        else comparison.end(before, name)
      }
    }
  }
  comparison.reasons()
  comparison.securitySchemes()
  comparison.servers()
  return comparison.changes
}

/** Returns a path without the names of its parameters, which callers do not send. */
const withoutNames = (path: string) => path.replace(/\{[^}]*\}/g, '{}')

const namesIn = (path: string) => [...path.matchAll(/\{([^}]*)\}/g)].map(([, name]) => name)

/** Returns an operation whose path parameters have the names of an earlier path, because a new name changes no request. */
function withNamesOf(earlier: string, operation: Json, path: string): Json {
  const [names, current] = [namesIn(earlier), namesIn(path)]
  const renamed = (parameter: Json) => {
    const name = parameter['in'] === 'path' ? names[current.indexOf(String(parameter['name']))] : undefined
    return name === undefined ? parameter : { ...parameter, name }
  }
  return { ...operation, parameters: listOf(operation['parameters']).map(jsonOf).map(renamed) }
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

  /** Reports removed servers. Callers of the previous description send their requests to them. */
  servers(): void {
    const urlsOf = (document: Json) => listOf(document['servers']).map((server) => String(jsonOf(server)['url']))
    // Without servers, a description is about the server that it comes from.
    const left = 'servers' in this.#current ? urlsOf(this.#current) : ['/']
    for (const url of urlsOf(this.#previous)) if (!left.includes(url)) this.changes.push(`server ${url} is gone`)
  }

  operations(before: Json, after: Json, name: string): void {
    const [id, newId] = [before['operationId'], after['operationId']]
    if (id !== newId) this.changes.push(`${name}: operation id was ${id}, is ${newId}`)
    this.#access(before, after, name)
    this.#parameters(before, after, name)
    const bodyOf = (operation: Json) => jsonOf(operation['requestBody'])
    const [bodyBefore, bodyAfter] = [contentOf(bodyOf(before)), contentOf(bodyOf(after))]
    if (bodyBefore !== undefined && bodyAfter !== undefined)
      this.#schemas(bodyBefore, bodyAfter, 'request', `${name}: body`)
    if (bodyOf(after)['required'] === true && bodyOf(before)['required'] !== true)
      this.changes.push(`${name}: body is now required`)
    this.#reasonsOf(before, after, name)
    const responseOf = (operation: Json) => jsonOf(jsonOf(operation['responses'])['200'])
    this.#mediaTypes(bodyOf(before), bodyOf(after), `${name}: body`)
    this.#mediaTypes(responseOf(before), responseOf(after), `${name}: answer`)
    const [answerBefore, answerAfter] = [contentOf(responseOf(before)), contentOf(responseOf(after))]
    if (answerBefore !== undefined && answerAfter !== undefined)
      this.#schemas(answerBefore, answerAfter, 'answer', `${name}: answer`)
  }

  /** Reports the reasons of one operation that are gone or have another code. `reasons` reports those of all operations. */
  #reasonsOf(before: Json, after: Json, name: string): void {
    const left = jsonOf(after['x-reasons'])
    const ofAll = [this.#previous, this.#current].map((document) => jsonOf(document['x-reasons']))
    for (const [reason, code] of Object.entries(jsonOf(before['x-reasons']))) {
      const [was, is] = ofAll.map((reasons) => reasons[reason])
      if (was !== is) continue
      if (left[reason] === undefined) this.changes.push(`${name}: reason ${reason} is gone`)
      else if (left[reason] !== code)
        this.changes.push(`${name}: reason ${reason} has the code ${left[reason]}, not ${code}`)
    }
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
        const formOf = ({ in: where, style = styles[String(where)], explode = style === 'form' }: Json) =>
          `style ${style}, explode ${explode}`
        if (formOf(declared) !== formOf(now)) this.changes.push(`${place} has ${formOf(now)}, not ${formOf(declared)}`)
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
    if (use === 'request') this.#limits(before, after, `${place} is stricter`)
    else this.#limits(after, before, `${place} is wider`, after)
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
    const isCovered = (type: string) => given.includes(type) || (type === 'integer' && given.includes('number'))
    if (was.length > 0 && is.length > 0 && !needed.every(isCovered)) {
      this.changes.push(`${place} was ${was.join(' or ')}, is ${is.join(' or ')}`)
    }
    const values = valuesOf(after)
    if (use === 'answer' || values === undefined) return
    const lost = (valuesOf(before) ?? []).filter((value) => !values.includes(value))
    if (lost.length > 0) this.changes.push(`${place} knows ${lost.join(', ')} no more`)
    else if (valuesOf(before) === undefined) this.changes.push(`${place} takes only ${values.join(', ')}`)
  }

  /**
   * Reports limits that are stricter in `after`. A wider response is the same with both schemas exchanged: callers of the
   * previous description do not expect its new values.
   *
   * @param shown schema whose values are reported
   */
  #limits(before: Json, after: Json, change: string, shown = after): void {
    const number = (node: Json, name: string, none: number) => (typeof node[name] === 'number' ? node[name] : none)
    const tighter = [
      ...lowerLimits.filter((name) => number(after, name, -Infinity) > number(before, name, -Infinity)),
      ...upperLimits.filter((name) => number(after, name, Infinity) < number(before, name, Infinity)),
      ...['pattern', 'format'].filter((name) => after[name] !== undefined && after[name] !== before[name]),
    ]
    for (const name of tighter) this.changes.push(`${change}: ${name} ${shown[name] ?? 'none'}`)
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
