/**
 * A text as a column of that many characters takes it on every database: without NUL, which PostgreSQL refuses, with
 * U+FFFD for halves of surrogate pairs, and cut between characters. Looks no further into a long text than it needs.
 *
 * @param length characters (code points) of the column
 */
export function columnText(text: string, length: number): string {
  let fitting = ''
  let count = 0
  for (const character of text) {
    if (count === length) break
    if (character === '\0') continue
    fitting += character.toWellFormed()
    count++
  }
  return fitting
}

/** Values for the marks of a text. */
export type TextParams = Readonly<Record<string, string | number>>

/** Names of the marks of a text that is known to the compiler, such as `place` of `No server at {{place}}.`. */
export type MarksOf<Text extends string> = Text extends `${string}{{${infer Name}}}${infer Rest}`
  ? Name | MarksOf<Rest>
  : never

/**
 * Fills in the marks `{{name}}` of a text: messages, errors and templates of every plugin are written in this way, which
 * is also that of i18next. Values are not looked through for marks. A mark without a value stays, so that a test sees it.
 */
export function fillText(text: string, params: TextParams): string {
  return text.replace(/\{\{(\w+)\}\}/g, (mark, name: string) =>
    String((Object.hasOwn(params, name) ? params[name] : undefined) ?? mark),
  )
}

/**
 * Where a server is, for people and in URLs: `db.internal:5432`, `[::1]:5432`.
 *
 * @param port null for the usual one, which is left out
 */
export function hostAndPort(host: string, port: number | null): string {
  const name = host.includes(':') ? `[${host}]` : host
  return port === null ? name : `${name}:${port}`
}
