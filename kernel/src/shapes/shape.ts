/**
 * The shape of a declaration or a contribution of a plugin. Shapes are data with the keywords of JSON Schema (2020-12),
 * because plugins may be written in plain JavaScript, which no compiler has checked.
 *
 * - `type` may also be `function`, which JSON Schema does not have. A function may have properties, like any object.
 * - A keyword applies only to values of its type. `enum` applies to text and numbers.
 * - `description` completes "must be ..." in place of `type`, `pattern` and `enum`.
 * - `discriminator` specifies the property that selects one of the shapes in `oneOf`. The property has an `enum` in
 *   each.
 * - Properties are read through prototypes, so an instance of a class has the methods of the class.
 * - `additionalProperties: false` rejects unknown properties of plain objects. Otherwise unknown properties are
 *   ignored, except names close to the name of a property that is absent.
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
 * An object with these properties. The compiler requires exactly the properties of the contract, so that shape and
 * contract match.
 */
function object<T extends object>(
  required: Members<T, Exclude<keyof T, OptionalNames<T>>>,
  ...[optional]: [OptionalNames<T>] extends [never] ? [] : [optional: Members<T, OptionalNames<T>>]
): Shape {
  return { type: 'object', properties: { ...required, ...optional }, required: Object.keys(required) }
}

/** As `object`, for plain data: properties that are not in the contract are rejected. */
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

/** Lower-case words, joined by one of the separators. */
const words = (separators: string, description: string): Shape => {
  const pattern = `^[a-z0-9]+(?:[${separators}][a-z0-9]+)*$`
  return { type: 'string', maxLength: 128, pattern, description }
}

/** Builders of shapes. */
export const shape = {
  object,
  record,
  text,
  /** Text for users: `LocalizedText`. */
  localized,
  function: anyFunction,
  flag: { type: 'boolean' },
  /** Any object, including an instance of a class. */
  anyObject: { type: 'object' },
  /** Any value. */
  anything: {},
  scalar: { type: ['string', 'number', 'boolean'] },
  /** An integer in this range, both ends included. */
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
  /** A list with at least `minItems` items. */
  list: (items: Shape, minItems = 0): Shape => ({ type: 'array', items, ...(minItems > 0 && { minItems }) }),
  /** An object with properties of any name and one shape. */
  map: (additionalProperties: Shape): Shape => ({ type: 'object', additionalProperties }),
  /** One of several objects, selected by the value of a property that has an `enum` in each. */
  variants: (propertyName: string, oneOf: readonly Shape[]): Shape => ({
    type: 'object',
    discriminator: { propertyName },
    oneOf,
  }),
} as const satisfies Readonly<Record<string, Shape | ((...parts: never[]) => Shape)>>
