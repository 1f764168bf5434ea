/** The type T, except that its optional properties may also be `undefined`. */
type OrUndefined<T> = {
  [Name in keyof T]: Record<never, never> extends Pick<T, Name> ? T[Name] | undefined : T[Name]
}

/**
 * Returns a copy of an object without the properties that are `undefined`. The compiler infers T from the place of the
 * result and reports misspelt properties. If nothing at that place determines T, specify it: `omitUndefined<Options>({ reason
 * })`.
 *
 * In a query condition, use this only for optional filters of a list. Any other condition that is undefined by mistake
 * would be removed, and the query would select more rows.
 */
export function omitUndefined<T>(
  members: unknown extends T ? 'Specify the type of the result: omitUndefined<Type>({ ... })' : NoInfer<OrUndefined<T>>,
): T {
  const kept: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(members)) if (value !== undefined) kept[name] = value
  return kept as T
}

/** Returns the property of an object, or undefined if it is missing or inherited, as `toString` is. */
export const ownProperty = <T>(object: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(object, name) ? object[name] : undefined

/** Converts a key to the name of an environment variable: `platform.http.port` -> `PLATFORM_HTTP_PORT`. */
export function environmentName(key: string): string {
  return key.replace(/[.-]/g, '_').toUpperCase()
}

/** Returns the environment variable of a key: the declared name, otherwise the result of `environmentName`. */
export function environmentNameOf(key: string, declaration: KeyDeclaration): string {
  return declaration.env ?? environmentName(key)
}

export type Localized = { readonly en: string; readonly 'zh-CN': string }

/** Returns the language to use for a locale: `zh-CN` for every Chinese tag, otherwise `en`. */
export const languageOf = (locale: string): keyof Localized => (/^zh(-|$)/i.test(locale) ? 'zh-CN' : 'en')

/** Returns the text in the language of a locale: Chinese for every Chinese tag, otherwise English. */
export function localize(text: LocalizedText, locale: string): string {
  return inBothLocales(text)[languageOf(locale)]
}

/** Returns a text in both languages. A plain string is used for both. */
export function inBothLocales(text: LocalizedText): Localized {
  return typeof text === 'string' ? { en: text, 'zh-CN': text } : text
}

/**
 * Returns a text for use after Chinese characters. A text that starts with an ASCII character gets a space in front.
 */
export const spaceBeforeAscii = (text: string) => (/^[\x21-\x7e]/.test(text) ? ` ${text}` : text)

/** Combines the English and the Chinese version of a text. */
export const bilingual = (en: string, zh: string): LocalizedText => ({ en, 'zh-CN': zh })

export type JsonValue = null | boolean | number | string | readonly JsonValue[] | { readonly [name: string]: JsonValue }

/** A JSON Schema (draft 2020-12) for the value of one key. */
export type JsonSchema = { readonly [keyword: string]: unknown }

/** Text for users. A plain string is English. */
export type LocalizedText = string | { readonly en: string; readonly 'zh-CN': string }

/**
 * `live`: the plugin applies a new value while it runs. `restart`: a new value applies after the next start of the
 * process.
 */
export type Reload = 'live' | 'restart'

export interface Deprecation {
  /** Version of the plugin that deprecated the key. */
  readonly since: string
  /** Key to use instead. Until the deprecated key is removed, its value applies to this key. */
  readonly replacement?: string
  readonly reason?: LocalizedText
}

/** A key and one of its values. While the key has this value, another key must be true. */
export interface RequiredWhile {
  readonly key: string
  readonly is: string
}

/** A value that is unsafe in production, and the reason that users see. Either `is` or `isNot` is present. */
export interface InsecureValue {
  /** The unsafe value in written form, for example `5m`. */
  readonly is?: JsonValue
  /** The only safe value in written form. */
  readonly isNot?: JsonValue
  /** If present, the value is unsafe only while this other key of the same plugin has the given value. */
  readonly while?: { readonly key: string; readonly is: JsonValue }
  readonly reason: LocalizedText
}

/**
 * The declaration of one configuration key. The schema describes the written value, for example `"5m"`. `T` is the type
 * of the value that the plugin reads, for example 300000 milliseconds.
 */
export interface KeyDeclaration<T = unknown> {
  readonly schema: JsonSchema
  readonly title: LocalizedText
  readonly description?: LocalizedText
  /**
   * If true, texts may contain line breaks and tabs. Otherwise a text is one line. Other control characters are never
   * allowed.
   */
  readonly multiline?: boolean
  /**
   * The `pattern` in words. The text completes "must ..." and "必须…". Without it, error messages show the regular
   * expression.
   */
  readonly rule?: LocalizedText
  /** Default in written form. Without a default, the plugin reads `undefined` unless the key is required. */
  readonly default?: JsonValue
  /** If true, the product starts only if a source sets a value. Must not be combined with a default. */
  readonly required: boolean
  /** True for a secret. A secret is encrypted when stored, and masked wherever it is shown. */
  readonly sensitive: boolean
  readonly reload: Reload
  /**
   * If false, the config centre cannot change the value. Only files, the environment and the command line can set it.
   */
  readonly editable: boolean
  /**
   * True for state that the plugin itself stores in the database, for example whether the product is installed.
   * Operators cannot change it, so `editable` must be false. The database values of other keys that are not editable
   * are ignored.
   */
  readonly state?: boolean
  /**
   * `process`: the value belongs to one process, for example its port or its database connection. It is set in a file,
   * in the environment or with `--set`. It is never stored for all instances, so `editable` must be false.
   */
  readonly scope?: 'process'
  /**
   * For a boolean key that enables a feature: another key and its value. While the other key has this value, this key
   * must not become false, because the product would not start. Has no effect if the plugin of the other key is not
   * loaded.
   */
  readonly neededWhile?: RequiredWhile
  /**
   * The value that causes a warning in production. The warning appears at the start, in `plinth doctor` and in the back
   * office.
   */
  readonly insecure?: InsecureValue
  /**
   * Only for a secret: the keys that decide where the secret is sent, such as host, endpoint and account. A stored
   * secret applies only while these keys have the values for which it was entered. A change of one of them disables the
   * secret, so that nobody can redirect it to another server. An empty list means that no other key decides where the
   * secret is sent. If absent, the planner rejects an editable secret whose plugin also declares an address key.
   */
  readonly destination?: readonly string[]
  /**
   * Permission that a user needs to change the value, in addition to the permission for the configuration. Set it if a
   * check of the product depends on the value: who may do something, login, limits, audit, encryption. It is the
   * permission that the check protects. If a user who has that permission is checked too, it is `guardsPermission`.
   * The command line is not restricted. Only for an editable key. The permission must be declared by the same plugin or
   * by a plugin that this plugin requires.
   */
  readonly permission?: string
  /** Group of the key in the catalogue. Default: the second segment of the key. */
  readonly group?: string
  /** Name of the environment variable. Default: the key in upper case, with `_` instead of `.` and `-`. */
  readonly env?: string
  readonly deprecated?: Deprecation
  readonly examples?: readonly JsonValue[]
  /** Contains the type of the value for the compiler. The property is never set. */
  readonly '~type'?: T
}

/**
 * Permission for configuration keys that decide about access and belong to no narrower permission (decision G8). The
 * plugin iam declares it and only the role `super-admin` has it by default.
 */
export const guardsPermission = 'iam:guards:save'

/** The declarations of one plugin, by full key. */
export type KeyDeclarations = { readonly [key: string]: KeyDeclaration }

/** The type of the value that the plugin reads. */
export type ValueOf<D> = D extends KeyDeclaration<infer T> ? T : never
