import Handlebars from 'handlebars'
import { advance, assertBlock, behindValue, HtmlFault, type HtmlState, htmlStart, joined } from './html-context.ts'
import {
  type BlockName,
  blockNames,
  type Expression,
  entersItem,
  type HelperName,
  helpers,
  loopNames,
  type Program,
  type Step,
} from './program.ts'
import { RefusedSource, type SourceField, type SourceRule, sourceLimits } from './source.ts'

/** Blocks around a place, the innermost first. */
interface Scope {
  readonly depth: number
  /** `each` and `with` around it. */
  readonly items: number
  readonly loops: number
  /** Names that blocks give their items, the innermost block first. */
  readonly names: readonly (readonly string[])[]
}

interface Walk {
  /** Undefined where nothing is escaped and so nothing needs to be. */
  html: HtmlState | undefined
  placeholders: number
}

type Node = hbs.AST.Node
type Path = hbs.AST.PathExpression

/**
 * The program of one field. The grammar is that of Handlebars, with the white space control; what its own compiler would make
 * code of is made data of.
 *
 * @throws RefusedSource
 */
export function parseSource(source: string, field: SourceField): Program {
  const lines = source.split('\n')
  const place = ({ loc }: Node) => ({ line: loc.start.line, column: loc.start.column + 1 })
  const writtenAt = ({ loc: { start, end } }: Node) => {
    const [first = ''] = lines.slice(start.line - 1, start.line)
    return first.slice(start.column, start.line === end.line ? end.column : undefined)
  }
  const refuse = (rule: SourceRule, node: Node, near = writtenAt(node)) =>
    new RefusedSource({ field, rule, ...place(node), near })

  const walk: Walk = { html: field === 'html' ? htmlStart : undefined, placeholders: 0 }
  const inHtml = <T>(node: Node, work: (state: HtmlState) => T): T | undefined => {
    try {
      return walk.html === undefined ? undefined : work(walk.html)
    } catch (error) {
      if (error instanceof HtmlFault) throw refuse(error.rule, node, error.near)
      throw error
    }
  }

  const programOf = (program: hbs.AST.Program | undefined, scope: Scope): Program =>
    (program?.body ?? []).flatMap((statement) => stepOf(statement, scope))

  function stepOf(node: hbs.AST.Statement, scope: Scope): readonly Step[] {
    switch (node.type) {
      case 'ContentStatement': {
        const { value } = node as hbs.AST.ContentStatement
        walk.html = inHtml(node, (state) => advance(state, value))
        return value === '' ? [] : [value]
      }
      case 'CommentStatement':
        return []
      case 'MustacheStatement':
        return [printOf(node as hbs.AST.MustacheStatement, scope)]
      case 'BlockStatement':
        return [blockOf(node as hbs.AST.BlockStatement, scope)]
      default:
        throw refuse('not-allowed', node)
    }
  }

  function count(node: Node): void {
    walk.placeholders += 1
    if (walk.placeholders > sourceLimits.placeholders) throw refuse('too-many', node)
  }

  function printOf(node: hbs.AST.MustacheStatement, scope: Scope): Step {
    count(node)
    if (!node.escaped) throw refuse('raw-output', node)
    if (node.path.type !== 'PathExpression') throw refuse('not-allowed', node)
    const print = callOf(node, scope)
    walk.html = inHtml(node, (state) => behindValue(state, 'call' in print && print.call === 'safeUrl'))
    return { print }
  }

  function blockOf(node: hbs.AST.BlockStatement, scope: Scope): Step {
    count(node)
    if (scope.depth === sourceLimits.depth) throw refuse('too-deep', node)
    const name = helperName(node.path, scope)
    const block = blockNames.find((known) => known === name)
    if (block === undefined) throw refuse('helper-unknown', node.path)
    const [of] = node.params
    if (of === undefined || node.params.length > 1 || (node.hash?.pairs.length ?? 0) > 0) {
      throw refuse('helper-values', node)
    }
    const before = inHtml(node, (state) => {
      assertBlock(state)
      return state
    })
    const names = namesOf(node, block)
    const inner = { ...scope, depth: scope.depth + 1 }
    const within: Scope = {
      ...inner,
      items: scope.items + (entersItem(block) ? 1 : 0),
      loops: scope.loops + (block === 'each' ? 1 : 0),
      names: names.length > 0 ? [names, ...scope.names] : scope.names,
    }
    const step = { block, of: expressionOf(of, scope), names: names.length }
    const body = programOf(node.program, within)
    const behindBody = walk.html
    walk.html = before
    const otherwise = programOf(node.inverse, inner)
    walk.html = inHtml(node, (state) => joined(behindBody ?? state, state))
    return { ...step, body, otherwise }
  }

  function namesOf({ program }: hbs.AST.BlockStatement, block: BlockName): readonly string[] {
    const names = program?.blockParams ?? []
    const most = { each: 2, with: 1, if: 0, unless: 0 }[block]
    if (names.length > most) throw refuse('helper-values', program)
    return names
  }

  function callOf(node: hbs.AST.MustacheStatement | hbs.AST.SubExpression, scope: Scope): Expression {
    const name = helperName(node.path, scope)
    const helper = Object.keys(helpers).find((known): known is HelperName => known === name)
    const { params, hash } = node
    if ((hash?.pairs.length ?? 0) > 0) throw refuse('helper-values', node)
    if (helper !== undefined) {
      if (params.length !== helpers[helper]) throw refuse('helper-values', node)
      return { call: helper, with: params.map((param) => expressionOf(param, scope)) }
    }
    const isBlock = blockNames.some((known) => known === name)
    if (params.length > 0 || node.type === 'SubExpression' || isBlock) throw refuse('helper-unknown', node)
    return expressionOf(node.path, scope)
  }

  function expressionOf(node: hbs.AST.Expression, scope: Scope): Expression {
    switch (node.type) {
      case 'PathExpression':
        return pathOf(node as Path, scope)
      case 'SubExpression':
        return callOf(node as hbs.AST.SubExpression, scope)
      case 'StringLiteral':
      case 'NumberLiteral':
      case 'BooleanLiteral':
        return { value: (node as hbs.AST.StringLiteral | hbs.AST.NumberLiteral | hbs.AST.BooleanLiteral).value }
      case 'NullLiteral':
        return { value: null }
      default:
        throw refuse('not-allowed', node)
    }
  }

  function pathOf(node: Path, scope: Scope): Expression {
    const { data, depth, parts } = node
    const [first = '', ...rest] = parts
    if (data) {
      if (first === 'root') return { from: 'variables', path: rest }
      const name = loopNames.find((known) => known === first)
      if (name === undefined || rest.length > 0 || depth > 0 || scope.loops === 0) throw refuse('not-allowed', node)
      return { from: 'loop', name }
    }
    const up = isScoped(node) ? -1 : nameOf(first, scope)
    if (up >= 0) return { from: 'name', up, at: scope.names[up]?.indexOf(first) ?? 0, path: rest }
    if (depth > scope.items) throw refuse('not-allowed', node)
    return { from: 'item', up: depth, path: parts }
  }

  const scope: Scope = { depth: 0, items: 0, loops: 0, names: [] }
  const program = programOf(treeOf(source, field), scope)
  const { html } = walk
  if (html !== undefined && html.mode !== 'text') {
    throw new RefusedSource({ field, rule: 'html-open', line: lines.length, column: 1, near: lines.at(-1) ?? '' })
  }
  return program
}

/** The block with names, counted from the innermost, that has this one; -1 for none. */
const nameOf = (name: string, { names }: Scope) => names.findIndex((own) => own.includes(name))

/** Whether a path says where it begins: `this.x`, `./x`, `../x`. */
const isScoped = ({ depth, original }: Path) => depth > 0 || /^(?:\.|this\b)/.test(original)

/** What may name a helper: one word that no block gave to its item. */
function helperName(node: hbs.AST.Expression, scope: Scope): string | undefined {
  if (node.type !== 'PathExpression') return undefined
  const path = node as Path
  const [name = ''] = path.parts
  return path.data || isScoped(path) || path.parts.length !== 1 || nameOf(name, scope) >= 0 ? undefined : name
}

/** The tree of the parser of Handlebars. */
export function treeOf(source: string, field: SourceField): hbs.AST.Program {
  try {
    return Handlebars.parse(source)
  } catch (error) {
    throw new RefusedSource({ field, rule: 'syntax', ...placeOf(error) })
  }
}

/** The parser says where in different ways: by members, or in the first line of its message. */
function placeOf(error: unknown): { readonly line: number; readonly column: number; readonly near: string } {
  const { message = '', lineNumber, column } = error as Partial<Handlebars.Exception>
  const [head = '', shown = '', marker = ''] = message.split('\n')
  const line = Number(lineNumber ?? /line (\d+)/.exec(head)?.[1] ?? 1)
  return { line, column: column === undefined ? marker.length || 1 : Number(column) + 1, near: shown || head }
}
