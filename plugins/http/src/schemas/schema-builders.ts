import type { TSchema, Type as TypeBox } from 'typebox'

type Schema = Readonly<Record<string, unknown>>

/** TypeBox knows its schemas by members that JSON does not show. */
function marked(schema: object, mark: string, value: unknown): object {
  return Object.defineProperty(schema, mark, { value, enumerable: false, configurable: true, writable: true })
}

const of = (kind: string, schema: object, options: object | undefined) =>
  marked({ ...schema, ...options }, '~kind', kind)
const plain = (kind: string, type: string) => (options?: object) => of(kind, { type }, options)
const isOptional = (schema: unknown) => Object.hasOwn(schema as object, '~optional')

/**
 * The builders of TypeBox that routes need, with its types and its results: each makes exactly the schema that TypeBox
 * would make. TypeBox itself is 700 modules; loading it takes a process 100 ms and 13 MB, more than Fastify does.
 */
export const Type = {
  String: plain('String', 'string'),
  Integer: plain('Integer', 'integer'),
  Number: plain('Number', 'number'),
  Boolean: plain('Boolean', 'boolean'),
  Null: plain('Null', 'null'),
  Unknown: (options?: object) => of('Unknown', {}, options),
  Literal: (value: unknown, options?: object) => of('Literal', { type: typeof value, const: value }, options),
  Enum: (values: object, options?: object) => of('Enum', { enum: Object.values(values) }, options),
  Union: (anyOf: readonly object[], options?: object) => of('Union', { anyOf }, options),
  Array: (items: object, options?: object) => of('Array', { type: 'array', items }, options),
  Object(properties: Schema, options?: object) {
    const required = Object.keys(properties).filter((name) => !isOptional(properties[name]))
    return of('Object', { type: 'object', ...(required.length > 0 && { required }), properties }, options)
  },
  Record(key: Schema, value: object, options?: object) {
    if (key['~kind'] !== 'String') throw new TypeError('The names of a record are described by Type.String()')
    return of('Record', { type: 'object', patternProperties: { [String(key['pattern'] ?? '^.*$')]: value } }, options)
  },
  Optional: (schema: object) =>
    marked(Object.defineProperties({}, Object.getOwnPropertyDescriptors(schema)), '~optional', true),
  Unsafe: (schema: object) => marked({ ...schema }, '~unsafe', null),
} as unknown as Pick<typeof TypeBox, Builder>

type Builder =
  | 'Array'
  | 'Boolean'
  | 'Enum'
  | 'Integer'
  | 'Literal'
  | 'Null'
  | 'Number'
  | 'Object'
  | 'Optional'
  | 'Record'
  | 'String'
  | 'Union'
  | 'Unknown'
  | 'Unsafe'

/** Id of a stored thing: assigned by the product, sortable by time, exact in a JSON number. */
export const id = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })
export const idParams = Type.Object({ id })

/** A number of things. */
export const count = Type.Integer({ minimum: 0 })

/** A moment: ISO 8601, UTC. */
export const instant = Type.String({ format: 'date-time' })

/** Text of an answer. */
export const text = Type.String()

/** One line of input: without control characters and halves of characters, which not every database can store. */
export const line = (maxLength: number, options: { readonly minLength?: number; readonly description?: string } = {}) =>
  Type.String({ ...options, maxLength, pattern: '^[^\\p{Cc}\\p{Cs}]*$' })

/** Characters of a reason, wherever it is kept. */
export const longestReason = 200
/** One line that says something: blanks alone do not. */
export const isWorded = (text: string) => /\S/.test(text) && !/[\p{Cc}\p{Cs}]/u.test(text)
/** Why somebody does something, in a body. In the header `X-Reason` the same counts. */
export const reason = (description: string) =>
  Type.String({ description: `${description} One line, not blanks alone.`, maxLength: longestReason, 'x-worded': true })

export const nullable = <T extends TSchema>(schema: T, options?: { readonly description: string }) =>
  Type.Union([schema, Type.Null()], options)

/** Version of a thing, in a change of it: the one that the change starts from. */
export const version = Type.Integer({ minimum: 1, description: 'Version that the change starts from.' })
/** Version of a thing, in an answer. */
export const currentVersion = Type.Integer({
  description: 'Goes back with a change: a change of what somebody else changed is refused.',
})
export const versionQuery = Type.Object({ version: Type.Optional(version) })

/** Answer of what changes many. */
export const affected = Type.Object({ affected: count })
/** Answer of what has nothing to say. */
export const nothing = Type.Null()

/** A variable of what is filled in, as the answer of a live preview tells of it: see `SampleUse` of @plinth/admin. */
export const sampleUse = Type.Object({
  name: Type.String({ description: 'Dotted: `user.name` is a member of `user`.' }),
  usedIn: Type.Array(text, { description: 'Members of the request that use it.' }),
  needed: Type.Boolean({ description: 'False for what may be absent.' }),
  given: Type.Boolean({ description: 'Whether the request has a value for it.' }),
})

/** The same schema with a description. */
export const described = <T extends TSchema>(schema: T, description: string): T =>
  Object.assign(Object.defineProperties({}, Object.getOwnPropertyDescriptors(schema)) as T, { description })
