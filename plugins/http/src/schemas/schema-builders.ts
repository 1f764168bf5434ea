import type { Type as TypeBox } from 'typebox'

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
