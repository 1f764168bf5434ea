import Handlebars from 'handlebars'
import {
  advanceHtmlState,
  assertBlockAllowed,
  HtmlError,
  type HtmlState,
  initialHtmlState,
  isInUrlQuery,
  joinBranchStates,
  stateAfterValue,
} from './html-context.ts'
import {
  type BlockName,
  blockNames,
  changesItemContext,
  type Expression,
  helperOf,
  isFormatName,
  isHelperName,
  loopNames,
  type Program,
  type Step,
} from './program.ts'
import { RejectedSourceError, type SourceField, type SourceRule, sourceLimits } from './source.ts'

/** Nodes of the syntax tree. The types of Handlebars do not distinguish them. */
type SyntaxStatement =
  | hbs.AST.ContentStatement
  | hbs.AST.CommentStatement
  | hbs.AST.MustacheStatement
  | hbs.AST.BlockStatement
  | hbs.AST.PartialStatement
  | hbs.AST.PartialBlockStatement
type SyntaxExpression =
  | hbs.AST.PathExpression
  | hbs.AST.SubExpression
  | hbs.AST.StringLiteral
  | hbs.AST.NumberLiteral
  | hbs.AST.BooleanLiteral
  | hbs.AST.NullLiteral
  | hbs.AST.UndefinedLiteral

/** Returns the statements of a block; none if this part of the block is absent. */
export const statementsOf = (program: hbs.AST.Program | undefined): readonly SyntaxStatement[] =>
  (program?.body ?? []) as SyntaxStatement[]

const asSyntaxExpression = (node: hbs.AST.Expression) => node as SyntaxExpression

export function parseHandlebars(source: string, field: SourceField): hbs.AST.Program {
  try {
    return Handlebars.parse(source)
  } catch (error) {
    throw new RejectedSourceError({ field, rule: 'syntax', ...placeOf(error) })
  }
}

/** Returns the position of a parser error. The parser reports it in properties or only in its message. */
function placeOf(error: unknown): { readonly line: number; readonly column: number; readonly near: string } {
  const { message = '', lineNumber, column }: Partial<Handlebars.Exception> = Object(error)
  const [head = '', shown = '', marker = ''] = message.split('\n')
  const line = Number(lineNumber ?? /line (\d+)/.exec(head)?.[1] ?? 1)
  return { line, column: column === undefined ? marker.length || 1 : Number(column) + 1, near: shown || head }
}

/** The blocks around a position. */
interface Scope {
  readonly depth: number
  /** Number of enclosing `each` and `with` blocks. */
  readonly items: number
  readonly loops: number
  /** Names that the enclosing blocks declare, the innermost block first. */
  readonly names: readonly (readonly string[])[]
}

const outermost: Scope = { depth: 0, items: 0, loops: 0, names: [] }

const insideElse = (scope: Scope): Scope => ({ ...scope, depth: scope.depth + 1 })

const inside = (scope: Scope, block: BlockName, names: readonly string[]): Scope => ({
  depth: scope.depth + 1,
  items: scope.items + (changesItemContext(block) ? 1 : 0),
  loops: scope.loops + (block === 'each' ? 1 : 0),
  names: names.length > 0 ? [names, ...scope.names] : scope.names,
})

/** Returns the index of the innermost block that declares this name; -1 if no block does. */
const blockNaming = (name: string, { names }: Scope) => names.findIndex((own) => own.includes(name))

/** True if the path itself tells where it starts: `this.x`, `./x`, `../x`. */
const isScoped = ({ depth, original }: hbs.AST.PathExpression) => depth > 0 || /^(?:\.|this\b)/.test(original)

/** Returns the name of a helper: a single word that no block declares. Undefined for other expressions. */
function helperName(node: hbs.AST.Expression, scope: Scope): string | undefined {
  const path = asSyntaxExpression(node)
  if (path.type !== 'PathExpression') return undefined
  const [name = ''] = path.parts
  return path.data || isScoped(path) || path.parts.length !== 1 || blockNaming(name, scope) >= 0 ? undefined : name
}

/**
 * Parses a template. The grammar is that of Handlebars, but the result is data, whereas Handlebars would compile it to
 * code.
 *
 * @throws RejectedSourceError
 */
export const parseSource = (source: string, field: SourceField): Program => new FieldParser(source, field).program()

/** Maximum number of names that a block may declare: for its item, and for the index or key of the item. */
const maxBlockNames: Readonly<Record<BlockName, number>> = { each: 2, with: 1, if: 0, unless: 0 }

class FieldParser {
  readonly #source: string
  readonly #field: SourceField
  readonly #lines: readonly string[]
  /** State of the HTML. Undefined if the field is not HTML, so that nothing is escaped. */
  #html: HtmlState | undefined
  #placeholders = 0

  constructor(source: string, field: SourceField) {
    this.#source = source
    this.#field = field
    this.#lines = source.split('\n')
    this.#html = field === 'html' ? initialHtmlState : undefined
  }

  program(): Program {
    const program = this.#steps(parseHandlebars(this.#source, this.#field), outermost)
    if (this.#html !== undefined && this.#html.mode !== 'text') {
      const end = { line: this.#lines.length, column: 1, near: this.#lines.at(-1) ?? '' }
      throw new RejectedSourceError({ field: this.#field, rule: 'html-open', ...end })
    }
    return program
  }

  #steps(program: hbs.AST.Program | undefined, scope: Scope): Program {
    return statementsOf(program).flatMap((node): readonly Step[] => {
      switch (node.type) {
        case 'ContentStatement':
          this.#html = this.#inHtml(node, (state) => advanceHtmlState(state, node.value))
          return node.value === '' ? [] : [node.value]
        case 'CommentStatement':
          return []
        case 'MustacheStatement':
          return [this.#print(node, scope)]
        case 'BlockStatement':
          return [this.#block(node, scope)]
        default:
          throw this.#rejected('not-allowed', node)
      }
    })
  }

  #print(node: hbs.AST.MustacheStatement, scope: Scope): Step {
    this.#count(node)
    if (!node.escaped) throw this.#rejected('raw-output', node)
    if (node.path.type !== 'PathExpression') throw this.#rejected('not-allowed', node)
    const print = this.#call(node, scope)
    const call = 'call' in print ? print.call : undefined
    const isQuery = this.#html !== undefined && isInUrlQuery(this.#html)
    this.#html = this.#inHtml(node, (state) => stateAfterValue(state, call === 'safeUrl'))
    return { print: isQuery && call !== 'urlPart' ? { call: 'urlPart', with: [print] } : print }
  }

  #block(node: hbs.AST.BlockStatement, scope: Scope): Step {
    this.#count(node)
    if (scope.depth === sourceLimits.depth) throw this.#rejected('too-deep', node)
    const name = helperName(node.path, scope)
    const block = blockNames.find((known) => known === name)
    if (block === undefined) throw this.#rejected('helper-unknown', node.path)
    const [of] = node.params
    if (of === undefined || node.params.length > 1 || (node.hash?.pairs.length ?? 0) > 0) {
      throw this.#rejected('helper-values', node)
    }
    const before = this.#inHtml(node, (state) => {
      assertBlockAllowed(state)
      return state
    })
    const names = this.#names(node, block)
    const step = { block, of: this.#expression(of, scope), names: names.length }
    const body = this.#steps(node.program, inside(scope, block, names))
    const behindBody = this.#html
    this.#html = before
    const otherwise = this.#steps(node.inverse, insideElse(scope))
    this.#html = this.#inHtml(node, (state) => joinBranchStates(behindBody ?? state, state))
    return { ...step, body, otherwise }
  }

  #names({ program }: hbs.AST.BlockStatement, block: BlockName): readonly string[] {
    const names = program?.blockParams ?? []
    if (names.length > maxBlockNames[block]) throw this.#rejected('helper-values', program)
    return names
  }

  #call(node: hbs.AST.MustacheStatement | hbs.AST.SubExpression, scope: Scope): Expression {
    const name = helperName(node.path, scope)
    const { params } = node
    const pairs = node.hash?.pairs ?? []
    const isVariable =
      name !== undefined &&
      isFormatName(name) &&
      node.type === 'MustacheStatement' &&
      params.length + pairs.length === 0
    if (isHelperName(name) && !isVariable) {
      const { values, choices, options = [] } = helperOf(name)
      const given = pairs.map(({ key }) => key)
      const [, second] = params.map(asSyntaxExpression)
      const isAllowed =
        params.length >= values[0] &&
        params.length <= values[1] &&
        given.every((option) => options.includes(option)) &&
        new Set(given).size === given.length &&
        (options.length === 0 || given.includes(options.at(-1) ?? '')) &&
        (choices === undefined || second?.type !== 'StringLiteral' || choices.includes(second.value))
      if (!isAllowed) throw this.#rejected('helper-values', node)
      const expressions = { call: name, with: params.map((param) => this.#expression(param, scope)) }
      if (pairs.length === 0) return expressions
      const texts = pairs.map(({ key, value }) => [key, this.#expression(value, scope)] as const)
      return { ...expressions, options: Object.fromEntries(texts) }
    }
    if (pairs.length > 0) throw this.#rejected('helper-values', node)
    const isBlock = blockNames.some((known) => known === name)
    if (params.length > 0 || node.type === 'SubExpression' || isBlock) throw this.#rejected('helper-unknown', node)
    return this.#expression(node.path, scope)
  }

  #expression(node: hbs.AST.Expression, scope: Scope): Expression {
    const expression = asSyntaxExpression(node)
    switch (expression.type) {
      case 'PathExpression':
        return this.#path(expression, scope)
      case 'SubExpression':
        return this.#call(expression, scope)
      case 'StringLiteral':
      case 'NumberLiteral':
      case 'BooleanLiteral':
        return { value: expression.value }
      case 'NullLiteral':
        return { value: null }
      default:
        throw this.#rejected('not-allowed', node)
    }
  }

  #path(node: hbs.AST.PathExpression, scope: Scope): Expression {
    const { data, depth, parts } = node
    const [first = '', ...rest] = parts
    if (data) {
      if (first === 'root') return { from: 'variables', path: rest }
      const name = loopNames.find((known) => known === first)
      const isKnown = rest.length === 0 && depth === 0 && scope.loops > 0
      if (name === undefined || !isKnown) throw this.#rejected('not-allowed', node)
      return { from: 'loop', name }
    }
    const up = isScoped(node) ? -1 : blockNaming(first, scope)
    if (up >= 0) return { from: 'name', up, at: scope.names[up]?.indexOf(first) ?? 0, path: rest }
    if (depth > scope.items) throw this.#rejected('not-allowed', node)
    return { from: 'item', up: depth, path: parts }
  }

  #count(node: hbs.AST.Node): void {
    this.#placeholders += 1
    if (this.#placeholders > sourceLimits.placeholders) throw this.#rejected('too-many', node)
  }

  #inHtml<T>(node: hbs.AST.Node, work: (state: HtmlState) => T): T | undefined {
    try {
      return this.#html === undefined ? undefined : work(this.#html)
    } catch (error) {
      if (error instanceof HtmlError) throw this.#rejected(error.rule, node, error.near)
      throw error
    }
  }

  #rejected(rule: SourceRule, node: hbs.AST.Node, near = this.#writtenAt(node)): RejectedSourceError {
    const { line, column } = node.loc.start
    return new RejectedSourceError({ field: this.#field, rule, line, column: column + 1, near })
  }

  /** Returns the source text of a node, up to the end of its first line. */
  #writtenAt({ loc: { start, end } }: hbs.AST.Node): string {
    const [first = ''] = this.#lines.slice(start.line - 1, start.line)
    return first.slice(start.column, start.line === end.line ? end.column : undefined)
  }
}
