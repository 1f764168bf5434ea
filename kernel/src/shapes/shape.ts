/**
 * The shape of what a plugin declares or contributes. Shapes are data in the words of JSON Schema (2020-12), because plugins
 * are also written in plain JavaScript and no compiler has seen those.
 *
 * - `type` may also be `function`: JSON Schema has no word for it. A function may have members, as any object.
 * - A keyword applies to values of its type only. `enum` applies to text and numbers.
 * - `description` completes "must be ..." in place of `type`, `pattern` and `enum`.
 * - `discriminator` names the member by which one of the shapes in `oneOf` is selected: that member has an `enum` in each.
 * - Members are read through prototypes, so an instance of a class has the methods of the class.
 * - `additionalProperties: false` rejects unknown members of plain objects. Otherwise unknown members are ignored, except names
 *   close to the name of a member that is absent.
 */
export interface Shape {
  readonly type?: ShapeType | readonly ShapeType[]
  readonly description?: string
  readonly enum?: readonly (string | number)[]
  readonly pattern?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly items?: Shape
  readonly minItems?: number
  readonly maxItems?: number
  readonly properties?: Readonly<Record<string, Shape>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean | Shape
  readonly minProperties?: number
  readonly maxProperties?: number
  readonly propertyNames?: Shape
  readonly discriminator?: { readonly propertyName: string }
  readonly oneOf?: readonly Shape[]
}

export type ShapeType = 'string' | 'integer' | 'number' | 'boolean' | 'array' | 'object' | 'function'

type OptionalNames<T> = { [Name in keyof T]-?: Record<never, never> extends Pick<T, Name> ? Name : never }[keyof T]
type Members<T, Names extends keyof T> = { readonly [Name in Names]-?: Shape }

/**
 * An object with these members. The compiler requires exactly the members of the contract, so that shape and contract stay
 * the same.
 */
function object<T extends object>(
  required: Members<T, Exclude<keyof T, OptionalNames<T>>>,
  ...[optional]: [OptionalNames<T>] extends [never] ? [] : [optional: Members<T, OptionalNames<T>>]
): Shape {
  return { type: 'object', properties: { ...required, ...optional }, required: Object.keys(required) }
}

/** As `object`, for plain data: a member that the contract does not have is rejected. */
function record<T extends object>(...members: Parameters<typeof object<T>>): Shape {
  return { ...object<T>(...members), additionalProperties: false }
}

const text: Shape = { type: 'string', minLength: 1, maxLength: 4000 }
const localized: Shape = {
  type: ['string', 'object'],
  description: "text in { en, 'zh-CN' }",
  minLength: 1,
  properties: { en: text, 'zh-CN': text },
  required: ['en', 'zh-CN'],
  additionalProperties: false,
}
const anyFunction: Shape = { type: 'function' }

/** Lower-case words, joined by one of these characters. */
const words = (separators: string, description: string): Shape => {
  const pattern = `^[a-z0-9]+(?:[${separators}][a-z0-9]+)*$`
  return { type: 'string', maxLength: 128, pattern, description }
}

/** Builders of shapes. */
export const shape = {
  object,
  record,
  text,
  /** Text for people: `LocalizedText`. */
  localized,
  function: anyFunction,
  flag: { type: 'boolean' },
  /** Any object, also an instance of a class. */
  anyObject: { type: 'object' },
  /** Any value. */
  anything: {},
  scalar: { type: ['string', 'number', 'boolean'] },
  /** A whole number in this range, both ends included. */
  integer: (minimum = Number.MIN_SAFE_INTEGER, maximum = Number.MAX_SAFE_INTEGER): Shape => ({
    type: 'integer',
    minimum,
    maximum,
  }),
  /** Lower-case words joined by hyphens: `acme-chat`. */
  kebab: words('-', 'lower-case words joined by hyphens, such as "acme-chat"'),
  /** Lower-case words joined by dots and hyphens: `acme.order-paid`. */
  dotted: words('.\\-', 'lower-case words joined by dots or hyphens, such as "acme.order-paid"'),
  /** Lower-case words joined by colons, dots and hyphens: `acme:order:view`. */
  coded: words(':.\\-', 'lower-case words joined by colons, dots or hyphens, such as "acme:order:view"'),
  /** One of these texts. */
  among: (values: readonly string[]): Shape => ({ type: 'string', enum: values }),
  /** A list with at least this number of items. */
  list: (items: Shape, minItems = 0): Shape => ({ type: 'array', items, ...(minItems > 0 && { minItems }) }),
  /** An object whose members, of any name, have one shape. */
  map: (additionalProperties: Shape): Shape => ({ type: 'object', additionalProperties }),
  /** One of several objects, selected by the value of a member that has an `enum` in each. */
  variants: (propertyName: string, oneOf: readonly Shape[]): Shape => ({
    type: 'object',
    discriminator: { propertyName },
    oneOf,
  }),
} as const satisfies Readonly<Record<string, Shape | ((...parts: never[]) => Shape)>>
