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
