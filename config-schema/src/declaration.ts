/** T, but optional properties may also be `undefined`. */
type OrUndefined<T> = {
  [Name in keyof T]: Record<never, never> extends Pick<T, Name> ? T[Name] | undefined : T[Name]
}

/**
 * Returns a copy without the properties that are `undefined`. T is the type that the surrounding code expects, so that
 * the compiler finds misspelt properties. If it expects none, specify it: `defined<Options>({ reason })`.
 *
 * Not for the conditions of a query, because a condition that is missing by mistake selects more rows.
 */
export function defined<T>(members: unknown extends T ? never : NoInfer<OrUndefined<T>>): T {
  const kept: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(members)) if (value !== undefined) kept[name] = value
  return kept as T
}

/** `platform.rate-limit.default-window` -> `PLATFORM_RATE_LIMIT_DEFAULT_WINDOW`. */
export function environmentName(key: string): string {
  return key.replace(/[.-]/g, '_').toUpperCase()
}

/** Returns the environment variable of a key: as declared, otherwise `environmentName`. */
export function environmentNameOf(key: string, declaration: KeyDeclaration): string {
  return declaration.env ?? environmentName(key)
}

/** A text in both languages. */
export type Localized = { readonly en: string; readonly 'zh-CN': string }

/** Returns the language of the product for a locale: `zh-CN` for every Chinese tag, otherwise `en`. */
export const languageOf = (locale: string): keyof Localized => (/^zh(-|$)/i.test(locale) ? 'zh-CN' : 'en')

/** Returns the text for a locale: `zh-CN` for every Chinese tag, otherwise `en`. */
export function localize(text: LocalizedText, locale: string): string {
  return inBothLocales(text)[languageOf(locale)]
}

/** Returns the text in both languages; a plain string is used for both. */
export function inBothLocales(text: LocalizedText): Localized {
  return typeof text === 'string' ? { en: text, 'zh-CN': text } : text
}

/** Returns the text for use after Chinese characters: with a space in front unless it is Chinese itself. */
export const spaced = (text: string) => (/^[\x21-\x7e]/.test(text) ? ` ${text}` : text)

/** Returns a text in the two languages of the product. */
export const bilingual = (en: string, zh: string): LocalizedText => ({ en, 'zh-CN': zh })

/** Any value that JSON can represent. */
export type JsonValue = null | boolean | number | string | readonly JsonValue[] | { readonly [name: string]: JsonValue }

/** A JSON Schema (draft 2020-12) of one key. Keys are flat: schemas of different plugins are never merged. */
export type JsonSchema = { readonly [keyword: string]: unknown }

/** Text for users. A plain string is English. */
export type LocalizedText = string | { readonly en: string; readonly 'zh-CN': string }

/** `live`: the owner applies a new value while running. `restart`: it applies from the next start of the process. */
export type Reload = 'live' | 'restart'

export interface Deprecation {
  /** Version of the owning plugin that deprecated the key. */
  readonly since: string
  /** Key that replaces it. Until the old key is removed, a value of it applies to the replacement. */
  readonly replacement?: string
  readonly reason?: LocalizedText
}

/** A key and the value of it that requires another key to be true. */
export interface NeededWhile {
  readonly key: string
  readonly is: string
}

/** A value that is not safe in production, and the reason that users see. */
export interface InsecureValue {
  /** The value, in its written form. */
  readonly is: JsonValue
  /** It is insecure only if another key of the same plugin has this value. */
  readonly while?: { readonly key: string; readonly is: JsonValue }
  readonly reason: LocalizedText
}

/**
 * The declaration of one configuration key. `T` is the type that the owner reads. The schema describes the written form
 * (`"5m"`), `T` the value that is read (300000 milliseconds).
 */
export interface KeyDeclaration<T = unknown> {
  readonly schema: JsonSchema
  readonly title: LocalizedText
  readonly description?: LocalizedText
  /**
   * True: its texts may contain line breaks and tabs. Values of other keys are one line of text. No key may contain
   * other control characters.
   */
  readonly multiline?: boolean
  /** Rule of the `pattern` in words. It completes "must ..." and "必须…". If it is omitted, messages show the regular expression. */
  readonly rule?: LocalizedText
  /** Default in its written form. Without a default the value is `undefined` unless the key is required. */
  readonly default?: JsonValue
  /** The product does not start while no source sets a value. Not together with a default. */
  readonly required: boolean
  /** Secret: masked wherever it is shown, encrypted when stored. */
  readonly sensitive: boolean
  readonly reload: Reload
  /** False: the config centre never writes it; only files, the environment and the command line set it. */
  readonly editable: boolean
  /**
   * State that the owner stores in the database, for example whether the product is installed. No operator writes it,
   * so it is not editable. Values of other keys that are not editable are never read from the database.
   */
  readonly state?: boolean
  /**
   * `process`: belongs to one process, such as its port or its database connection. It is set in a file, in the
   * environment or with `--set`, and never stored for all instances, so it is not editable.
   */
  readonly scope?: 'process'
  /**
   * For a key that enables something: no change may leave it false while another key has a value that requires it,
   * because the product would not start. If the plugin of the other key is not loaded, this has no effect.
   */
  readonly neededWhile?: NeededWhile
  /** The value that causes a warning in production: at the start, in `plinth doctor` and in the back office. */
  readonly insecure?: InsecureValue
  /**
   * Only for a sensitive key: the keys that decide where the secret is sent, such as host, endpoint and account. The
   * secret applies only together with the values of these keys that it was entered for; a change of one of them unsets
   * it (decision F.2). An empty list: the secret is never sent to an address that another key contains. Absent:
   * undecided; the planner rejects that for a secret that can be stored if its plugin declares address keys.
   */
  readonly destination?: readonly string[]
  /** Heading in the catalogue; the second segment of the key when absent. */
  readonly group?: string
  /** Environment variable; when absent, the key in upper case with `_` for `.` and `-`. */
  readonly env?: string
  readonly deprecated?: Deprecation
  readonly examples?: readonly JsonValue[]
  /** Exists only as a type: the type that is read. Never set. */
  readonly '~type'?: T
}

/** The keys of one plugin, by full key. */
export type KeyDeclarations = { readonly [key: string]: KeyDeclaration }

/** The type that the owner reads for a declaration. */
export type ValueOf<D> = D extends KeyDeclaration<infer T> ? T : never
