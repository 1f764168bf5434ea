import Handlebars from 'handlebars'
import { RejectedSource, type SourceField } from './source.ts'

/** The types of Handlebars do not distinguish these nodes. */
type Statement =
  | hbs.AST.ContentStatement
  | hbs.AST.CommentStatement
  | hbs.AST.MustacheStatement
  | hbs.AST.BlockStatement
  | hbs.AST.PartialStatement
  | hbs.AST.PartialBlockStatement
type Expression =
  | hbs.AST.PathExpression
  | hbs.AST.SubExpression
  | hbs.AST.StringLiteral
  | hbs.AST.NumberLiteral
  | hbs.AST.BooleanLiteral
  | hbs.AST.NullLiteral
  | hbs.AST.UndefinedLiteral

/** Returns the statements of a source or of a block part, or none if the part is absent. */
export const statementsOf = (program: hbs.AST.Program | undefined): readonly Statement[] =>
  (program?.body ?? []) as Statement[]

export const expressionIn = (node: hbs.AST.Expression) => node as Expression

/** Returns the syntax tree of the Handlebars parser. */
export function treeOf(source: string, field: SourceField): hbs.AST.Program {
  try {
    return Handlebars.parse(source)
  } catch (error) {
    throw new RejectedSource({ field, rule: 'syntax', ...placeOf(error) })
  }
}

/** The parser reports the position either in properties or in the first line of its message. */
function placeOf(error: unknown): { readonly line: number; readonly column: number; readonly near: string } {
  const { message = '', lineNumber, column }: Partial<Handlebars.Exception> = Object(error)
  const [head = '', shown = '', marker = ''] = message.split('\n')
  const line = Number(lineNumber ?? /line (\d+)/.exec(head)?.[1] ?? 1)
  return { line, column: column === undefined ? marker.length || 1 : Number(column) + 1, near: shown || head }
}
