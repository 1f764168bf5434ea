import { parseMjml } from './mjml.ts'
import { parseSource } from './parse.ts'
import type { CompiledTemplate } from './program.ts'
import { RejectedSourceError, type SourceProblem, type TemplateSource } from './source.ts'
import { variablesOf } from './variables.ts'

export type Compilation =
  | { readonly compiled: CompiledTemplate; readonly fault?: undefined }
  | { readonly fault: SourceProblem }

/** Compiles a template. Returns the compiled template, or the rule that the source breaks with its position. */
export async function compileTemplate({
  subject,
  content,
  html,
  htmlFormat,
  locale,
}: TemplateSource): Promise<Compilation> {
  try {
    const programs = {
      subject: parseSource(subject, 'subject'),
      content: parseSource(content, 'content'),
      html: html === null ? null : htmlFormat === 'mjml' ? await parseMjml(html, locale) : parseSource(html, 'html'),
    }
    const all = [programs.subject, programs.content, ...(programs.html === null ? [] : [programs.html])]
    return { compiled: { ...programs, variables: variablesOf(all) } }
  } catch (error) {
    if (error instanceof RejectedSourceError) return { fault: error.fault }
    throw error
  }
}
