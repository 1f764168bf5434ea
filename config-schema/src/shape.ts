/**
 * Describes valid declarations and contributions of plugins. Shapes use the keywords of JSON Schema (2020-12). They are
 * checked at run time, because plugins may be written in JavaScript.
 *
 * - `type` may also be `function`, which JSON Schema does not have. A function may have properties, like any object.
 * - A keyword applies only to values of its type. `enum` applies to strings and numbers.
 * - `description` replaces `type`, `pattern` and `enum` in error messages. It completes "must be ...".
 * - `discriminator` is the name of a property. Its value selects one of the shapes in `oneOf`, which all have an `enum`
 *   for it.
 * - Inherited properties are included, so instances of classes have the methods of their class.
 * - `additionalProperties: false` rejects unknown properties of plain objects. Otherwise unknown properties are
 *   ignored, except names that are close to the name of a missing property.
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
 * Creates the shape of an object. The compiler requires exactly the properties of the contract T, so that the shape
 * cannot differ from it.
 */
function object<T extends object>(
  required: Members<T, Exclude<keyof T, OptionalNames<T>>>,
  ...[optional]: [OptionalNames<T>] extends [never] ? [] : [optional: Members<T, OptionalNames<T>>]
): Shape {
  return { type: 'object', properties: { ...required, ...optional }, required: Object.keys(required) }
}

/** Creates the shape of an object with plain data. In contrast to `object`, other properties are rejected. */
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

/** Creates the shape of lower-case words that are joined by one of the separators. */
const words = (separators: string, description: string): Shape => {
  const pattern = `^[a-z0-9]+(?:[${separators}][a-z0-9]+)*$`
  return { type: 'string', maxLength: 128, pattern, description }
}

export const shape = {
  object,
  record,
  text,
  localized,
  function: anyFunction,
  flag: { type: 'boolean' },
  /** Any object, including an instance of a class. */
  anyObject: { type: 'object' },
  anything: {},
  scalar: { type: ['string', 'number', 'boolean'] },
  /** An integer from `minimum` to `maximum`, inclusive. */
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
  among: (values: readonly string[]): Shape => ({ type: 'string', enum: values }),
  list: (items: Shape, minItems = 0): Shape => ({ type: 'array', items, ...(minItems > 0 && { minItems }) }),
  /** An object with properties of any name. All values have the same shape. */
  map: (additionalProperties: Shape): Shape => ({ type: 'object', additionalProperties }),
  /** One of several objects. The value of one property selects the shape; each shape has an `enum` for it. */
  variants: (propertyName: string, oneOf: readonly Shape[]): Shape => ({
    type: 'object',
    discriminator: { propertyName },
    oneOf,
  }),
} as const satisfies Readonly<Record<string, Shape | ((...parts: never[]) => Shape)>>
