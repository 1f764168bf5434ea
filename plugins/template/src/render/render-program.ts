import type { TextRange } from '@plinth/kernel'
import {
  type BlockStep,
  type CompiledTemplate,
  type Expression,
  isFormatName,
  type Program,
} from '../compile/program.ts'
import type { RenderedTemplate, TemplateValue } from '../contract.ts'
import { formatted, type ReaderFormat } from './formats.ts'
import { templateValueAt, type Variables } from './values.ts'

/** Limits for all fields of one template together. */
export const renderLimits = {
  /** Maximum number of printed values, items of printed lists, blocks, and iterations of `each`. */
  steps: 20_000,
  characters: 500_000,
} as const

/** Steps and characters that are left until the limits are reached. */
export class RenderBudget {
  #steps: number = renderLimits.steps
  #characters: number = renderLimits.characters

  /** Counts a step. @throws RenderLimitError if the limit is exceeded */
  step(): void {
    this.#steps -= 1
    if (this.#steps < 0) throw new RenderLimitError()
  }

  /** Counts the characters of a text and returns it. @throws RenderLimitError if the limit is exceeded */
  take(text: string): string {
    this.#characters -= text.length
    if (this.#characters < 0) throw new RenderLimitError()
    return text
  }
}

export class RenderLimitError extends Error {
  override readonly name = 'RenderLimitError'
}

interface RenderedPart {
  readonly text: string
  readonly isValue: boolean
}

type Value = TemplateValue | undefined

interface Loop {
  readonly index: number
  readonly key: string | number
  readonly first: boolean
  readonly last: boolean
}

interface Frame {
  readonly item: Value
  readonly outer: Frame | undefined
  readonly loop: Loop | undefined
  /** Values of the names that enclosing blocks declare, the innermost block first. */
  readonly names: readonly (readonly Value[])[]
}

/**
 * Renders a program. Tests prove that the output equals that of Handlebars.
 *
 * @param variables values from `copyPlainVariables`
 * @param encode escapes a printed value
 * @returns the parts of the text
 * @throws RenderLimitError
 */
export function renderProgram(
  program: Program,
  variables: Variables,
  encode: (text: string) => string,
  budget: RenderBudget,
  format: ReaderFormat,
): readonly RenderedPart[] {
  const parts: RenderedPart[] = []

  const run = (steps: Program, frame: Frame): void => {
    for (const step of steps) {
      if (typeof step === 'string') {
        parts.push({ text: budget.take(step), isValue: false })
        continue
      }
      budget.step()
      if ('print' in step) {
        parts.push({ text: budget.take(encode(textOf(evaluated(step.print, frame), budget))), isValue: true })
      } else runBlock(step, frame)
    }
  }

  const runBlock = (step: BlockStep, frame: Frame): void => {
    const value = evaluated(step.of, frame)
    const { block, body, otherwise } = step
    if (block === 'if' || block === 'unless') run(holds(value) === (block === 'if') ? body : otherwise, frame)
    else if (block === 'each') runEach(step, value, frame)
    else if (isEmpty(value)) run(otherwise, frame)
    else run(body, entered(frame, value, step, [value]))
  }

  const runEach = (step: BlockStep, value: Value, frame: Frame): void => {
    const keys = keysOf(value)
    if (keys.length === 0) run(step.otherwise, frame)
    for (const [index, key] of keys.entries()) {
      budget.step()
      const item = templateValueAt(value, [String(key)])
      const loop = { index, key, first: index === 0, last: index === keys.length - 1 }
      run(step.body, { ...entered(frame, item, step, [item, key]), loop })
    }
  }

  const evaluated = (expression: Expression, frame: Frame): Value => {
    if ('value' in expression) return expression.value
    if ('call' in expression) {
      const { call, options = {} } = expression
      const values = expression.with.map((one) => evaluated(one, frame))
      const [first, second] = values
      if (isFormatName(call)) {
        const print = (value: Value) => textOf(value, budget)
        const texts = new Map(Object.entries(options).map(([name, one]) => [name, print(evaluated(one, frame))]))
        return formatted(call, { values, options: texts, format, textOf: print })
      }
      if (call === 'lookup') return lookup(first, second)
      return call === 'urlPart' ? urlPart(textOf(first, budget)) : safeUrl(first)
    }
    switch (expression.from) {
      case 'variables':
        return templateValueAt(variables, expression.path)
      case 'loop':
        return frame.loop?.[expression.name]
      case 'name':
        return templateValueAt(frame.names[expression.up]?.[expression.at], expression.path)
      case 'item':
        return templateValueAt(outward(frame, expression.up)?.item, expression.path)
    }
  }

  run(program, { item: variables, outer: undefined, loop: undefined, names: [] })
  return parts
}

function entered(frame: Frame, item: Value, { names }: BlockStep, given: readonly Value[]): Frame {
  return {
    item,
    outer: frame,
    loop: frame.loop,
    names: names === 0 ? frame.names : [given.slice(0, names), ...frame.names],
  }
}

function outward(frame: Frame, up: number): Frame | undefined {
  let found: Frame | undefined = frame
  for (let left = up; left > 0; left--) found = found?.outer
  return found
}

const keysOf = (value: Value): readonly (string | number)[] => {
  if (typeof value !== 'object' || value === null) return []
  return Array.isArray(value) ? [...value.keys()] : Object.keys(value)
}

/** True if a condition holds. 0 is false, although it is not an empty value. */
const holds = (value: Value) => value !== 0 && !isEmpty(value)

/** True for an empty value. As in Handlebars, 0 is not empty, but a list without items is. */
function isEmpty(value: Value): boolean {
  if (value === 0) return false
  return !value || (Array.isArray(value) && value.length === 0)
}

/**
 * Returns the printed text of a value. A list prints its items, as in JavaScript. An object prints nothing, because its
 * text form is useless.
 */
function textOf(value: Value, budget: RenderBudget): string {
  if (value === undefined || value === null) return ''
  if (typeof value !== 'object') return String(value)
  if (!Array.isArray(value)) return ''
  return value
    .map((item: TemplateValue) => {
      budget.step()
      return textOf(item, budget)
    })
    .join(',')
}

/** Returns a member of a value. As in Handlebars, the result for an empty value is this value itself. */
function lookup(from: Value, name: Value): Value {
  if (!from) return from
  return name === undefined || name === null || typeof name === 'object'
    ? undefined
    : templateValueAt(from, [String(name)])
}

const safeProtocols: ReadonlySet<string> = new Set(['http:', 'https:', 'mailto:', 'tel:'])

/**
 * Returns the URL, or `#` if its protocol is not safe. `javascript:`, for example, would run code when the link is
 * opened.
 */
function safeUrl(value: Value): string {
  if (typeof value !== 'string' || value.length > 2048 || !URL.canParse(value)) return '#'
  const { protocol, href } = new URL(value)
  return safeProtocols.has(protocol) ? href : '#'
}

/**
 * Returns a text percent-encoded for one part of a URL, such as the value of a query parameter. Only unreserved
 * characters (RFC 3986, 2.3) stay.
 */
const urlPart = (text: string): string =>
  encodeURIComponent(text.toWellFormed()).replace(
    /[!'()*]/g,
    (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`,
  )

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#x27;',
  '`': '&#x60;',
  '=': '&#x3D;',
}

/** Escapes a text for HTML text and for quoted attribute values. */
export const escapeHtml = (text: string): string =>
  text.replace(/[&<>"'`=]/g, (character) => escapes[character] ?? character)

export const unescapedText = (text: string): string => text

const maxSubjectLength = 500

/**
 * Renders all fields of a template. They share one budget.
 *
 * @param variables values from `copyPlainVariables`
 * @throws RenderLimitError
 */
export function renderTemplate(
  { subject, content, html }: Pick<CompiledTemplate, 'subject' | 'content' | 'html'>,
  variables: Variables,
  format: ReaderFormat,
): Pick<RenderedTemplate, 'subject' | 'content' | 'valueRanges' | 'html'> {
  const budget = new RenderBudget()
  const fill = (program: Program, encode: (text: string) => string) =>
    renderProgram(program, variables, encode, budget, format)
  const [line, text] = [oneLine(fill(subject, unescapedText)), joined(fill(content, unescapedText))]
  return {
    subject: line.text,
    content: text.text,
    valueRanges: { subject: line.ranges, content: text.ranges },
    ...(html === null ? {} : { html: joined(fill(html, escapeHtml)).text }),
  }
}

interface RangedText {
  readonly text: string
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

/** Joins parts to a single line. A value may contain line breaks, but the subject becomes a mail header. */
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
