import type { CompiledTemplate, Program } from '../compile/program.ts'
import type { RenderedTemplate } from '../contract.ts'
import { asItIs, Budget, escapeHtml, renderProgram } from './render-program.ts'
import type { Variables } from './values.ts'

/** Characters of a subject. */
const longestSubject = 500

/**
 * What a template says with these values, all its parts within one budget.
 *
 * @param variables a copy by `plainVariables`
 * @throws RenderedTooMuch
 */
export function renderTemplate(
  { subject, content, html }: Pick<CompiledTemplate, 'subject' | 'content' | 'html'>,
  variables: Variables,
): Pick<RenderedTemplate, 'subject' | 'content' | 'html'> {
  const budget = new Budget()
  const fill = (program: Program, encode: (text: string) => string) => renderProgram(program, variables, encode, budget)
  return {
    subject: oneLine(fill(subject, asItIs)),
    content: fill(content, asItIs),
    ...(html === null ? {} : { html: fill(html, escapeHtml) }),
  }
}

/** A value may hold line breaks; a subject, which becomes a header, does not. */
const oneLine = (text: string) =>
  [...text.replace(/[\p{Cc}\u2028\u2029]+/gu, ' ').trim()].slice(0, longestSubject).join('')
