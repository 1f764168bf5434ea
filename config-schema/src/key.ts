import type {
  Deprecation,
  InsecureValue,
  JsonSchema,
  JsonValue,
  KeyDeclaration,
  LocalizedText,
  NeededWhile,
  Reload,
} from './declaration.ts'
import { formatDuration } from './formats.ts'

/** Options of every key; see `KeyDeclaration` for their meaning. */
export interface KeyOptions<W extends JsonValue> {
  readonly title: LocalizedText
  readonly description?: LocalizedText
  /** Allows texts with several lines. False when absent. */
  readonly multiline?: boolean
  /** The rule of a `pattern` in words. See `KeyDeclaration.rule`. */
  readonly rule?: LocalizedText
  /** False when absent. */
  readonly sensitive?: boolean
  /** `restart` when absent. */
  readonly reload?: Reload
  /** True when absent, but false for state and for keys of one process. */
  readonly editable?: boolean
  /** Not together with `editable: true`. False when absent. */
  readonly state?: boolean
  /** Not together with `editable: true` or `state`. */
  readonly scope?: 'process'
  /** For a boolean key. */
  readonly neededWhile?: NeededWhile
  /** See `KeyDeclaration.insecure`. */
  readonly insecure?: InsecureValue
  /** Only for a sensitive key. Not together with `state`. A non-empty list is not allowed together with `required`. */
  readonly destination?: readonly string[]
  readonly group?: string
  readonly env?: string
  readonly deprecated?: Deprecation
  readonly examples?: readonly W[]
}

type WithValue<W> =
  | { readonly default: W; readonly required?: false }
  | { readonly required: true; readonly default?: never }
type WithoutValue = { readonly default?: never; readonly required?: false }

/**
 * Declares one key. `T` is the type that the owner reads, `W` the written type, `C` the constraints. With a default or
 * `required: true` the owner never reads `undefined`.
 */
export interface KeyBuilder<T, W extends JsonValue, C = unknown> {
  (options: KeyOptions<W> & C & WithValue<W>): KeyDeclaration<T>
  (options: KeyOptions<W> & C & WithoutValue): KeyDeclaration<T | undefined>
}

/** Lengths are in Unicode code points. `pattern` is an ECMAScript expression with the u flag, not anchored. */
export interface StringConstraints {
  readonly minLength?: number
  readonly maxLength?: number
  readonly pattern?: string
}
export interface NumberConstraints {
  readonly minimum?: number
  readonly maximum?: number
  readonly exclusiveMinimum?: number
  readonly exclusiveMaximum?: number
  readonly multipleOf?: number
}
/** Inclusive bounds, in written form or as a number of milliseconds or bytes. */
export interface QuantityConstraints {
  readonly minimum?: string | number
  readonly maximum?: string | number
}
export interface ListConstraints {
  readonly minItems?: number
  readonly maxItems?: number
  readonly uniqueItems?: boolean
}
type StringList = readonly string[]
type JsonObject = { readonly [name: string]: JsonValue }

interface EnumBuilder {
  <const V extends StringList>(
    options: KeyOptions<NoInfer<V>[number]> & { readonly values: V } & WithValue<NoInfer<V>[number]>,
  ): KeyDeclaration<V[number]>
  <const V extends StringList>(
    options: KeyOptions<NoInfer<V>[number]> & { readonly values: V } & WithoutValue,
  ): KeyDeclaration<V[number] | undefined>
}

interface ObjectBuilder {
  <T = JsonObject>(
    options: KeyOptions<JsonObject> & { readonly schema: JsonSchema } & WithValue<JsonObject>,
  ): KeyDeclaration<T>
  <T = JsonObject>(
    options: KeyOptions<JsonObject> & { readonly schema: JsonSchema } & WithoutValue,
  ): KeyDeclaration<T | undefined>
}

/** The type of one kind of builder. */
type Builder = (options: never) => KeyDeclaration<unknown>

type Constraints = { readonly [name: string]: unknown }

/** Splits the options: an option that is not part of the declaration is a constraint and becomes part of the schema. */
function builder<B extends Builder>(schemaOf: (constraints: Constraints) => JsonSchema): B {
  const declare = (options: KeyOptions<JsonValue> & { readonly default?: JsonValue; readonly required?: boolean }) => {
    const { title, description, required, sensitive, reload, editable, state, scope, ...others } = options
    const {
      default: fallback,
      multiline,
      rule,
      neededWhile,
      insecure,
      destination,
      group,
      env,
      deprecated,
      examples,
      ...constraints
    } = others
    const common = { description, multiline, rule, default: fallback, state, scope, neededWhile, insecure, destination }
    const optional = { ...common, group, env, deprecated, examples }
    return deepFreeze({
      schema: schemaOf(constraints),
      title,
      required: required ?? false,
      sensitive: sensitive ?? false,
      reload: reload ?? 'restart',
      editable: editable ?? (state !== true && scope === undefined),
      ...Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== undefined)),
    })
  }
  return declare as unknown as B
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  for (const member of Object.values(value)) deepFreeze(member)
  return Object.freeze(value)
}

const typed = <B extends Builder>(schema: JsonSchema) => builder<B>((constraints) => ({ ...schema, ...constraints }))

/** Text in a format that is read as a number. Bounds become the minimum and maximum of the format. */
const quantity = (format: string, write: (amount: number) => string) =>
  builder<KeyBuilder<number, string, QuantityConstraints>>(({ minimum, maximum, ...rest }) => {
    const written = (bound: unknown) => (typeof bound === 'number' ? write(bound) : bound)
    return {
      type: 'string',
      format,
      ...(minimum === undefined ? {} : { formatMinimum: written(minimum) }),
      ...(maximum === undefined ? {} : { formatMaximum: written(maximum) }),
      ...rest,
    }
  })

/**
 * Declares keys: `key.duration({ title: 'Default window', default: '1m', minimum: '1s' })`. Builders check only types;
 * `validateDeclaration` reports the problems of a declaration.
 */
export const key = {
  /** One line of text, or several with `multiline: true`. An empty text is a value; `minLength: 1` rejects it. */
  string: typed<KeyBuilder<string, string, StringConstraints>>({ type: 'string' }),
  /** An integer within plus or minus 2^53 - 1. */
  integer: typed<KeyBuilder<number, number, NumberConstraints>>({ type: 'integer' }),
  number: typed<KeyBuilder<number, number, NumberConstraints>>({ type: 'number' }),
  boolean: typed<KeyBuilder<boolean, boolean>>({ type: 'boolean' }),
  /** Written `30s`, `1h30m` or `PT5M`; read as milliseconds. */
  duration: quantity('duration', formatDuration),
  /** Written `1024`, `64kB` or `10MiB`, always as text; read as a number of bytes. */
  bytes: quantity('bytes', String),
  /** An http or https URL; user name and password only with `credentials: true` (then usually `sensitive`). */
  url: builder<KeyBuilder<string, string, StringConstraints & { readonly credentials?: boolean }>>(
    ({ credentials, ...rest }) => ({
      type: 'string',
      format: credentials === true ? 'url-with-credentials' : 'url',
      ...rest,
    }),
  ),
  /** An IP address or CIDR range. */
  cidr: typed<KeyBuilder<string, string>>({ type: 'string', format: 'cidr' }),
  cidrList: typed<KeyBuilder<StringList, StringList, ListConstraints>>({
    type: 'array',
    items: { type: 'string', format: 'cidr' },
  }),
  /** A host name or IP address, without a port. */
  host: typed<KeyBuilder<string, string>>({ type: 'string', format: 'host' }),
  /** 1 to 65535. For a port that the product listens on, `minimum: 0` lets the system choose a free one. */
  port: typed<KeyBuilder<number, number, NumberConstraints>>({ type: 'integer', minimum: 1, maximum: 65_535 }),
  email: typed<KeyBuilder<string, string>>({ type: 'string', format: 'email' }),
  /** A name of the IANA time zone database. */
  timeZone: typed<KeyBuilder<string, string>>({ type: 'string', format: 'time-zone' }),
  /** A BCP 47 language tag. */
  locale: typed<KeyBuilder<string, string>>({ type: 'string', format: 'locale' }),
  enum: builder<EnumBuilder>(({ values, ...rest }) => ({ type: 'string', enum: values, ...rest })),
  /** Non-empty texts; `items` restricts each. */
  stringList: builder<
    KeyBuilder<
      StringList,
      StringList,
      ListConstraints & { readonly items?: StringConstraints & { readonly enum?: StringList } }
    >
  >(({ items, ...rest }) => ({
    type: 'array',
    items: { type: 'string', minLength: 1, ...Object(items) },
    ...rest,
  })),
  /** A JSON object of the given schema. */
  object: builder<ObjectBuilder>(({ schema, ...rest }) => ({ type: 'object', ...Object(schema), ...rest })),
}
