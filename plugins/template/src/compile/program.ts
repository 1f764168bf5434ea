/**
 * A compiled template. It is data that `render` interprets, so that a manipulated row of the database cannot run code.
 */
export type Program = readonly Step[]

/** Step of a program: a literal text, a printed value, or a block. */
export type Step = string | PrintStep | BlockStep

interface PrintStep {
  readonly print: Expression
}

export interface BlockStep {
  readonly block: BlockName
  readonly of: Expression
  readonly body: Program
  readonly otherwise: Program
  /** Number of names that the block declares (`as |item index|`). Its body refers to them by position. */
  readonly names: number
}

/** Expression of a template. Its path follows only own properties of values, no inherited ones. */
export type Expression =
  /** The item of the block `up` levels outside. Outside all blocks, it is the variables. */
  | { readonly from: 'item'; readonly up: number; readonly path: readonly string[] }
  /** The variables (`@root.name`). */
  | { readonly from: 'variables'; readonly path: readonly string[] }
  /** A loop variable of the innermost `each`, such as `@index`. */
  | { readonly from: 'loop'; readonly name: LoopName }
  /**
   * A name that a block declares. `up` is the number of enclosing blocks to skip, and counts only blocks that declare
   * names.
   */
  | { readonly from: 'name'; readonly up: number; readonly at: number; readonly path: readonly string[] }
  | { readonly value: string | number | boolean | null }
  | { readonly call: HelperName; readonly with: readonly Expression[] }

export const blockNames = ['if', 'unless', 'each', 'with'] as const
export type BlockName = (typeof blockNames)[number]

/** Helpers with their number of arguments. */
export const helperArgumentCounts = { lookup: 2, safeUrl: 1, urlPart: 1 } as const
export type HelperName = keyof typeof helperArgumentCounts

export const loopNames = ['index', 'key', 'first', 'last'] as const
type LoopName = (typeof loopNames)[number]

export interface CompiledTemplate {
  readonly subject: Program
  readonly content: Program
  readonly html: Program | null
  /** See `TemplateInfo.variables`. */
  readonly variables: readonly string[]
}

/** True if paths in the body of the block start at another item. */
export const changesItemContext = (block: BlockName): boolean => block === 'each' || block === 'with'
