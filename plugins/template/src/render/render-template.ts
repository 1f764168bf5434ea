import type { TextRange } from '@plinth/kernel'
import type { CompiledTemplate, Program } from '../compile/program.ts'
import type { RenderedTemplate } from '../contract.ts'
import { asItIs, Budget, escapeHtml, type RenderedPart, renderProgram } from './render-program.ts'
import type { Variables } from './values.ts'

/** Characters of a subject. */
const maxSubjectLength = 500

/**
 * Renders all fields of a template within one budget.
 *
 * @param variables a copy by `plainVariables`
 * @throws RenderedTooMuch
 */
export function renderTemplate(
  { subject, content, html }: Pick<CompiledTemplate, 'subject' | 'content' | 'html'>,
  variables: Variables,
): Pick<RenderedTemplate, 'subject' | 'content' | 'valueRanges' | 'html'> {
  const budget = new Budget()
  const fill = (program: Program, encode: (text: string) => string) => renderProgram(program, variables, encode, budget)
  const [line, text] = [oneLine(fill(subject, asItIs)), joined(fill(content, asItIs))]
  return {
    subject: line.text,
    content: text.text,
    valueRanges: { subject: line.ranges, content: text.ranges },
    ...(html === null ? {} : { html: joined(fill(html, escapeHtml)).text }),
  }
}

interface RangedText {
  readonly text: string
  /** Ranges of values in the text. */
  readonly ranges: readonly TextRange[]
}

function joined(parts: readonly RenderedPart[]): RangedText {
  let end = 0
  const ranges = parts.flatMap(({ text, isValue }): TextRange[] => {
    const start = end
    end += text.length
    return isValue && text !== '' ? [[start, end]] : []
  })
  return { text: parts.map(({ text }) => text).join(''), ranges }
}

/** Removes line breaks, because a value may contain them and a subject becomes a header. */
function oneLine(parts: readonly RenderedPart[]): RangedText {
  const spaced = parts.map((part) => ({ ...part, text: part.text.replace(/[\p{Cc}\u2028\u2029]+/gu, ' ') }))
  const { text, ranges } = joined(spaced)
  const cut = [...text.trim()].slice(0, maxSubjectLength).join('')
  const begin = text.length - text.trimStart().length
  const within = ranges.map(
    ([start, end]): TextRange => [Math.max(0, start - begin), Math.min(cut.length, end - begin)],
  )
  return { text: cut, ranges: within.filter(([start, end]) => start < end) }
}
