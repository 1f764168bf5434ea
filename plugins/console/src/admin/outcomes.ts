import type { PageColumn, PageDeclaration, PageOutcome, PageResultLink } from '@plinth/admin'
import type { Schema } from '@plinth/http'
import { itemOf, membersOf, type Operation, withoutNull } from './operations.ts'

/** Names of members that say whether the call succeeded. */
const successFlags = ['passed', 'success', 'succeeded', 'verified']

/** Number of levels of nested objects and lists in which an outcome is searched. */
const maxDepth = 2

/** Returns the schema of one object of the result, and for a list that of an item. */
const objectIn = (schema: Schema | undefined): Schema | undefined => {
  const plain = withoutNull(schema)
  return plain?.['type'] === 'array' ? objectIn(plain.items) : plain
}

const resultOf = (operation: Operation) => itemOf(operation) ?? operation.data

/** Returns the schema of a member of the result. A part of its name can be a list. */
function memberIn(schema: Schema | undefined, name: string): Schema | undefined {
  const [first = '', ...rest] = name.split('.')
  const member = membersOf(objectIn(schema))[first]
  return rest.length === 0 ? member : memberIn(member, rest.join('.'))
}

/** Returns the members of a result that say that the call failed although its response is successful. */
function outcomesIn(schema: Schema | undefined, prefix = ''): readonly string[] {
  return Object.entries(membersOf(objectIn(schema))).flatMap(([name, member]) => {
    const path = prefix + name
    if (isOutcome(name, member)) return [path]
    return path.split('.').length > maxDepth ? [] : outcomesIn(member, `${path}.`)
  })
}

/** A member that can be null belongs to an earlier call, for example the outcome of the last run. */
const isOutcome = (name: string, { type, enum: values = [] }: Schema): boolean =>
  type === 'boolean'
    ? successFlags.includes(name)
    : values.length > 0 && (name === 'outcome' || values.includes('failed'))

/** Returns the problems of the outcome of a write: it is missing, or names a member or a value that does not exist. */
export function outcomeProblems(outcome: PageOutcome | undefined, operation: Operation): readonly string[] {
  const result = resultOf(operation)
  if (outcome === undefined) {
    const [found] = operation.method === 'GET' ? [] : outcomesIn(result)
    return found === undefined
      ? []
      : [`the result of ${operation.id} can be a failure ("${found}"): declare in "outcome" which values are good`]
  }
  const member = memberIn(result, outcome.field)
  if (member === undefined) return [`"${outcome.field}" is not a member of the result`]
  const { enum: values } = withoutNull(member) ?? {}
  const unknown = values === undefined ? [] : outcome.good.filter((value) => value !== null && !values.includes(value))
  const { reason } = outcome
  return [
    ...unknown.map((value) => `"${value}" is not a value of "${outcome.field}"`),
    ...(reason === undefined || memberIn(result, reason) !== undefined
      ? []
      : [`"${reason}" is not a member of the result`]),
  ]
}

/** Finds the page of the object that an operation creates. */
export type ObjectPages = (created: Operation) => PageResultLink | undefined

/**
 * Returns a function that finds the page of the object that an operation creates: `POST /depots` creates the object of
 * the page over `GET /depots/{id}`, if the response contains the member `id`.
 */
export function objectPages(
  pages: Iterable<Pick<PageDeclaration, 'id' | 'kind' | 'source'>>,
  operations: ReadonlyMap<string, Operation>,
): ObjectPages {
  const links = new Map<string, PageResultLink>()
  for (const { id: page, kind, source } of pages) {
    const [, path, field] = operations.get(source)?.path.match(/^(.+)\/\{(\w+)\}$/) ?? []
    if (kind === 'detail' && path !== undefined && field !== undefined) links.set(path, { page, field })
  }
  return ({ method, path, data }) => {
    const link = method === 'POST' ? links.get(path) : undefined
    return link !== undefined && memberIn(data, link.field) !== undefined ? link : undefined
  }
}

/** The parts of a write that lead the user to another object. */
interface NamedResult {
  readonly created?: PageResultLink
  readonly answer?: readonly Pick<PageColumn, 'field'>[]
}

/**
 * Returns the members, such as `orderId`, that columns of these pages show as links to the page of an object, with the id of
 * that page.
 */
export function linkedMembers(pages: Iterable<PageDeclaration>): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  const collect = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    const { as, field, of } = value as Partial<PageColumn>
    if (as === 'reference' && field?.endsWith('Id') && of?.page !== undefined) found.set(field, of.page)
    for (const part of Object.values(value)) collect(part)
  }
  for (const page of pages) collect(page)
  return found
}

/**
 * Returns the problem of a write whose response contains the id of another object, although the user sees neither a
 * link nor a column.
 *
 * @param item the object that the user changes; its members are not new
 * @param linked members that other columns show as links
 */
export function createdProblems(
  { created, answer = [] }: NamedResult,
  operation: Operation,
  item: Schema | undefined,
  linked: ReadonlyMap<string, string>,
): readonly string[] {
  const { id, method, params, query, body, data } = operation
  if (method === 'GET' || created !== undefined) return []
  const known = { ...params, ...query, ...membersOf(body), ...membersOf(item) }
  const shown = answer.map(({ field }) => field)
  return Object.keys(membersOf(data)).flatMap((name) => {
    const page = linked.get(name)
    if (page === undefined || name in known || shown.includes(name)) return []
    return [`the result of ${id} contains "${name}": link to the page "${page}" in "created", or show it in "answer"`]
  })
}
