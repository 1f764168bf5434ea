import { errorReason } from '@plinth/kernel'
import { parseHandlebars, parseSource, statementsOf } from './parse.ts'
import type { Program } from './program.ts'
import { RejectedSourceError, type SourceRule, sourceLimits } from './source.ts'

/**
 * Compiles MJML. Values are inserted into the result, so they cannot become MJML or HTML.
 *
 * @throws RejectedSourceError
 */
export async function parseMjml(source: string, locale: string | null): Promise<Program> {
  // Parses the placeholders before MJML is compiled, so that their errors are reported at their position in the MJML.
  const written = placeholdersOf(parseHandlebars(source, 'html'), source)
  const include = /<mj-include\b/i.exec(source)
  if (include !== null) throw rejection('mjml-include', include[0], lineAt(source, include.index))
  assertBalanced(source)
  const html = await htmlOf(source, locale)
  if (html.length > sourceLimits.compiledHtml) throw rejection('mjml-too-large', `${html.length}`)
  const kept = placeholdersOf(parseHandlebars(html, 'html'), html)
  const lost = [...written].find((placeholder) => !kept.has(placeholder))
  if (lost !== undefined) throw rejection('mjml-lost', lost, lineAt(source, source.indexOf(lost)))
  return withoutPlaces(() => parseSource(html, 'html'))
}

async function htmlOf(source: string, locale: string | null): Promise<string> {
  const { default: mjml2html } = await import('mjml')
  try {
    const options = { validationLevel: 'strict', ignoreIncludes: true, keepComments: false, minify: false } as const
    // Without this option, MJML would add the URLs of its default fonts.
    const { html } = await mjml2html(inLanguage(source, locale), { ...options, fonts: {} })
    return html
  } catch (error) {
    const { errors: [first] = [] }: { errors?: readonly { line: number; message: string }[] } = Object(error)
    throw rejection('mjml-refused', first?.message ?? errorReason(error), first?.line)
  }
}

/** Sets the language of the document. It adds no line, so that line numbers in errors stay correct. */
const inLanguage = (source: string, locale: string | null) =>
  locale === null ? source : source.replace(/<mjml\b(?![^>]*\slang\s*=)/i, `<mjml lang="${locale}"`)

const comments = /<!--[\s\S]*?-->/g
const mjmlTags = /<(\/?)(mj(?:ml|-[a-z-]+))\b((?:[^>"']|"[^"]*"|'[^']*')*)>/gi

/** Rejects open tags and extra end tags, because the MJML parser closes or ignores them without an error. */
function assertBalanced(source: string): void {
  const open: { readonly name: string; readonly at: number }[] = []
  const written = source.replace(comments, (comment) => comment.replace(/[^\n]/g, ' '))
  const wrong = (tag: string, at: number) => rejection('mjml-open', tag, lineAt(source, at))
  for (const { 1: slash = '', 2: tag = '', 3: attributes = '', index } of written.matchAll(mjmlTags)) {
    const name = tag.toLowerCase()
    if (slash === '') {
      if (!attributes.endsWith('/')) open.push({ name, at: index })
      continue
    }
    const last = open.pop()
    if (last === undefined) throw wrong(`</${name}>`, index)
    if (last.name === name) continue
    // Reports the tag that is still open, or an end tag that has no start tag.
    const isOpen = open.some((outer) => outer.name === name)
    throw isOpen ? wrong(`<${last.name}>`, last.at) : wrong(`</${name}>`, index)
  }
  const last = open.at(-1)
  if (last !== undefined) throw wrong(`<${last.name}>`, last.at)
}

const rejection = (rule: SourceRule, near: string, line?: number) =>
  new RejectedSourceError({ field: 'html', rule, near, ...(line === undefined ? {} : { line, column: 1 }) })

const lineAt = (source: string, index: number) => source.slice(0, index).split('\n').length

/** Removes the line number of an error, because the author does not know the lines of the compiled HTML. */
function withoutPlaces<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof RejectedSourceError)) throw error
    const { field, rule, near } = error.fault
    throw new RejectedSourceError({ field, rule, near })
  }
}

/**
 * Returns the placeholders of the MJML. They are compared with the output, because MJML silently removes some of them.
 */
function placeholdersOf(tree: hbs.AST.Program, source: string): ReadonlySet<string> {
  const lines = source.split('\n')
  const found = new Set<string>()
  const visit = (program: hbs.AST.Program | undefined): void => {
    for (const node of statementsOf(program)) {
      if (node.type !== 'MustacheStatement' && node.type !== 'BlockStatement') continue
      const { start } = node.loc
      const line = (lines[start.line - 1] ?? '').slice(start.column)
      found.add(/^\{\{[^}]*\}\}/.exec(line)?.[0] ?? line)
      if (node.type === 'MustacheStatement') continue
      visit(node.program)
      visit(node.inverse)
    }
  }
  visit(tree)
  return found
}
